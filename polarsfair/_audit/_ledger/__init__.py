"""What every row is used for, or which role it lacks."""
