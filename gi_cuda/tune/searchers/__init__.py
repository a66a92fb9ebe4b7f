"""The searchers: each module of this package holds one, as its ``SEARCHER``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gi_cuda.offered import find, of_modules
from gi_cuda.tune.searcher import SearcherKind
from gi_cuda.tune.searchers import profile

DEFAULT = "bayes"
"""The searcher that needs the fewest evaluations; ``benchmarks/tuning.py`` compares them."""

GROUP = "gi_cuda.searchers"
"""Entry points of this group are searchers of installed packages."""

SEARCHERS: Mapping[str, SearcherKind] = of_modules(__name__, __path__, "SEARCHER", SearcherKind)
"""The searchers of this package, by the name that ``--searcher`` takes."""


def find_searcher(name: str, where: str) -> SearcherKind:
    """Return a searcher by its name: one of :data:`SEARCHERS`, one that an installed package offers
    as an entry point, ``module:NAME``, or ``profile:FILE`` with the file of a model.

    Args:
        where: the option or key that holds the name, for the message.

    Raises:
        UserError: there is no searcher of that name, or its module cannot be imported.
    """
    if name.startswith(profile.PREFIX):
        return profile.with_model(Path(name.removeprefix(profile.PREFIX)))
    return find(name, SearcherKind, "searcher", SEARCHERS, GROUP, where)
