"""Evaluation of a batch of individuals: building, rehearsal, measurement and confirmation."""
