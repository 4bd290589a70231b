"""Tests that the groups have the same rate."""
