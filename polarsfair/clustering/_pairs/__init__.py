"""Measures that look at single pairs of rows: Dunn's index and the C-index."""
