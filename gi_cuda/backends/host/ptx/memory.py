"""Translate PTX instructions for memory, and for operations that threads execute together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from gi_cuda.backends.host.ptx.instruction import Instruction, Unknown


def _loaded(one: Instruction) -> str:
    parts = one.vector(0)
    base = _aligned(one, 1, len(parts))
    volatile = "volatile " if "volatile" in one.words else ""
    place = f"reinterpret_cast<const {volatile}{one.kind} *>({base})"
    loads = [f"const {one.kind} gi_loaded_{at} = {place}[{at}];" for at in range(len(parts))]
    sets = [f"gi_ptx_set({one.written(part)}, gi_loaded_{at});" for at, part in enumerate(parts)]
    return f"{{ {' '.join([*loads, *sets])} }}"


def _stored(one: Instruction) -> str:
    volatile = "volatile " if "volatile" in one.words else ""
    parts = one.vector(1)
    place = f"reinterpret_cast<{volatile}{one.kind} *>({_aligned(one, 0, len(parts))})"
    return " ".join(f"{place}[{at}] = {one.taken(part)};" for at, part in enumerate(parts))


def _aligned(one: Instruction, number: int, parts: int) -> str:
    """Return an address, with a check that it is a multiple of all bytes that are moved at once."""
    return f"gi_ptx_aligned({one.address(number, one.space)}, {parts} * sizeof({one.kind}))"


def _nothing(_: Instruction) -> str:
    return ""


def _fence(one: Instruction) -> str:
    return "__threadfence_block();" if "cta" in one.words else "__threadfence();"


def _barrier(one: Instruction) -> str:
    words = [word for word in one.words if word not in ("cta", "aligned")]
    if words == ["warp", "sync"]:
        return f"__syncwarp({one.read(0, 'uint32_t')});"
    if words == ["sync"] and one.operands in (("0",), ()):
        return "__syncthreads();"
    raise Unknown(one.text)


_ATOMIC: Final = {
    **{"add": "Add", "exch": "Exch", "min": "Min", "max": "Max", "and": "And", "or": "Or"},
    **{"xor": "Xor", "inc": "Inc", "dec": "Dec", "cas": "CAS"},
}
_ATOMIC_TYPES: Final = {
    **{"b32": "unsigned", "u32": "unsigned", "s32": "int", "f32": "float", "f64": "double"},
    **{"b64": "unsigned long long", "u64": "unsigned long long", "s64": "long long"},
}


def _atomic(one: Instruction) -> str:
    what = next((word for word in one.words if word in _ATOMIC), None)
    kind = _ATOMIC_TYPES.get(one.words[-1])
    if what is None or kind is None:
        raise Unknown(one.text)
    first = 0 if one.name == "red" else 1
    if kind == "long long" and what in ("add", "exch", "cas"):
        kind = "unsigned long long"
    values = [one.read(at, kind) for at in range(first + 1, first + (3 if what == "cas" else 2))]
    place = f"reinterpret_cast<{kind} *>({one.address(first, one.space)})"
    call = f"atomic{_ATOMIC[what]}({', '.join([place, *values])})"
    return f"{call};" if one.name == "red" else one.gives(call)


def _shuffled(one: Instruction) -> str:
    how = next((word for word in one.words if word in ("up", "down", "bfly", "idx")), None)
    if how is None or "sync" not in one.words or len(one.operands) != 5:
        raise Unknown(one.text)
    to, _, inside = one.operands[0].partition("|")
    values = ", ".join(one.read(at, "uint32_t") for at in (1, 2, 3, 4))
    call = f"gi_ptx_shuffle_{how}({values}, &gi_inside)"
    done = f"bool gi_inside; gi_ptx_set({one.written(to.strip())}, {call});"
    if inside:
        done += f" gi_ptx_set({one.written(inside.strip())}, gi_inside);"
    return f"{{ {done} }}"


def _voted(one: Instruction) -> str:
    how = next((word for word in one.words if word in ("ballot", "any", "all")), None)
    if how is None:
        raise Unknown(one.text)
    mask = f"{one.read(2, 'uint32_t')}, " if "sync" in one.words else ""
    suffix = "_sync" if "sync" in one.words else ""
    kind = "" if how == "ballot" else "bool"
    return one.gives(f"{kind}(__{how}{suffix}({mask}{one.read(1, 'bool')}))")


def _reduced(one: Instruction) -> str:
    how = next((word for word in one.words if word in _ATOMIC), "")
    return one.gives(f"__reduce_{how}_sync({one.read(2, 'uint32_t')}, {one.read(1)})")


def _matched(one: Instruction) -> str:
    if "any" not in one.words:
        raise Unknown(one.text)
    return one.gives(f"__match_any_sync({one.read(2, 'uint32_t')}, {one.read(1)})")


def _address_of(one: Instruction) -> str:
    kind = one.kind
    if "to" in one.words and one.space:
        return one.gives(f"{kind}(gi_ptx_to_shared({one.read(1)}))")
    if one.space:
        return one.gives(f"{kind}(gi_ptx_shared({one.read(1)}))")
    return one.gives(one.read(1))


def _copied(one: Instruction) -> str:
    """Translate asynchronous copies, which are done at once."""
    if "bulk" in one.words or "mbarrier" in one.words:
        raise Unknown(one.text)
    if "async" not in one.words:
        raise Unknown(one.text)
    if not any(word.startswith("shared") for word in one.words):
        return ""  # commit_group, wait_group, wait_all
    count = one.read(2, "uint32_t")
    given = one.read(3, "uint32_t") if len(one.operands) > 3 else count
    return f"gi_ptx_copy({one.address(0, 'shared')}, {one.address(1, '')}, {count}, {given});"


MEMORY: Final[Mapping[str, Callable[[Instruction], str]]] = {
    **dict.fromkeys(("ld", "ldu"), _loaded),
    "st": _stored,
    **dict.fromkeys(("membar", "fence"), _fence),
    **dict.fromkeys(("prefetch", "prefetchu", "discard", "applypriority", "pragma"), _nothing),
    **dict.fromkeys(("bar", "barrier"), _barrier),
    **dict.fromkeys(("atom", "red"), _atomic),
    "shfl": _shuffled,
    "vote": _voted,
    "match": _matched,
    "redux": _reduced,
    "activemask": lambda one: one.gives("__activemask()"),
    "cvta": _address_of,
    "cp": _copied,
    "nanosleep": lambda one: f"__nanosleep({one.read(0, 'uint32_t')});",
    "trap": lambda one: "__trap();",
    "brkpt": lambda one: "__brkpt();",
}
"""Translators by instruction name."""
