"""The presets: each module here is one, and says so by its ``PRESET``."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from gi_cuda.offered import find, of_modules
from gi_cuda.search.preset import Preset
from gi_cuda.search.strategies.tune import BESIDE, PREFIX, beside, tuning
from gi_cuda.tune.searchers import find_searcher

DEFAULT = "adaptive"


PRESETS: Mapping[str, Preset] = of_modules(__name__, __path__, "PRESET", Preset)
"""By the name that ``--preset`` takes."""


GROUP = "gi_cuda.presets"
"""Entry points of this group are presets of installed packages."""

_GIVEN: dict[str, Preset] = {}
"""Presets that this process was given as objects, by name."""


def find_preset(name: str, where: str) -> Preset:
    """Return a preset by its name: one of :data:`PRESETS`, that of a searcher (``tune-local``), one
    that an installed package offers as an entry point, or ``module:NAME``; any of them with a
    searcher for its configurations (``adaptive+local``).

    Args:
        where: who asks for it, for the message.

    Raises:
        UserError: there is none of that name, or its module cannot be imported.
    """
    own, plus, searcher = name.partition(BESIDE)
    if plus:
        return beside(find_preset(own, where), find_searcher(searcher, where))
    if name.startswith(PREFIX):
        return tuning(find_searcher(name.removeprefix(PREFIX), where))
    return _GIVEN.get(name) or find(name, Preset, "preset", PRESETS, GROUP, where)


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
