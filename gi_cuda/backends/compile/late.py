"""Functions that a template says before they are declared.

Where the arguments are of a type of a header, C++ looks for such a function in the type's namespace
once the template is used. In a batch the function is in its variant's namespace and the type is
not, so it would not be found. A declaration in front of the template helps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gi_cuda.backends.compile.declarations import WORD
from gi_cuda.backends.compile.items import Item, read_items


def says_late(source: str) -> bool:
    """Whether a template of a source says a function that is declared behind it."""
    read = read_items(source.split("\n"))
    return read is not None and any(declared_late(read.items))


def declared_late(items: Sequence[Item]) -> Iterator[tuple[int, str]]:
    """Declarations that are to stand in front of templates, each with the template's first line.

    A declaration that needs what comes later itself is none of them.

    Args:
        items: in their order.
    """
    first: dict[str, int] = {}
    for at, item in enumerate(items):
        # With launch bounds, all that a kernel says may count as its names.
        for key in item.keys if not item.kernel else ():
            first.setdefault(key, at)
    for at, item in enumerate(items):
        late = [key for key in item.keys if first.get(key) == at]
        if item.scope or item.kernel or not (item.function and late and _alone(items, at)):
            continue
        before = [k for k, one in enumerate(items[:at]) if one.said & item.keys]
        user, head = next((k for k in before if _is_template(items[k])), None), _head(item)
        if user is not None and head:
            needed = set(WORD.findall(head)) - item.keys
            if all(first.get(word, -1) < user for word in needed):
                yield items[user].first, f"{head};"


def _is_template(item: Item) -> bool:
    return item.text.lstrip().startswith("template")


def _alone(items: Sequence[Item], at: int) -> bool:
    """Whether no other declaration is on an item's lines."""
    item = items[at]
    return all(one.last < item.first or one.first > item.last for one in items if one is not item)


def _head(item: Item) -> str:
    """What declares a function, in one line; "" where that cannot be said twice."""
    head = item.text.partition("{")[0].strip().rstrip(";")
    once = "=" in head or {"auto", "constexpr", "consteval"} & {*WORD.findall(head)}
    return "" if once else " ".join(head.split())
