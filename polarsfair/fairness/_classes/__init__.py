"""Decisions among several classes, and labels before training."""
