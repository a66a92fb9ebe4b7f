"""The types of rules: one row of the table :class:`RuleType` defines each type.

The front ends' readers of statements, expressions or instructions find the rules of each type.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum


class Operation(StrEnum):
    """An operation of an edit on a rule (Langdon et al. 2015, section 2.3)."""

    DELETE = "delete"
    REPLACE = "replace"
    INSERT = "insert"


class Join(Enum):
    """The syntax that joins donors inserted before a rule with the rule's own text."""

    NEVER = "nothing can be inserted"
    STATEMENTS = "a b"
    CONJUNCTION = "(a) && (b)"
    SEQUENCE = "a, b"
    OPERAND = "((a) && (b))"


@dataclass(frozen=True, slots=True)
class Kind:
    """The properties of a rule type.

    Attributes:
        words: noun for a rule of the type, in messages.
        edits: the smallest edit set that contains the type: ``paper``, ``full``, ``numbers``,
            ``loops``, ``transforms`` or ``instructions``.
        join: syntax that joins inserted donors with the rule's own text.
        deleted: text that replaces a deleted rule; None if rules of the type cannot be deleted.
        condition: True if the type is a condition. If a grammar has types beyond the paper's,
            places of conditions take conditions of any type.
        valued: True if rules are expressions, which only go to places that take their C++ type.
        tight: True if a rule may be part of a larger expression, so that a donor needs parentheses.
        specials: special donors, which stand for no place in the source: their texts by name; for
            transformations, a sentence for users in place of the text. If not empty, the type has
            no other donors.
        added: phrase for users that says where the first special donor of its kind appears.
        stepped: True if the donors are the steps (see :mod:`gi_cuda.grammar.steps`) of the source's
            own numbers; each place takes the steps of its own number.
        gap: True if rules have no text: statements can be inserted there, and nothing else.
        transforms: True if the donors are the choices of a transformation. Each place has only the
            choices that its transformation found for it, or that patches offer for it.
    """

    words: str
    edits: str = "paper"
    join: Join = Join.NEVER
    deleted: str | None = ""
    condition: bool = False
    valued: bool = False
    tight: bool = False
    specials: Mapping[str, str] = field(default_factory=dict)
    added: str = ""
    stepped: bool = False
    gap: bool = False
    transforms: bool = False


def _condition(words: str, edits: str, deleted: str, join: Join = Join.CONJUNCTION) -> Kind:
    return Kind(words, edits, join, deleted, condition=True, tight=join is Join.OPERAND)


def _value(words: str, *, tight: bool) -> Kind:
    return Kind(words, "full", deleted=None, valued=True, tight=tight)


def _operand(words: str) -> Kind:
    return Kind(words, "instructions", deleted=None)


def _transformation(words: str, choices: Mapping[str, str]) -> Kind:
    return Kind(words, "transforms", deleted=None, specials=choices, transforms=True)


_UNROLL = {f"pragma_K{n}": f"#pragma unroll {n}" for n in range(1, 12)}
_BOUNDS = {f"launchbounds_K{n}": f"__launch_bounds__({n})" for n in (64, 128, 256, 512, 1024)}
_BLOCKS = {
    f"block_K{shape.replace(' ', '')}": f"launches {{function}} with blocks of {shape} threads"
    for shape in (
        *("32", "64", "128", "256", "512", "1024", "8 x 8"),
        *("16 x 8", "16 x 16", "32 x 1", "32 x 4", "32 x 8", "32 x 16", "64 x 2", "64 x 4"),
        *("128 x 1", "128 x 2", "256 x 1", "32 x 2 x 2", "32 x 4 x 1", "32 x 8 x 1"),
        *("64 x 2 x 2", "64 x 4 x 1", "128 x 1 x 1"),
    )
}
_GRIDS = {
    f"grid_K{count}{axis}": f"launches {{function}} with {words} the blocks along {axis or 'x'}"
    for axis in ("", "y")
    for count, words in (
        *(("1of4", "a quarter of"), ("1of2", "half of")),
        *((n, f"{n} times") for n in (2, 4, 8, 16, 64)),
    )
}
_ITEMS = {
    f"coarsen_K{count}{axis}": f"each block of {{function}} does the work of {count} along "
    + (axis or "x")
    for axis in ("", "y", "z")
    for count in (2, 4, 8)
}
_JAMMED = {
    f"jam_K{count}{axis}": f"each thread of {{function}} has {count} items along {axis or 'x'}"
    ", which share its loops"
    for axis in ("", "y")
    for count in (2, 4, 8)
}
_MERGED = {
    f"merge_K{count}{axis}": f"each block of {{function}} does the work of {count} along "
    f"{axis or 'x'} between the same barriers"
    for axis in ("", "y")
    for count in (2, 4, 8)
}
_VECTORS = {
    f"vector_K{count}": f"{{function}} loads and stores {count} items at a time"
    for count in (2, 4, 8, 16)
}
_WIDE = {
    f"wide_K{count}": f"a loop of {{function}} handles {count} items in each turn, loaded together"
    for count in (2, 4, 8, 16)
}
_PACKED = {
    f"pack_K{count}": f"{{function}} accesses {count} neighbouring elements of an array at once"
    for count in (2, 4, 8, 16)
}

