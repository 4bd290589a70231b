"""Clusters judged by their own points."""
