"""Benchmarks of polarsfair: seeded lakes, one runner, every measurement in a fresh process.

The package itself imports the standard library alone, so that a peer's own environment can run its
contestant without anything of ours installed in it.
"""
