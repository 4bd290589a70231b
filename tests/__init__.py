"""The test suite; `python -m tests` runs every check of the project."""
