"""Cases as a worker holds them."""
