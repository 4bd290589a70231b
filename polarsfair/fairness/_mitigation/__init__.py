"""Repairing decisions: the parts of `mitigation`."""
