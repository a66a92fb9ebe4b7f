"""Data of cases."""
