"""Outcomes that are numbers (regression)."""
