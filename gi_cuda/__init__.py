"""gi-cuda: automatic improvement of CUDA source code by genetic improvement."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gi_cuda.api import StoredRun, evolve, open_run

__all__ = ["BACKENDS", "StoredRun", "__version__", "evolve", "open_run"]

__version__ = "0.1.0"

BACKENDS = ("host", "cuda")
"""The names of all back ends. Each has a folder of its name in :mod:`gi_cuda.backends`, with a
module ``backend``, and is the key of ``[build]`` in a target.toml for the options of its
compiler."""

AUTO = "auto"
"""The default back end: ``cuda`` if a GPU can be used, else ``host``."""


def __getattr__(name: str) -> Any:
    """Load the Python interface on first use; every package of gi-cuda imports this module."""
    if name in __all__:
        return getattr(import_module("gi_cuda.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
