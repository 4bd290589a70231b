"""How one call is answered, from a frame to its value. Nothing here knows a family.

In import order: unknown, frames, slices, columns, faults, groups, rows, tally, stored, metric,
request, reference, group_pairs, read, compare, evaluate, by_group, catalog.
"""
