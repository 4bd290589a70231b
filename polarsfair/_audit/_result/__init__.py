"""The rows of an audit as arrays: references, gaps, pairs and shrunken shares."""
