"""Which kernels of a variant are the reference's, and the variant without them.

An edit touches one kernel of a source, or a function that some of them call. The others need not be
compiled again: they are in the reference's binary, and can be launched from there. What a variant
leaves to the reference like this, it is lent.

Two copies of a kernel must not matter. So those that reach a variable which no launch plan restores
are never lent, and those that share any variable with one that is compiled are compiled with it.
Where something cannot be told, nothing is lent.
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

from gi_cuda.backends.compile.declarations import WORD
from gi_cuda.backends.compile.items import Item, Items, Kind, code_lines, read_items
from gi_cuda.backends.compile.needs import Needs, declared_by
from gi_cuda.backends.compile.reread import changed_lines, read_anew, read_beside
from gi_cuda.backends.protocol.variants import Phenotype
from gi_cuda.spec.kernel_names import identifier, overload

KERNEL, SYMBOL = "gi_kernel_", "gi_symbol_"
"""How what follows a variant's text calls a kernel and a variable, before their numbers."""

_DEVICE = "__device__"
_FUNCTION = re.compile(rf"(?P<before>[^(){{}};=]*?)\b{_DEVICE}\b[^(){{}};=]*\(")


@lru_cache(maxsize=4)
def lender(
    reference: Phenotype, kernels: tuple[str, ...], symbols: tuple[str, ...]
) -> Lender | None:
    """What a reference can lend its variants; None where that cannot be told.

    Args:
        kernels: names of the kernels that are launched, as C++ has them.
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
    """The reference, taken apart.

    Attributes:
        options: the compiler's, besides those that all variants have.
        lines: its code.
        read: the declarations in it.
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
        """What a variant does not leave to the reference, in parts: each has kernels that share no
        variable with those of others, and what they need. None where that cannot be told.

        What a part leaves out, to the reference or to other parts, is in its ``lent``. It has the
        same key in all variants that have it.

        Args:
            mark: what comes before ``__device__`` of functions that are called by what is left out,
                too.
            marked: names of those of them for which that is.
        """
        taken = self._taken(phenotype)
        if taken is None or not taken.own:
            return ()
        said, found = frozenset(marked), list[Phenotype]()
        # What no kernel needs goes with the first one, so that a compiler sees all that changed.
        left = taken.touched - taken.edit.needs.reached(
            set[str]().union(*(self._roots(at) for at in taken.own))
        )
        for some in self._apart(taken):
            one = self._with(phenotype, taken, some, () if found else left, mark, said)
            found.append(replace(one, key=_key(one)))
        return found

    def _taken(self, phenotype: Phenotype) -> _Taken | None:
        """What a variant changes; None where that cannot be told."""
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
        """The kernels that a variant has itself, those together that share a variable."""
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
        """A variant with some of its kernels, what they need, and some declarations besides."""
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
        """The kernels that are compiled: those that the edit reaches, those that keep something
        from run to run, and all that share a variable with these."""
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
        """For each kernel the names of all variables that it reaches."""
        needs = Needs(self.read.items)
        return tuple(self._uses(needs, at) for at in range(len(self.kernels)))

    def _uses(self, needs: Needs, at: int) -> frozenset[str]:
        reached = [needs.items[number] for number in needs.reached(self._roots(at))]
        kept = [item.keys for item in reached if item.kind is not Kind.PLAIN and not _known(item)]
        return frozenset(chain.from_iterable(kept))

    @cached_property
    def _unrestored(self) -> frozenset[str]:
        """Names of variables that keep from run to run what kernels write there."""
        restored = {_last(symbol) for symbol in self.symbols}
        kept = [one.keys for one in self.read.items if one.kind is Kind.VARIABLE]
        return frozenset(chain.from_iterable(keys for keys in kept if not keys & restored))

    def _roots(self, at: int) -> set[str]:
        """The names that lead to a kernel."""
        return {*WORD.findall(self.kernels[at]), f"{KERNEL}{at}"}

    def _compared(self, lines: Sequence[str]) -> _Edit | None:
        """What a variant changes; None where that is not certain to be in its declarations."""
        items, more = self.read.items, len(lines) - len(self.lines)
        begin, end = changed_lines(self.lines, lines)
        first = bisect_left(items, begin, key=lambda item: item.last)
        last = max(first, bisect_left(items, end, key=lambda item: item.first))
        # Lines that belong to several declarations are changed for all of them.
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
    """A variant's declarations, and which of them are not the reference's.

    Attributes:
        needs: the declarations, and who needs whom.
        lines: of each of them the first one and the one behind the last.
        gaps: lines with something besides declarations.
        changed: the declarations that the reference does not have.
        names: all names that lead to these, and to what the reference alone has.
    """

    needs: Needs
    lines: Sequence[tuple[int, int]]
    gaps: frozenset[int]
    changed: frozenset[int]
    names: frozenset[str]

    def touched(self) -> set[int] | None:
        """The declarations whose code the edit may change; None where any may be."""
        reached = self.needs.reaching(self.names) | self.changed
        everywhere = any(self.needs.everywhere(at) for at in reached)
        return None if everywhere else reached

    def only_in(self, stay: set[int]) -> set[int]:
        """The lines of all declarations but these."""
        every, kept = set[int](), set(self.gaps)
        for at, (first, end) in enumerate(self.lines):
            (kept if at in stay else every).update(range(first, end))
        return every - kept

    def called(self, stay: set[int], names: frozenset[str]) -> Iterator[int]:
        """Of functions among these that have one of these names, and that the other declarations
        say, the lines with their ``__device__``."""
        others = (item.said for at, item in enumerate(self.needs.items) if at not in stay)
        said = names & frozenset(chain.from_iterable(others))
        for at in stay:
            item = self.needs.items[at]
            found = _FUNCTION.match(item.text) if item.keys & said else None
            if found:
                yield self.lines[at][0] + found["before"].count("\n")


@dataclass(frozen=True)
class _Taken:
    """A variant, taken apart.

    Attributes:
        edit: what it changes.
        places: of its lines of code, in its text.
        touched: the declarations whose code that may change.
        own: the kernels that are not the reference's.
        uses: for each kernel the names of all variables that it reaches.
    """

    edit: _Edit
    places: Sequence[int]
    touched: set[int]
    own: set[int]
    uses: Sequence[frozenset[str]]


def _key(part: Phenotype) -> bytes:
    """The same for all variants that have a part."""
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
    """What is changed where some declarations are replaced by others.

    Args:
        items: the reference's.
        replaced: the first one that is replaced, and the one behind the last.
        place: the line where what comes in their place begins, and how many more lines there are.
        new: what comes in their place.
        gaps: lines of the reference with something besides declarations.
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
    """Whether it only makes something else known."""
    return any(key.startswith((KERNEL, SYMBOL)) for key in item.keys)


def _last(name: str) -> str:
    """The identifier of a kernel or variable, without namespaces, arguments and types."""
    plain = overload(name)[0].partition("<")[0]
    return plain.rpartition("::")[2].strip()
