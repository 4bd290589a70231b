"""The command line: parsing, files, flags in messages, tables, the demo and its sample lake."""
