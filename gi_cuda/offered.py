"""Look up plugins by name: gi-cuda's own, entry points of installed packages, or MODULE:NAME."""

from __future__ import annotations

import os
import pkgutil
import sys
from collections.abc import Iterable, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Protocol, TypeVar

from gi_cuda.errors import UserError


class Named(Protocol):
    """An object with a name."""

    @property
    def name(self) -> str:
        """The name by which a user asks for it."""


T = TypeVar("T", bound=Named)


def of_modules(package: str, path: Iterable[str], attribute: str, kind: type[T]) -> dict[str, T]:
    """Return the object of each module of a package, keyed by the object's name.

    Args:
        path: the package's ``__path__``.
        attribute: the variable that holds the object in each module.
        kind: the type of the objects.

    Raises:
        ImportError: a module has no object of this type, or two objects have the same name.
    """
    found: dict[str, T] = {}
    for module in pkgutil.iter_modules(path, f"{package}."):
        one = getattr(import_module(module.name), attribute, None)
        if not isinstance(one, kind):
            raise ImportError(f"{module.name} has no {attribute}, an instance of {kind.__name__}")
        if one.name in found:
            raise ImportError(f"{module.name}: there is a {one.name!r} already")
        found[one.name] = one
    return found


def find(name: str, kind: type[T], word: str, known: Mapping[str, T], group: str, where: str) -> T:
    """Return an object by its name.

    Args:
        name: a key of ``known``, the name of an entry point, or ``module:NAME``; the module may be
            in the current folder.
        kind: type of the object.
        word: noun for the object, in messages.
        known: gi-cuda's own objects, by name.
        group: name of the group of entry points.
        where: the option or key that holds the name, for messages.

    Raises:
        UserError: there is no object of that name, or its module cannot be imported.
    """
    if (own := known.get(name)) is not None:
        return own
    offered = {one.name: one.value for one in entry_points(group=group)}
    if ":" in (place := offered.get(name, name)):
        return _imported(place, kind, word, where)
    there = ", ".join((*known, *offered))
    raise UserError(
        f"there is no {word} {name!r}",
        where=where,
        hint=f"one of: {there}; or MODULE:NAME for one of your own",
    )


def _imported(place: str, kind: type[T], word: str, where: str) -> T:
    """Import ``module:NAME`` and return the object.

    Raises:
        UserError: the module cannot be imported, or has no object of that name and type.
    """
    module, _, attribute = place.partition(":")
    owner = f"{kind.__module__}.{kind.__name__}"
    hint = f"MODULE:NAME names a {owner} of a module that can be imported from here"
    sys.path.insert(0, os.getcwd())
    try:
        found = getattr(import_module(module), attribute, None)
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        raise UserError(f"{module} cannot be imported: {said}", where=where, hint=hint) from error
    finally:
        sys.path.remove(os.getcwd())
    if not isinstance(found, kind):
        raise UserError(f"{module} has no {word} {attribute!r}", where=where, hint=hint)
    return found
