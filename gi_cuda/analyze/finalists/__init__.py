"""From the best individuals to a validated winner."""
