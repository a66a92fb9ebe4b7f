"""nvcc, its parts and what they make; GPUs and how variants are run on them."""
