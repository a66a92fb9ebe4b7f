"""The presets: each module in this package defines one as ``PRESET``."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from gi_cuda.offered import find, of_modules
from gi_cuda.search.preset import Preset
from gi_cuda.search.strategies.tune import BESIDE, PREFIX, beside, tuning
from gi_cuda.tune.searchers import find_searcher

DEFAULT = "adaptive"


PRESETS: Mapping[str, Preset] = of_modules(__name__, __path__, "PRESET", Preset)
"""Presets by name, as in ``--preset``."""


GROUP = "gi_cuda.presets"
"""Group of entry points, by which installed packages offer presets."""

_GIVEN: dict[str, Preset] = {}
"""Presets that were passed to this process as objects, by name."""


def find_preset(name: str, where: str) -> Preset:
    """Return a preset by its name.

    A name is one of :data:`PRESETS`, ``tune-`` and the name of a searcher (``tune-local``), an
    entry point of an installed package, or ``module:NAME``. Any preset can be combined with a
    searcher for its configurations (``adaptive+local``).

    Args:
        where: option or place that names the preset, for messages.

    Raises:
        UserError: there is no preset of that name, or its module cannot be imported.
    """
    own, plus, searcher = name.partition(BESIDE)
    if plus:
        return beside(find_preset(own, where), find_searcher(searcher, where))
    if name.startswith(PREFIX):
        return tuning(find_searcher(name.removeprefix(PREFIX), where))
    return _GIVEN.get(name) or find(name, Preset, "preset", PRESETS, GROUP, where)


def named_preset(preset: str | Preset) -> str:
    """Return a name by which :func:`find_preset` finds a preset.

    If a module holds the preset, the name is valid in other processes too.
    """
    if isinstance(preset, str):
        return preset
    for module in list(sys.modules.values()):
        for attribute, value in list(getattr(module, "__dict__", {}).items()):
            if value is preset and module.__name__ != __name__:
                own = PRESETS.get(preset.name) is preset
                return preset.name if own else f"{module.__name__}:{attribute}"
    _GIVEN[preset.name] = preset
    return preset.name
