"""Preprocess a whole batch with one process, and compute phenotypic keys (tabu's second list).

A batch is one text: the source's own includes once, before everything else, then each variant
between two markers, after its macros. After each variant, every macro that it defines or removes is
restored, so that variants do not affect each other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType

import xxhash

from gi_cuda.backends.compile.pruning.left_out import stand_in
from gi_cuda.backends.compile.pruning.reachable_code import Reached, everything
from gi_cuda.backends.protocol.variants import Phenotype, Variant
from gi_cuda.grammar.macro_values import define_line, said, valued, with_constants

_MARKER = "#pragma gi_cuda variant "
_TOKEN = re.compile(
    r"""//(?:\\\r?\n|[^\n])* | /\*.*?(?:\*/|\Z)
      | R"(?P<fence>[^()\\\s"]{0,16})\(.*?\)(?P=fence)"
      | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n]){1,6}'
      | (?P<directive>^[ \t]*\#
          (?:\\\r?\n|//(?:\\\r?\n|[^\n])*|/\*.*?(?:\*/|\Z)|"(?:\\.|[^"\\\n])*"|[^\n])*)
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
"""Tokens to know to find directives: a comment may hold text that looks like a directive."""
_CHANGED = re.compile(
    r"#[ \t]*(?:(?P<gone>include|pragma[ \t]+once)\b(?:[^/\n]|/(?![/*]))*"
    r"|(?:(?P<defines>define)|undef)[ \t]+(?P<macro>\w+)"
    r'|(?P<line>line[ \t]+\d+[ \t]+")(?!v\d+/))'
)
"""Directives of a variant's text that are changed or recorded.

Includes are removed, since the prelude includes for all variants, and so is ``#pragma once``;
comments after them stay. The pattern begins with a plain character, which makes the search fast.
"""
_IN_PLACE = re.compile(r"[ \t]*#[ \t]*include\b[^\n]*\n(?=[ \t]*#[ \t]*line\b)")
"""An include whose text is already in place (see
:mod:`gi_cuda.grammar.frontends.cuda.text.several`)."""
_MACRO = re.compile(r"^[ \t]*#[ \t]*(?:define|undef)[ \t]+(\w+)", re.M)
_INCLUDED = re.compile(r"""[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)""")
_KEPT = re.compile(r"[ \t]*#[ \t]*(?:include|if|ifdef|ifndef|elif|else|endif|define|undef|error)\b")
_LINE_MARKER = re.compile(r"\n#(?:line)? \d+[^\n]*")

NO_MACROS: Mapping[str, str] = MappingProxyType({})


def prelude(
    source: str, macros: Mapping[str, str] = NO_MACROS, without: Collection[str] = ()
) -> str:
    """Return the directives of a source, as the front of a batch.

    They include the source's headers, under the source's own conditions, outside of every variant's
    namespace. Macros that the source defines are removed at the end; those of its headers stay. An
    include whose text is already in place in the source is left out.

    Args:
        source: the unmodified source.
        macros: macros that are defined while headers are read, normally the default configuration.
        without: headers to leave out, as they are spelled.
    """
    lines = [_keep(macros), _defined(macros)]
    names = []
    for match in _TOKEN.finditer(source):
        directive = match["directive"]
        if directive is None or _IN_PLACE.match(source, match.start()):
            continue
        included = _INCLUDED.match(directive)
        if included is not None and (name := included[1] or included[2]) in without:
            lines.append(stand_in(name))
            continue
        if _KEPT.match(directive):
            changed = _MACRO.findall(directive)
            lines += [_keep(changed), f"{directive}\n"]
            names += changed
    return "".join([*lines, _restored(names), _restored(macros)])


def batch_text(
    front: str,
    variants: Sequence[Variant],
    file_name: str,
    in_place: Mapping[str, Collection[str]] = NO_MACROS,
) -> str:
    """Return the text that one preprocessor process turns into all phenotypes of a batch.

    Line markers name ``v<ident>/<file_name>`` (also for headers whose text is in place in the
    source), so a compiler's message about a line names the variant as well.

    Args:
        in_place: macros and constants whose values are written into their definitions in a
            variant's text, as in a patch; with the values of definitions that must stay unchanged.
    """
    parts = [front]
    for variant in variants:
        text, macros = _within(variant, in_place)
        given = {name: value for name, value in variant.macros.items() if name not in in_place}
        names = sorted(macros.union(given))
        parts += [f"{_MARKER}{variant.ident}\n", _keep(names), _defined(given)]
        parts += [f'#line 1 "v{variant.ident}/{file_name}"\n{text}\n', _restored(names)]
    parts.append(f"{_MARKER}end\n")
    return "".join(parts)


def _within(variant: Variant, in_place: Mapping[str, Collection[str]]) -> tuple[str, set[str]]:
    """Return a variant's text as a part of a batch, and the macros that it defines or removes."""
    parts, macros, at = [], set(), 0
    for match in _CHANGED.finditer(variant.text):
        begin = variant.text.rfind("\n", 0, match.start()) + 1
        if variant.text[begin : match.start()].strip(" \t"):
            continue  # Not a directive.
        if match["gone"]:
            parts.append(variant.text[at:begin])
            at = match.end()
        elif match["line"]:
            parts.append(f"{variant.text[at : match.end()]}v{variant.ident}/")
            at = match.end()
        else:
            name = match["macro"]
            macros.add(name)
            if match["defines"] and name in in_place and name in variant.macros:
                line = define_line(variant.text, begin)
                if line is not None and said(line["value"]) not in in_place[name]:
                    parts += [variant.text[at : line.start()], valued(line, variant.macros[name])]
                    at = line.end()
    text = "".join([*parts, variant.text[at:]])
    return with_constants(text, {name: variant.macros.get(name) for name in in_place}), macros


def _keep(names: Iterable[str]) -> str:
    return "".join(f'#pragma push_macro("{name}")\n' for name in names)


def _restored(names: Iterable[str]) -> str:
    """Return pragmas that restore macros; harmless for macros that were not saved."""
    return "".join(f'#pragma pop_macro("{name}")\n' for name in names)


def _defined(macros: Mapping[str, str]) -> str:
    # A header may have defined the macro as well.
    return "".join(f"#undef {name}\n#define {name} {macros[name]}\n" for name in macros)


def split(
    output: str,
    variants: Sequence[Variant],
    meaning: Callable[[str], str] = str,
    remaining: Callable[[str], Reached] = everything,
) -> dict[int, Phenotype]:
    """Split a preprocessor's output at the markers. Variants that it did not reach are missing.

    Args:
        meaning: reduces a variant's text to what matters to the compiler; this decides the key.
        remaining: returns the part of a variant's text to compile.
    """
    known = {v.ident: v for v in variants}
    found: dict[int, Phenotype] = {}
    _, *pieces = output.split(_MARKER)
    for piece in pieces[:-1]:
        number, _, whole = piece.partition("\n")
        ident = int(number)
        text, overloads = remaining(whole)
        # The expansion of __FILE__ must not make variants different.
        same = text.replace(f'"v{ident}/', '"')
        options = known[ident].options
        own = key(meaning(same), options)
        found[ident] = Phenotype(ident, text, options, own, overloads=overloads)
    return found


def normalised(text: str) -> str:
    """Return a phenotype without line markers, and with single spaces for all white space."""
    return " ".join(_LINE_MARKER.sub("", f"\n{text}").split())


def key(text: str, options: Sequence[str]) -> bytes:
    """Return the 128-bit phenotypic key, equal for texts that compile to the same program."""
    return xxhash.xxh3_128_digest(
        "\0".join([normalised(text), *options]).encode("utf-8", "replace")
    )
