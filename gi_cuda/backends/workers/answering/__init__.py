"""Answers of a worker to requests."""
