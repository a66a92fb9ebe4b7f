"""Running variants in worker processes that can be killed, and timing them."""
