"""Clusters compared with labels."""
