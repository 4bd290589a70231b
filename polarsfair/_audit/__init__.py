"""The evidence of an audit: intervals, tests and comparisons, read off small tables."""
