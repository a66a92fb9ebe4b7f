"""The searchers: each module of this package holds one, as its ``SEARCHER``."""

from __future__ import annotations

import os
import pkgutil
import sys
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import entry_points

from gi_cuda.errors import UserError
from gi_cuda.tune.searcher import SearcherKind

DEFAULT = "bayes"
"""The searcher that needs the fewest evaluations; ``benchmarks/tuning.py`` compares them."""

GROUP = "gi_cuda.searchers"
"""Entry points of this group are searchers of installed packages."""


def _own() -> dict[str, SearcherKind]:
    found: dict[str, SearcherKind] = {}
    for module in pkgutil.iter_modules(__path__, f"{__name__}."):
        kind = getattr(import_module(module.name), "SEARCHER", None)
        if not isinstance(kind, SearcherKind):
            raise ImportError(f"{module.name} has no SEARCHER of type {SearcherKind.__name__}")
        if kind.name in found:
            raise ImportError(f"{module.name}: there is already a searcher {kind.name!r}")
        found[kind.name] = kind
    return found


SEARCHERS: Mapping[str, SearcherKind] = _own()
"""The searchers of this package, by the name that ``--searcher`` takes."""


def find_searcher(name: str, where: str) -> SearcherKind:
    """Return a searcher by its name.

    Args:
        name: one of :data:`SEARCHERS`, the name of an entry point of the group :data:`GROUP`, or
            ``module:NAME``. The module may be in the current folder.
        where: the option or key that holds the name, for the message.

    Raises:
        UserError: there is no searcher of that name, or its module cannot be imported.
    """
    if (known := SEARCHERS.get(name)) is not None:
        return known
    offered = {one.name: one.value for one in entry_points(group=GROUP)}
    if ":" in (place := offered.get(name, name)):
        return _imported(place, where)
    names = ", ".join((*SEARCHERS, *offered))
    raise UserError(
        f"there is no searcher {name!r}",
        where=where,
        hint=f"one of: {names}; or MODULE:NAME for a searcher of your own",
    )


def _imported(place: str, where: str) -> SearcherKind:
    """Return ``module:NAME``, which may be a module in the current folder."""
    module, _, attribute = place.partition(":")
    hint = "MODULE:NAME names a gi_cuda.tune.searcher.SearcherKind"
    sys.path.insert(0, os.getcwd())
    try:
        found = getattr(import_module(module), attribute, None)
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        raise UserError(f"{module} cannot be imported: {said}", where=where, hint=hint) from error
    finally:
        sys.path.remove(os.getcwd())
    if not isinstance(found, SearcherKind):
        raise UserError(f"{module} has no searcher {attribute!r}", where=where, hint=hint)
    return found
