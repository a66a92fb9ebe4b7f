"""Phenotypes and binaries: preprocessing, batches, compilers, error attribution."""
