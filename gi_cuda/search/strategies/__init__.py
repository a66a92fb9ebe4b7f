"""The presets: each module here is one, and says so by its ``PRESET``."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable, Mapping
from importlib import import_module

from gi_cuda.errors import UserError
from gi_cuda.search.preset import Preset

DEFAULT = "adaptive"


def presets_of(package: str, path: Iterable[str]) -> dict[str, Preset]:
    """The presets in the modules of a package, by name.

    Args:
        path: the package's ``__path__``.

    Raises:
        ImportError: a module has none, or two have one of the same name.
    """
    presets: dict[str, Preset] = {}
    for module in pkgutil.iter_modules(path, f"{package}."):
        preset = getattr(import_module(module.name), "PRESET", None)
        if not isinstance(preset, Preset):
            raise ImportError(f"{module.name} has no PRESET, an instance of {Preset.__name__}")
        if preset.name in presets:
            raise ImportError(f"{module.name}: there is a preset {preset.name!r} already")
        presets[preset.name] = preset
    return presets


PRESETS: Mapping[str, Preset] = presets_of(__name__, __path__)
"""By the name that ``--preset`` takes."""


def find_preset(name: str, where: str) -> Preset:
    """A preset by its name.

    Args:
        where: who asks for it, for the message.

    Raises:
        UserError: there is none of that name.
    """
    if name not in PRESETS:
        raise UserError(
            f"there is no preset {name!r}", where=where, hint=f"one of: {', '.join(PRESETS)}"
        )
    return PRESETS[name]
