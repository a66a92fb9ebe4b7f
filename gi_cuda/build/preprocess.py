"""One preprocessor process for a whole batch, and the phenotypic key (tabu's second list).

A batch is one text: the source's own includes once, in front of everything, then each variant
between two markers with its macros set before it and every macro undefined after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import xxhash

from gi_cuda.build.model import Phenotype, Variant

_MARKER = "#pragma gi_cuda variant "
_DIRECTIVE = re.compile(
    r"^[ \t]*#(?:[^\\\n]|\\(?!\r?\n))*(?:\\\r?\n(?:[^\\\n]|\\(?!\r?\n))*)*", re.M
)
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include\b[^\n]*", re.M)
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.M)
_KEPT = re.compile(r"[ \t]*#[ \t]*(?:include|if|ifdef|ifndef|elif|else|endif|define|undef|error)\b")
_LINE_MARKER = re.compile(r"^#(?:line)? \d+[^\n]*\n?", re.M)


def prelude(source: str, macros: Iterable[str] = ()) -> str:
    """The directives of a source alone, for the front of a batch.

    They bring in what the source includes, under the source's own conditions; the macros it
    defines on the way are gone at the end. Includes are thus outside every variant's namespace.

    Args:
        source: the unmodified source text.
        macros: further names to undefine at the end.
    """
    kept = [m.group() for m in _DIRECTIVE.finditer(source) if _KEPT.match(m.group())]
    names = sorted({*_DEFINE.findall(source), *macros})
    return "\n".join([*kept, *(f"#undef {name}" for name in names)]) + "\n"


def batch_text(front: str, variants: Sequence[Variant], file_name: str) -> str:
    """The text that one preprocessor process turns into all phenotypes of a batch.

    Line markers name ``v<ident>/<file_name>``, so whatever a compiler later says of a line names
    the variant as well.
    """
    parts = [front]
    for variant in variants:
        text = _INCLUDE.sub("", variant.text)
        names = sorted({*variant.macros, *_DEFINE.findall(text)})
        parts.append(f"{_MARKER}{variant.ident}\n")
        parts += (f"#define {name} {value}\n" for name, value in variant.macros.items())
        parts.append(f'#line 1 "v{variant.ident}/{file_name}"\n{text}\n')
        parts += (f"#undef {name}\n" for name in names)
    parts.append(f"{_MARKER}end\n")
    return "".join(parts)


def split(output: str, variants: Sequence[Variant]) -> dict[int, Phenotype]:
    """Cut a preprocessor's output at the markers; variants it did not reach are missing."""
    options = {v.ident: v.options for v in variants}
    found: dict[int, Phenotype] = {}
    _, *pieces = output.split(_MARKER)
    for piece in pieces[:-1]:
        number, _, text = piece.partition("\n")
        ident = int(number)
        found[ident] = Phenotype(ident, text, options[ident], key(text, options[ident]))
    return found


def normalised(text: str) -> str:
    """A phenotype without line markers and with runs of white space made one."""
    return " ".join(_LINE_MARKER.sub("", text).split())


def key(text: str, options: Sequence[str]) -> bytes:
    """The 128-bit phenotypic key: what compiles to the same program has the same key."""
    return xxhash.xxh3_128_digest(
        "\0".join([normalised(text), *options]).encode("utf-8", "replace")
    )
