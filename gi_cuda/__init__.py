"""gi-cuda: automatic improvement of CUDA source code by genetic improvement."""

__version__ = "0.1.0"

BACKENDS = ("host", "cuda")
"""The names of all back ends; the first is the default. Each has a folder of its name in
:mod:`gi_cuda.backends`, with a module ``backend``, and is the key of ``[build]`` in a target.toml
for the options of its compiler."""
