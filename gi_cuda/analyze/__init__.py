"""What a result is worth: statistics and validation."""