_LANES = {
    f"warp_K{count}{layout}": f"{count} threads of {{function}} share a row{words}"
    for layout, words in (("", ""), ("i", ", and neighbouring threads have neighbouring rows"))
    for count in (4, 8, 16, 32)
    if count < 32 or not layout
}
_PARTS = {
    f"split_K{count}": f"{count} blocks of {{function}} share a loop"
    for count in (2, 4, 8, 16, 32, 64)
}

_VERSIONS = {
    f"usual_K{which}": f"{{function}} has a version for the usual values of {words}"
    for which, words in (
        ("", "its parameters"),
        ("loops", "parameters that bound its loops or divide"),
    )
}


class RuleType(StrEnum):
    """A type of rules; its value is the prefix of the rules' names."""

    kind: Kind

    def __new__(cls, prefix: str, kind: Kind) -> RuleType:
        member = str.__new__(cls, prefix)
        member._value_ = prefix
        member.kind = kind
        return member

    STATEMENT = "_", Kind("a statement", join=Join.STATEMENTS)
    IF = "IF", _condition("the condition of an if", "paper", "0")
    ELSE = "ELSE", Kind("an else branch")
    FOR1 = "for1", Kind("the initialisation of a for loop", join=Join.SEQUENCE)
    FOR2 = "for2", _condition("the condition of a for loop", "paper", "")
    FOR3 = "for3", Kind("the step of a for loop", join=Join.SEQUENCE)
    PRAGMA = (
        "pragma",
        Kind(
            "the unrolling of a loop",
            specials={"pragma_K": "#pragma unroll", **_UNROLL},
            added="before a loop",
        ),
    )
    RESTRICT = (
        "optrestrict",
        Kind(
            "the __restrict__ of a function's pointers",
            specials={"optrestrict_K": "__restrict__"},
            added="to the pointers of {function}",
        ),
    )
    BOUNDS = (
        "launchbounds",
        Kind("the __launch_bounds__ of a kernel", specials=_BOUNDS, added="to {function}"),
    )
    WHILE = "WHILE", _condition("the condition of a while loop", "full", "0")
    COND = "COND", _condition("a part of a condition", "full", "0", Join.OPERAND)
    RHS = "rhs", _value("a right-hand side", tight=False)
    OP = "op", _value("an operand", tight=True)
    LOOP = "loop", Kind("a loop", "loops", Join.STATEMENTS, deleted=None, gap=True)
    SEAM = (
        "seam",
        Kind(
            "the seam of two loops of one header",
            "loops",
            specials={"seam_K": "} for (...) {"},
            added="with the header of the loop that it divides",
        ),
    )
    NUMBER = "num", Kind("a number", "numbers", deleted=None, stepped=True)
    BLOCK = "block", _transformation("the block of a kernel", _BLOCKS)
    GRID = "grid", _transformation("the number of blocks", _GRIDS)
    COARSEN = "coarsen", _transformation("the work of a block", _ITEMS)
    JAM = "jam", _transformation("the items of a thread that share its loops", _JAMMED)
    MERGE = "merge", _transformation("the blocks that share barriers", _MERGED)
    FAST = (
        "fast",
        _transformation(
            "a function with a fast intrinsic", {"fast_K": "uses a fast intrinsic in {function}"}
        ),
    )
    SCALAR = (
        "scalar",
        _transformation(
            "memory of a loop", {"scalar_K": "keeps memory of a loop of {function} in registers"}
        ),
    )
    POWER = (
        "power",
        _transformation(
            "powers in a function",
            {"power_K": "writes out powers and their reciprocals in {function}"},
        ),
    )
    SINGLE = (
        "single",
        _transformation(
            "double precision in a function", {"single_K": "computes in float in {function}"}
        ),
    )
    RECIP = (
        "recip",
        _transformation(
            "divisions by a number", {"recip_K": "multiplies by a reciprocal in {function}"}
        ),
    )
    ATOMIC = (
        "atomic",
        _transformation(
            "atomic additions of a loop",
            {"atomic_K": "adds up in registers what a loop of {function} adds to memory"},
        ),
    )
    AGGREGATE = (
        "aggregate",
        _transformation(
            "atomic additions of all threads",
            {"aggregate_K": "adds up over warps what {function} adds to one place"},
        ),
    )
    VECTOR = "vector", _transformation("the items of a thread", _VECTORS)
    WIDE = "wide", _transformation("the items of a loop's turn", _WIDE)
    PACK = "pack", _transformation("neighbouring elements", _PACKED)
    WARP = "warp", _transformation("the lanes of a row", _LANES)
    SPLIT = "split", _transformation("the blocks that share a loop", _PARTS)
    PAD = (
        "pad",
        _transformation(
            "an array in shared memory", {"pad_K": "pads an array in shared memory of {function}"}
        ),
    )
    CACHE = (
        "cache",
        _transformation(
            "the use of an array",
            {"cache_K": "uses an array of {function} with streaming hints for the cache"},
        ),
    )
    NARROW = (
        "narrow",
        _transformation(
            "64-bit divisions of a kernel",
            {"narrow_K": "{function} has a version that divides in 32 bits"},
        ),
    )
    USUAL = "usual", _transformation("the versions of a kernel", _VERSIONS)
    IDEA = "idea", Kind("a change that a patch makes", "transforms", deleted=None, transforms=True)
    JUMP = "jump", Kind("a jump", "instructions", Join.STATEMENTS, deleted=None)
    PRED = "pred", _operand("a predicate")
    B8 = "b8", _operand("an 8-bit register")
    B16 = "b16", _operand("a 16-bit register")
    B32 = "b32", _operand("a 32-bit register")
    B64 = "b64", _operand("a 64-bit register")
    F32 = "f32", _operand("a 32-bit floating-point register")
    F64 = "f64", _operand("a 64-bit floating-point register")
    PTR = "ptr", _operand("a pointer")
    IMM = "imm", _operand("a literal")

    @property
    def special(self) -> bool:
        """Tell whether all donors of the type are special donors."""
        return bool(self.kind.specials) or self.kind.stepped or self.kind.transforms


