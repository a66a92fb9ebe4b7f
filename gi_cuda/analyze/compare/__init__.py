"""Runs, patches, genotypes and files of machine code in one measurement."""
