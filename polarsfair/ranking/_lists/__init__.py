"""Ranked lists compared with relevant items."""
