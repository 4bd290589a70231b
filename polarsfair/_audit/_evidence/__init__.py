"""How an audit is answered: question, counted tables, precision, lines of values."""
