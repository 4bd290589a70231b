"""Whether there are clusters at all."""
