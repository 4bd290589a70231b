"""Decisions that are yes or no."""
