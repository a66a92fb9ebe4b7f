"""What the loops, variables and memory accesses of a kernel do, for families of transformations."""
