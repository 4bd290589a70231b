"""Recommendations matched with what happened to them."""
