"""How an audit is answered: the question, the tables counted for it, precision, gaps and rows."""
