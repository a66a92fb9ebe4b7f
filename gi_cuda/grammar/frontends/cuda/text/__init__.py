"""CUDA source text and its files, before any rule is read."""
