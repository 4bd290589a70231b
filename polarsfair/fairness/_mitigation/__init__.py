"""Repairing decisions: what `mitigation` is built on."""
