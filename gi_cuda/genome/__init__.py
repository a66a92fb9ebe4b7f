"""Genotypes: configuration values and edits, their notation and their variation."""
