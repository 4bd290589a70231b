"""Tests of the fairness family."""
