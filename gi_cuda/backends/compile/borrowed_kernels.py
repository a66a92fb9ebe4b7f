"""Split a variant into kernels to compile and kernels to take from the reference's binary.

An edit touches one kernel of a source, or a function that some kernels call. The other kernels need
not be compiled again: they are launched from the reference's binary. The reference lends them to
the variant.

Two copies of a kernel must not make a difference. So kernels that use a variable which no launch
plan restores are never lent, and kernels that share a variable with a compiled one are compiled
with it. In doubt, nothing is lent.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import chain

import xxhash

from gi_cuda.backends.compile.pruning.declarations import WORD
from gi_cuda.backends.compile.pruning.items import Item, Items, Kind, code_lines, read_items
from gi_cuda.backends.compile.pruning.needs import Needs, declared_by
from gi_cuda.backends.compile.pruning.reread import changed_lines, read_anew, read_beside
from gi_cuda.backends.protocol.variants import Phenotype
from gi_cuda.spec.launching.kernel_names import identifier, overload

KERNEL, SYMBOL = "gi_kernel_", "gi_symbol_"
"""Prefixes of the names for a kernel and a variable in the code after a variant's text. A number
follows."""

_DEVICE = "__device__"
_FUNCTION = re.compile(rf"(?P<before>[^(){{}};=]*?)\b{_DEVICE}\b[^(){{}};=]*\(")


@lru_cache(maxsize=4)
def lender(
    reference: Phenotype, kernels: tuple[str, ...], symbols: tuple[str, ...]
) -> Lender | None:
    """Return the analysed reference; None if the analysis fails, or there is only one kernel.

    Args:
        kernels: C++ names of the kernels that are launched.
        symbols: names of the variables that are restored before every run.
    """
    lines, _ = code_lines(reference.text, reference.ident)
    read = read_items(lines) if len(kernels) > 1 else None
    if read is None or not read.complete:
        return None
    found = {key for item in read.items if item.kernel for key in item.keys}
    if any(_last(kernel) not in found for kernel in kernels):
        return None
    return Lender(reference.options, tuple(lines), read, kernels, symbols)


@dataclass(frozen=True)
class Lender:
    """The analysed reference, which can lend kernels to its variants.

    Attributes:
        options: its own compiler options.
        lines: its lines of code.
        read: its declarations.
        kernels, symbols: see :func:`lender`.
    """

    options: tuple[str, ...]
    lines: tuple[str, ...]
    read: Items
    kernels: tuple[str, ...]
    symbols: tuple[str, ...]

    def parts(
        self, phenotype: Phenotype, mark: str = "", marked: Iterable[str] = ()
    ) -> Sequence[Phenotype]:
        """Return the parts of a variant that must be compiled.

        Each part has kernels that share no variable with those of other parts, and all that they
        need. There are no parts if the analysis fails. The ``lent`` of a part names all that it
        takes from the reference or from other parts. A part has the same key in all variants that
        have it.

        Args:
            mark: text to insert before ``__device__`` of functions that left-out code calls as
                well.
            marked: names of the functions to which this applies.
        """
        taken = self._taken(phenotype)
        if taken is None or not taken.own:
            return ()
        said, found = frozenset(marked), list[Phenotype]()
        # Changed code that no kernel needs goes into the first part: compilers have to see it.
        left = taken.touched - taken.edit.needs.reached(
            set[str]().union(*(self._roots(at) for at in taken.own))
        )
        for some in self._apart(taken):
            one = self._with(phenotype, taken, some, () if found else left, mark, said)
            found.append(replace(one, key=_key(one)))
        return found

    def _taken(self, phenotype: Phenotype) -> _Taken | None:
        """Return the analysis of a variant; None if it fails."""
        lines, places = code_lines(phenotype.text, phenotype.ident)
        edit = self._compared(lines)
        if edit is None:
            return None
        every = range(len(self.kernels))
        if phenotype.options != self.options:
            touched, own = set[int](), {*every}
        elif (changed := edit.touched()) is None:
            return None
        else:
            touched, own = changed, self._own(edit, changed)
        uses = [self._uses(edit.needs, at) if at in own else self.uses[at] for at in every]
        return _Taken(edit, places, touched, own, uses)

    def _apart(self, taken: _Taken) -> list[set[int]]:
        """Group the kernels that a variant does not borrow by the variables that they share."""
        uses, found = taken.uses, list[set[int]]()
        for at in sorted(taken.own):
            with_it = [some for some in found if any(uses[at] & uses[one] for one in some)]
            found = [some for some in found if some not in with_it]
            found.append({at}.union(*with_it))
        return found

    def _with(
        self,
        phenotype: Phenotype,
        taken: _Taken,
        own: set[int],
        items: Iterable[int],
        mark: str,
        marked: frozenset[str],
    ) -> Phenotype:
        """Return a variant with some of its kernels and their needs, and with ``items``."""
        edit, places = taken.edit, taken.places
        others = [at for at in range(len(self.kernels)) if at not in own]
        theirs = frozenset[str]().union(*(taken.uses[at] for at in others))
        lent = [symbol for symbol in self.symbols if _last(symbol) in theirs]
        roots = set[str]().union(*(self._roots(at) for at in own))
        roots |= {f"{SYMBOL}{n}" for n, name in enumerate(self.symbols) if name not in lent}
        stay = edit.needs.reached(roots, items)
        gone = [item for at, item in enumerate(edit.needs.items) if at not in stay]
        unused = chain.from_iterable(item.keys for item in gone if item.kernel)
        names = [identifier(name) for name in (*lent, *(self.kernels[at] for at in others))]
        text = phenotype.text.split("\n")
        for line in edit.only_in(stay):
            text[places[line]] = ""
        for line in edit.called(stay, marked):
            text[places[line]] = text[places[line]].replace(_DEVICE, f"{mark} {_DEVICE}", 1)
        return replace(phenotype, text="\n".join(text), lent=frozenset([*names, *unused]))

    def _own(self, edit: _Edit, touched: set[int]) -> set[int]:
        """Return the kernels to compile, by index.

        They are the kernels that the edit reaches, those that keep state from run to run, and all
        that share a variable with these.
        """
        names = edit.names.union(*(edit.needs.items[at].keys for at in touched))
        numbers = range(len(self.kernels))
        reached = {at for at in numbers if self._roots(at) & names}
        uses = [self._uses(edit.needs, at) if at in reached else self.uses[at] for at in numbers]
        own = reached | {at for at in numbers if uses[at] & self._unrestored}
        while more := {at for at in numbers if any(uses[at] & uses[one] for one in own)} - own:
            own |= more
        return own

    @cached_property
    def uses(self) -> tuple[frozenset[str], ...]:
        """For each kernel, the names of all variables that it uses."""
        needs = Needs(self.read.items)
        return tuple(self._uses(needs, at) for at in range(len(self.kernels)))

    def _uses(self, needs: Needs, at: int) -> frozenset[str]:
        reached = [needs.items[number] for number in needs.reached(self._roots(at))]
        kept = [item.keys for item in reached if item.kind is not Kind.PLAIN and not _known(item)]
        return frozenset(chain.from_iterable(kept))

    @cached_property
    def _unrestored(self) -> frozenset[str]:
        """Names of variables that keep values from run to run."""
        restored = {_last(symbol) for symbol in self.symbols}
        kept = [one.keys for one in self.read.items if one.kind is Kind.VARIABLE]
        return frozenset(chain.from_iterable(keys for keys in kept if not keys & restored))

    def _roots(self, at: int) -> set[str]:
        """Return the names by which a kernel is used."""
        return {*WORD.findall(self.kernels[at]), f"{KERNEL}{at}"}

    def _compared(self, lines: Sequence[str]) -> _Edit | None:
        """Compare a variant with the reference; None unless all changes are within declarations."""
        items, more = self.read.items, len(lines) - len(self.lines)
        begin, end = changed_lines(self.lines, lines)
        first = bisect_left(items, begin, key=lambda item: item.last)
        last = max(first, bisect_left(items, end, key=lambda item: item.first))
        # A changed line that several declarations share counts as a change of all of them.
        begin = min([begin, *(item.first for item in items[first:last])])
        while first and items[first - 1].last >= begin:
            first -= 1
            begin = items[first].first
        end = max([end, *(item.last + 1 for item in items[first:last])])
        while last < len(items) and items[last].first < end:
            end = items[last].last + 1
            last += 1
        if any(begin <= line < end for line in self.read.gaps):
            return None
        now = "\n".join(lines[begin : end + more])
        new = read_beside(items[first:last], now)
        if new is None and (new := read_anew(now)) is None:
            return None
        return _edit(items, (first, last), (begin, more), new, self.read.gaps)


@dataclass(frozen=True)
class _Edit:
    """A variant's declarations compared with the reference's.

    Attributes:
        needs: the declarations with their dependencies.
        lines: for each declaration, the first line and the line after the last.
        gaps: lines with something else than declarations.
        changed: indices of declarations that the reference does not have.
        names: all names that lead to these, and to declarations that only the reference has.
    """

    needs: Needs
    lines: Sequence[tuple[int, int]]
    gaps: frozenset[int]
    changed: frozenset[int]
    names: frozenset[str]

    def touched(self) -> set[int] | None:
        """Return the declarations whose code the edit may change; None if it may change any."""
        reached = self.needs.reaching(self.names) | self.changed
        everywhere = any(self.needs.everywhere(at) for at in reached)
        return None if everywhere else reached

    def only_in(self, stay: set[int]) -> set[int]:
        """Return the lines that belong to no declaration of ``stay``."""
        every, kept = set[int](), set(self.gaps)
        for at, (first, end) in enumerate(self.lines):
            (kept if at in stay else every).update(range(first, end))
        return every - kept

    def called(self, stay: set[int], names: frozenset[str]) -> Iterator[int]:
        """Yield the line with ``__device__`` of each function in ``stay`` that others use.

        Args:
            stay: indices of declarations.
            names: names of the functions that count.
        """
        others = (item.said for at, item in enumerate(self.needs.items) if at not in stay)
        said = names & frozenset(chain.from_iterable(others))
        for at in stay:
            item = self.needs.items[at]
            found = _FUNCTION.match(item.text) if item.keys & said else None
            if found:
                yield self.lines[at][0] + found["before"].count("\n")


@dataclass(frozen=True)
class _Taken:
    """The analysis of a variant.

    Attributes:
        edit: the comparison with the reference.
        places: line indices of its code in its text.
        touched: declarations whose code the edit may change.
        own: indices of the kernels that are not borrowed.
        uses: for each kernel, the names of all variables that it uses.
    """

    edit: _Edit
    places: Sequence[int]
    touched: set[int]
    own: set[int]
    uses: Sequence[frozenset[str]]


def _key(part: Phenotype) -> bytes:
    """Return a key of a part, which is the same in all variants."""
    lines, _ = code_lines(part.text, part.ident)
    said = "\n".join([*lines, *sorted(part.lent), "", *sorted(part.overloads)])
    return xxhash.xxh3_128_digest(said.encode("utf-8", "surrogateescape"))


def _edit(
    items: Sequence[Item],
    replaced: tuple[int, int],
    place: tuple[int, int],
    new: Sequence[Item],
    gaps: Iterable[int],
) -> _Edit | None:
    """Return the comparison for a variant that replaces some declarations by others.

    None if declarations that stay change their order, or if code that uses none of its names may
    need a removed declaration.

    Args:
        items: the reference's declarations.
        replaced: index of the first replaced declaration, and the index after the last.
        place: the line where the replacement begins, and the number of added lines.
        new: the replacement.
        gaps: lines of the reference with something else than declarations.
    """
    (first, last), (begin, more) = replaced, place
    old = items[first:last]
    before, now = Counter(item.text for item in old), Counter(item.text for item in new)
    same = [item.text for item in new if item.text in before]
    if same != [item.text for item in old if item.text in now]:
        return None
    others = [item for item in old if item.text not in now]
    changed = [at for at, item in enumerate(new, first) if item.text not in before]
    names = chain.from_iterable(i.keys for i in [*others, *(new[at - first] for at in changed)])
    declared = declared_by(items)
    lines = [(item.first, item.last + 1) for item in items[:first]]
    lines += [(begin + item.first, begin + item.last + 1) for item in new]
    lines += [(item.first + more, item.last + more + 1) for item in items[last:]]
    needs = Needs([*items[:first], *new, *items[last:]], declared)
    if any(needs.free(item) for item in others):
        return None
    moved = frozenset(line if line < begin else line + more for line in gaps)
    return _Edit(needs, lines, moved, frozenset(changed), frozenset(names))


def _known(item: Item) -> bool:
    """Tell whether an item only gives another name to a kernel or variable."""
    return any(key.startswith((KERNEL, SYMBOL)) for key in item.keys)


def _last(name: str) -> str:
    """Return the identifier of a kernel or variable, without namespaces, arguments and types."""
    plain = overload(name)[0].partition("<")[0]
    return plain.rpartition("::")[2].strip()
