"""The command line: parsing, showing, the demo and its sample lake."""
