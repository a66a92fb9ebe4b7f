"""Find objects inside requests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import TypeVar

_Part = TypeVar("_Part")


def parts_of(request: object, kind: type[_Part]) -> Iterator[_Part]:
    """Yield the objects of a class that a request contains, e.g. the programs that it runs."""
    if isinstance(request, kind):
        yield request
    elif isinstance(request, tuple):
        for one in request:
            yield from parts_of(one, kind)
    elif is_dataclass(request):
        for field_ in fields(request):
            yield from parts_of(getattr(request, field_.name), kind)
