"""Rewritten kernels: whole files, folders and diffs, read together with how they are launched."""
