"""Compare runs, patches, genotypes and files of machine code in one measurement."""
