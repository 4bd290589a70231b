"""Individuals: neighbours, and surrogate groups."""
