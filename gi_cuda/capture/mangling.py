"""Mangled and demangled names of kernels."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gi_cuda.spec.launching.kernel_names import demangled, overload

_OWN_FILE = re.compile(r"(?:\(anonymous namespace\)|_INTERNAL_\w+|_GLOBAL__N_\w*)::")
_NAMELESS = re.compile(r"\{(?:lambda|unnamed)|'(?:lambda|unnamed)|__nv_(?:h?dl)_")


@dataclass(frozen=True, slots=True)
class KernelName:
    """A kernel's name.

    Attributes:
        mangled: name in binaries.
        whole: name in C++, with the types of parameters: ``a::blur<float>(float*, int)``.
    """

    mangled: str
    whole: str

    @property
    def shown(self) -> str:
        """C++ name without parameters, return type and anonymous namespace: ``a::blur<float>``.

        Demangled names of template instances begin with the return type.
        """
        name = overload(_OWN_FILE.sub("", self.whole))[0]
        depth, begin = 0, 0
        for at, character in enumerate(name):
            depth += (character in "<(") - (character in ">)")
            if character == " " and depth == 0:
                begin = at + 1
        return name[begin:]

    @property
    def plain(self) -> str:
        """C++ name without template arguments: ``a::blur``."""
        return self.shown.partition("<")[0]

    @property
    def templates(self) -> tuple[str, ...]:
        """Template arguments of the kernel."""
        _, begin, inner = self.shown.partition("<")
        return tuple(_parts(inner.rpartition(">")[0])) if begin else ()

    @property
    def nameless(self) -> bool:
        """Tell whether a template argument is a type without a name, such as a lambda's."""
        return _NAMELESS.search(self.shown) is not None

    def is_meant_by(self, name: str) -> bool:
        """Tell whether a user's `name` (mangled, C++, or without scope) fits this kernel."""
        given = name.replace(" ", "")
        known = [self.mangled, self.whole, self.shown, self.plain, self.plain.rpartition("::")[2]]
        return given in [one.replace(" ", "") for one in known]


def name_of(mangled: str) -> KernelName:
    """Return the name of a kernel from its mangled form."""
    return KernelName(mangled, demangled(mangled))


def _parts(text: str) -> list[str]:
    parts, depth = [""], 0
    for character in text:
        depth += (character in "<([{") - (character in ">)]}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]
