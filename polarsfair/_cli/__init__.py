"""The command line: parsing, flags in messages, tables, the demo and its sample lake."""
