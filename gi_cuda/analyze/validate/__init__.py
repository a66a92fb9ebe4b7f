"""Validate winners on held-out cases, under sanitizers, and on other machines."""
