"""The CUDA front end: reads sources without preprocessing them.

Code that it does not understand becomes fixed text.
"""
