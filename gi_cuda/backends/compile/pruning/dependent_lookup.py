"""Find functions that a template calls but that are declared after it.

If an argument's type is from a header, C++ looks for the function in the type's namespace when the
template is instantiated. In a batch, the function is in its variant's namespace and the type is
not, so the function would not be found. A declaration before the template helps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gi_cuda.backends.compile.pruning.declarations import WORD
from gi_cuda.backends.compile.pruning.items import Item, read_items


def says_late(source: str) -> bool:
    """Tell whether a template of a source calls a function that is declared after it."""
    read = read_items(source.split("\n"))
    return read is not None and any(declared_late(read.items))


def declared_late(items: Sequence[Item]) -> Iterator[tuple[int, str]]:
    """Yield declarations to insert before templates, each with the template's first line.

    Declarations that need names which are declared after the template are left out.

    Args:
        items: the text's declarations in order.
    """
    first: dict[str, int] = {}
    for at, item in enumerate(items):
        # With launch bounds, all names that a kernel uses may count as its keys.
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
    """Tell whether no other declaration is on an item's lines."""
    item = items[at]
    return all(one.last < item.first or one.first > item.last for one in items if one is not item)


def _head(item: Item) -> str:
    """Return a function's declaration in one line; "" if it must not be repeated."""
    head = item.text.partition("{")[0].strip().rstrip(";")
    once = "=" in head or {"auto", "constexpr", "consteval"} & {*WORD.findall(head)}
    return "" if once else " ".join(head.split())
