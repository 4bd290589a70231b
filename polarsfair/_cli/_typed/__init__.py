"""What was typed: a flag per role, names of metrics and functions, and their completion."""
