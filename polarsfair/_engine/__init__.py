"""How one call is answered, from a frame to its value; knows no family."""
