"""Leaving changes out of a winner."""
