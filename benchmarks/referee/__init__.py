"""The false-verdict benchmark: how often the referee accepts wrong rewrites or refuses right ones.

``corpus/`` holds kernels with rewrites of known truth, :mod:`benchmarks.referee.rewrites` reads
them, :mod:`benchmarks.referee.truth` checks that they are what they are said to be, and
``python -m benchmarks.referee`` asks the referee.
"""
