"""Verbs that judge rewrites, for people and for agents."""
