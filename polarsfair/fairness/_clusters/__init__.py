"""Groups in a clustering."""
