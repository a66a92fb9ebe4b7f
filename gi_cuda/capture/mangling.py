"""Names of kernels as binaries have them, and as C++ does."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gi_cuda.spec.kernel_names import demangled, overload

_OWN_FILE = re.compile(r"(?:\(anonymous namespace\)|_INTERNAL_\w+|_GLOBAL__N_\w*)::")
_NAMELESS = re.compile(r"\{(?:lambda|unnamed)|'(?:lambda|unnamed)|__nv_(?:h?dl)_")


@dataclass(frozen=True, slots=True)
class KernelName:
    """A kernel's name.

    Attributes:
        mangled: as binaries have it.
        whole: as C++ has it, with the types of its parameters: ``a::blur<float>(float*, int)``.
    """

    mangled: str
    whole: str

    @property
    def shown(self) -> str:
        """Without its parameters, without the type that templates' names begin with, and without
        what stands for a file that it is known in alone."""
        name = overload(_OWN_FILE.sub("", self.whole))[0]
        depth, begin = 0, 0
        for at, character in enumerate(name):
            depth += (character in "<(") - (character in ">)")
            if character == " " and depth == 0:
                begin = at + 1
        return name[begin:]

    @property
    def plain(self) -> str:
        """Without template arguments: ``a::blur``."""
        return self.shown.partition("<")[0]

    @property
    def templates(self) -> tuple[str, ...]:
        """The template arguments of the kernel itself."""
        _, begin, inner = self.shown.partition("<")
        return tuple(_parts(inner.rpartition(">")[0])) if begin else ()

    @property
    def nameless(self) -> bool:
        """Whether it is an instance for a type without a name, as that of a lambda."""
        return _NAMELESS.search(self.shown) is not None

    def is_meant_by(self, name: str) -> bool:
        """Whether somebody who says `name` may mean this kernel."""
        given = name.replace(" ", "")
        known = [self.mangled, self.whole, self.shown, self.plain, self.plain.rpartition("::")[2]]
        return given in [one.replace(" ", "") for one in known]


def name_of(mangled: str) -> KernelName:
    """A kernel's name, of which the mangled form is known."""
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
