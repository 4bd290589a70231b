"""Benchmarks of polarsfair: seeded lakes, one runner, every measurement in a fresh process.

The package itself imports only the standard library, so that the environment of a peer can run the
peer's contestant without polarsfair or its dependencies.
"""
