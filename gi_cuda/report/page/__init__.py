"""A run as one page: a file that needs nothing but a browser."""
