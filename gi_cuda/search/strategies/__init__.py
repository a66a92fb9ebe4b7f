"""The presets: each module here is one, and says so by its ``PRESET``."""

from __future__ import annotations

import os
import pkgutil
import sys
from collections.abc import Iterable, Mapping
from importlib import import_module
from importlib.metadata import entry_points

from gi_cuda.errors import UserError
from gi_cuda.search.preset import Preset
from gi_cuda.search.strategies.tune import PREFIX, tuning
from gi_cuda.tune.searchers import find_searcher

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


GROUP = "gi_cuda.presets"
"""Entry points of this group are presets of installed packages."""

_GIVEN: dict[str, Preset] = {}
"""Presets that this process was given as objects, by name."""


def find_preset(name: str, where: str) -> Preset:
    """Return a preset by its name: one of :data:`PRESETS`, that of a searcher (``tune-local``), one
    that an installed package offers as an entry point, or ``module:NAME``.

    Args:
        where: who asks for it, for the message.

    Raises:
        UserError: there is none of that name, or its module cannot be imported.
    """
    if (known := PRESETS.get(name) or _GIVEN.get(name)) is not None:
        return known
    if name.startswith(PREFIX):
        return tuning(find_searcher(name.removeprefix(PREFIX), where))
    offered = {one.name: one.value for one in entry_points(group=GROUP)}
    if ":" in (place := offered.get(name, name)):
        return _imported(place, where)
    there = ", ".join((*PRESETS, *offered))
    raise UserError(
        f"there is no preset {name!r}",
        where=where,
        hint=f"one of: {there}; or MODULE:NAME for one of your own",
    )


def named_preset(preset: str | Preset) -> str:
    """Return the name by which :func:`find_preset` finds a preset in this process; of one that a
    module holds also in others."""
    if isinstance(preset, str):
        return preset
    for module in list(sys.modules.values()):
        for attribute, value in list(getattr(module, "__dict__", {}).items()):
            if value is preset and module.__name__ != __name__:
                own = PRESETS.get(preset.name) is preset
                return preset.name if own else f"{module.__name__}:{attribute}"
    _GIVEN[preset.name] = preset
    return preset.name


def _imported(place: str, where: str) -> Preset:
    """Return ``module:NAME``; the module may be in the current folder."""
    module, _, attribute = place.partition(":")
    hint = "MODULE:NAME names a gi_cuda.search.Preset of a module that can be imported from here"
    sys.path.insert(0, os.getcwd())
    try:
        found = getattr(import_module(module), attribute, None)
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        raise UserError(f"{module} cannot be imported: {said}", where=where, hint=hint) from error
    finally:
        sys.path.remove(os.getcwd())
    if not isinstance(found, Preset):
        raise UserError(f"{module} has no preset {attribute!r}", where=where, hint=hint)
    return found
