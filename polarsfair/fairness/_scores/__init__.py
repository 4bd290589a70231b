"""Scores: ranking quality, calibration, curves."""
