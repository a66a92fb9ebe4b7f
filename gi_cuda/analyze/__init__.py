"""After the search: what is a winner worth, what of it, and why? A module or folder a question."""
