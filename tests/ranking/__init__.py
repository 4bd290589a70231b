"""Tests of the ranking family."""
