"""How a winner's changes depend on each other."""
