"""Tests of the clustering family."""