PAPER_TYPES = frozenset(kind for kind in RuleType if kind.kind.edits == "paper")
"""The nine rule types of the BarraCUDA paper."""

ALL_TYPES = PAPER_TYPES | {kind for kind in RuleType if kind.kind.edits == "full"}
"""The paper's types, and the types that let source edits express what IR-level evolution found."""

TRANSFORMS = frozenset(kind for kind in RuleType if kind.kind.transforms)
"""The types of transformations of whole kernels and loops."""

OPERAND_TYPES = frozenset(kind for kind in RuleType if kind.kind.edits == "instructions") - {
    RuleType.JUMP
}
"""Types of instruction operands: registers by their type, and literals.

Instructions are statements; before a jump something may be inserted.
"""

EDIT_SETS: dict[str, frozenset[RuleType]] = {
    "paper": PAPER_TYPES,
    "full": ALL_TYPES,
    "numbers": ALL_TYPES | {RuleType.NUMBER},
    "loops": ALL_TYPES | {RuleType.LOOP, RuleType.SEAM},
    "transforms": PAPER_TYPES | TRANSFORMS,
    "all": ALL_TYPES | {RuleType.NUMBER, RuleType.LOOP, RuleType.SEAM} | TRANSFORMS,
}
"""The sets of rule types that a user can choose, by name."""

LARGEST_SET = "all"
"""Name of the edit set with which edits that a user wrote are parsed."""


_CONDITIONS = tuple(kind for kind in RuleType if kind.kind.condition)


def donor_types(place: RuleType, among: Collection[RuleType]) -> tuple[RuleType, ...]:
    """Return the types of the donors that a place takes.

    A place takes donors of its own type; a gap takes statements. Conditions take conditions of any
    type, unless the grammar has only the paper's types and transformations: then each condition
    takes only its own type, as in the paper.

    Args:
        place: type of the place.
        among: types of the rules of the grammar.
    """
    if place.kind.condition and not (PAPER_TYPES | TRANSFORMS).issuperset(among):
        return _CONDITIONS
    return (RuleType.STATEMENT,) if place.kind.gap else (place,)


SPECIALS: dict[str, str] = {
    name: text for kind in RuleType for name, text in kind.kind.specials.items()
}
"""Texts of all special donors, by name: unrolling, restrict, launch bounds, transformations."""


def specials_of(types: Collection[RuleType]) -> dict[str, str]:
    """Return the special donors of a grammar: those of transformations only if in ``types``."""
    unwanted = {name for kind in TRANSFORMS.difference(types) for name in kind.kind.specials}
    return {name: text for name, text in SPECIALS.items() if name not in unwanted}


def type_of(name: str) -> RuleType | None:
    """Return the type of a rule or special donor by the prefix of its name; None if unknown."""
    prefix, found, _ = name.partition("_")
    return _BY_PREFIX.get(prefix or "_") if found else None


_BY_PREFIX: dict[str, RuleType] = {str(kind): kind for kind in RuleType}
