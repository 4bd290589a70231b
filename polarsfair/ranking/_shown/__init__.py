"""What is shown, and to whom, without ground truth."""
