"""The CUDA front end: reads sources as they are, unpreprocessed.

What it does not understand becomes fixed text.
"""
