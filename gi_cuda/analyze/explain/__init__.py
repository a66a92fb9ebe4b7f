"""Explain the changes of a winner."""
