"""From what was opened to what is printed or written."""
