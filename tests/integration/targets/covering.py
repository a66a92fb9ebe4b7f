"""Helpers for tests of several targets: configurations that cover all values."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping, Sequence

from gi_cuda.backends.host.build.library import find_compiler
from gi_cuda.spec import Configuration, Target


def covering(configurations: Sequence[Configuration]) -> list[Configuration]:
    """Return few of the configurations that together have each value of each parameter."""
    found: list[Configuration] = []
    seen: set[tuple[str, int]] = set()
    for one in reversed(configurations):
        if not one.items() <= seen:
            found.append(one)
            seen |= one.items()
    return found


def differing(
    target: Target, base: Configuration, texts: Callable[[Sequence[Configuration]], Sequence[str]]
) -> Mapping[str, int]:
    """Return the number of different texts for each parameter's values, preprocessed together.

    Args:
        base: values of the other parameters.
        texts: returns the source under each of several configurations, with macros undefined at the
            end.
    """
    asked = [(p.name, {**base, p.name: value}) for p in target.parameters for value in p.values]
    whole = "\nnext_one\n".join(texts([one for _, one in asked]))
    command = [find_compiler(), "-E", "-P", "-x", "c++", "-"]
    done = subprocess.run(command, input=whole, capture_output=True, text=True, check=True)
    found: dict[str, set[str]] = {}
    for (name, _), text in zip(asked, done.stdout.split("next_one"), strict=True):
        found.setdefault(name, set()).add(text.strip())
    return {name: len(one) for name, one in found.items()}
