"""One preprocessor process for a whole batch, and the phenotypic key (tabu's second list).

A batch is one text: the source's own includes once, in front of everything, then each variant
between two markers with its macros set before it. Every macro that a part sets or removes is
afterwards what it was before, so that nothing leaks into the next.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType

import xxhash

from gi_cuda.backends.compile.left_out import stand_in
from gi_cuda.backends.compile.reach import Reached, everything
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
"""What must be known to find directives: a comment may hold what looks like one."""
_CHANGED = re.compile(
    r"#[ \t]*(?:(?P<gone>include|pragma[ \t]+once)\b(?:[^/\n]|/(?![/*]))*"
    r"|(?:(?P<defines>define)|undef)[ \t]+(?P<macro>\w+)"
    r'|(?P<line>line[ \t]+\d+[ \t]+")(?!v\d+/))'
)
"""What a variant's text is changed for. Includes go: the prelude includes for all of them, and once
is not enough; comments behind them stay. Begins with a plain character, which makes it fast to
find."""
_IN_PLACE = re.compile(r"[ \t]*#[ \t]*include\b[^\n]*\n(?=[ \t]*#[ \t]*line\b)")
"""An include that is done with (see :mod:`gi_cuda.grammar.frontends.cuda.several`)."""
_MACRO = re.compile(r"^[ \t]*#[ \t]*(?:define|undef)[ \t]+(\w+)", re.M)
_INCLUDED = re.compile(r"""[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)""")
_KEPT = re.compile(r"[ \t]*#[ \t]*(?:include|if|ifdef|ifndef|elif|else|endif|define|undef|error)\b")
_LINE_MARKER = re.compile(r"\n#(?:line)? \d+[^\n]*")

NO_MACROS: Mapping[str, str] = MappingProxyType({})


def prelude(
    source: str, macros: Mapping[str, str] = NO_MACROS, without: Collection[str] = ()
) -> str:
    """The directives of a source alone, for the front of a batch.

    They bring in what the source includes, under the source's own conditions; the macros it
    defines on the way are gone at the end, those of its headers stay. Includes are thus outside
    every variant's namespace. An include whose text stands in the source is not among them.

    Args:
        source: the unmodified source text.
        macros: what is defined while the headers are read, normally the default configuration.
        without: headers that are left out, as they are spelled.
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
    """The text that one preprocessor process turns into all phenotypes of a batch.

    Line markers name ``v<ident>/<file_name>`` (and likewise the headers whose text the source has
    in place), so whatever a compiler later says of a line names
    the variant as well.

    Args:
        in_place: macros and constants whose values stand where a variant's text has them, as in a
            patch; with what definitions say that stay as they are.
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
    """A variant's text as a part of a batch, with its values of some macros, and the macros that it
    sets or removes."""
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
    """To what was kept; harmless where nothing was."""
    return "".join(f'#pragma pop_macro("{name}")\n' for name in names)


def _defined(macros: Mapping[str, str]) -> str:
    # A header may have defined it as well.
    return "".join(f"#undef {name}\n#define {name} {macros[name]}\n" for name in macros)


def split(
    output: str,
    variants: Sequence[Variant],
    meaning: Callable[[str], str] = str,
    remaining: Callable[[str], Reached] = everything,
) -> dict[int, Phenotype]:
    """Cut a preprocessor's output at the markers; variants it did not reach are missing.

    Args:
        meaning: makes of a variant's text what has a meaning to the compiler; decides the key.
        remaining: says what of a variant's text is wanted.
    """
    known = {v.ident: v for v in variants}
    found: dict[int, Phenotype] = {}
    _, *pieces = output.split(_MARKER)
    for piece in pieces[:-1]:
        number, _, whole = piece.partition("\n")
        ident = int(number)
        text, overloads = remaining(whole)
        # What __FILE__ became must not tell variants apart.
        same = text.replace(f'"v{ident}/', '"')
        options = known[ident].options
        own = key(meaning(same), options)
        found[ident] = Phenotype(ident, text, options, own, overloads=overloads)
    return found


def normalised(text: str) -> str:
    """A phenotype without line markers and with runs of white space made one."""
    return " ".join(_LINE_MARKER.sub("", f"\n{text}").split())


def key(text: str, options: Sequence[str]) -> bytes:
    """The 128-bit phenotypic key: what compiles to the same program has the same key."""
    return xxhash.xxh3_128_digest(
        "\0".join([normalised(text), *options]).encode("utf-8", "replace")
    )
