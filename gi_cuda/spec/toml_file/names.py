"""Check the names that the tables of ``target.toml`` declare and use."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from gi_cuda.spec.expression import Expression
from gi_cuda.spec.launching.images import Surface, Texture
from gi_cuda.spec.launching.passed import Struct
from gi_cuda.spec.parameters import Parameter
from gi_cuda.spec.target import Buffer, BufferRole, KernelStep, LaunchSequence, Scalar, Tables
from gi_cuda.spec.toml_file.locate import Key, KeyLines
from gi_cuda.spec.toml_file.table import did_you_mean

PARAMETER, SCALAR = "parameter", "scalar"
OTHER_PARAMETER = "parameter with values that are not integers"
OTHER_SCALAR = "scalar that is not an integer"
REDRAWN_SCALAR = "redrawn scalar"
TEXTURE, SURFACE, STRUCT = "texture", "surface", "struct"

_PASSED = "buffer, texture, surface, scalar or struct"

_ADDRESS = 8
"""Size of a pointer or a texture object, bytes."""


@dataclass(frozen=True, slots=True)
class NameResolver:
    """A checker of the names that tables and their expressions use.

    Attributes:
        places: lines of keys, for messages.
        kinds: kind of each declared name, e.g. ``"scalar"``.
    """

    places: KeyLines
    kinds: Mapping[str, str]

    def of(self, *kinds: str) -> list[str]:
        """Return the declared names of the given kinds."""
        return [name for name, kind in self.kinds.items() if kind in kinds]

    def check(self, name: str, allowed: Collection[str], key: Key, what: str) -> None:
        """Raise UserError if a name is not allowed.

        Args:
            name: the name.
            allowed: allowed names.
            key: key that uses the name.
            what: kind of name that is expected, for the message.
        """
        if name not in allowed:
            raise self.places.error(
                key, f"there is no {what} {name!r}", did_you_mean(name, list(allowed))
            )

    def check_expressions(
        self, expressions: Collection[Expression], key: Key, allowed: Collection[str]
    ) -> None:
        """Raise UserError if an expression at `key` uses a name that is not allowed."""
        for expression in expressions:
            for name in sorted(expression.names - set(allowed)):
                kind = self.kinds.get(name)
                raise self.places.error(
                    key,
                    f"{name!r} is a {kind} and cannot be used here"
                    if kind
                    else f"there is no {name!r} to use here",
                    did_you_mean(name, list(allowed)),
                )


def check_names(tables: Tables, kernels: Sequence[str], places: KeyLines) -> NameResolver:
    """Check that declared names are distinct, and that used names exist and fit their place.

    Raises:
        UserError: a name is wrong, a buffer has no size, or a constraint excludes the default
            configuration.
    """
    _check_distinct(tables, places)
    names = NameResolver(places, _kinds_of_names(tables))
    _check_constraints(tables, names)
    _check_buffers(tables.buffers, names)
    _check_scalars(tables.scalars, names)
    _check_sizes("texture", tables.textures, names)
    _check_sizes("surface", tables.surfaces, names)
    buffers = {buffer.name: buffer for buffer in tables.buffers}
    _check_structs(tables, names)
    for index, sequence in enumerate(tables.launches):
        _check_launch(sequence, ("launch", index), names, buffers, kernels)
    return names


def _kinds_of_names(tables: Tables) -> dict[str, str]:
    """Return the kind of each declared name."""
    kinds = {
        parameter.name: PARAMETER
        if all(type(value) is int for value in parameter.values)
        else OTHER_PARAMETER
        for parameter in tables.parameters
    }
    for scalar in tables.scalars:
        whole = scalar.dtype.kind in "iu" and scalar.count == 1
        kind = SCALAR if whole else OTHER_SCALAR
        kinds[scalar.name] = REDRAWN_SCALAR if scalar.redraw else kind
    kinds |= {buffer.name: f"{buffer.role} buffer" for buffer in tables.buffers}
    kinds |= {texture.name: TEXTURE for texture in tables.textures}
    kinds |= {surface.name: SURFACE for surface in tables.surfaces}
    kinds |= {struct.name: STRUCT for struct in tables.structs}
    return kinds


def _check_distinct(tables: Tables, places: KeyLines) -> None:
    """Check that names are distinct.

    Parameters, buffers, textures, surfaces, scalars, structs and counters share one namespace;
    cases have their own. A macro of ``[build]`` may also be a parameter, with the same default.
    """
    parameters = {p.name for p in tables.parameters if p.kind.preprocessed}
    named: list[tuple[Key, str]] = [
        (("build", "define", name), name) for name in tables.build.define if name not in parameters
    ]
    groups: dict[str, tuple[Parameter | Scalar | Buffer | Texture | Surface | Struct, ...]] = {
        "parameter": tables.parameters,
        "scalar": tables.scalars,
        "buffer": tables.buffers,
        "texture": tables.textures,
        "surface": tables.surfaces,
        "struct": tables.structs,
    }
    for group, items in groups.items():
        named += [((group, index, "name"), item.name) for index, item in enumerate(items)]
    named += [
        (("launch", index, "counter"), launch.counter)
        for index, launch in enumerate(tables.launches)
        if launch.counter is not None
    ]
    cases: list[tuple[Key, str]] = [
        (("case", index, "name"), case.name) for index, case in enumerate(tables.cases)
    ]
    for names in (named, cases):
        seen: dict[str, Key] = {}
        for key, name in names:
            counters = key[-1] == seen.get(name, ("",))[-1] == "counter"
            if name in seen and not counters:
                raise places.error(
                    key,
                    f"the name {name!r} is taken",
                    f"It stands in line {places.line(seen[name])} already.",
                )
            seen[name] = key


def _check_constraints(tables: Tables, names: NameResolver) -> None:
    defaults = {parameter.name: parameter.default for parameter in tables.parameters}
    for index, item in enumerate(tables.constraints):
        key: Key = ("constraint", index, "that")
        names.check_expressions([item.that], key, names.of(PARAMETER))
        if not item.allows(defaults):
            values = ", ".join(f"{name} = {defaults[name]}" for name in sorted(item.that.names))
            raise names.places.error(
                key,
                f"the constraint `{item.that.text}` excludes the default ({values})",
                "The default is the reference: change it, or the constraint.",
            )


def _check_buffers(buffers: Iterable[Buffer], names: NameResolver) -> None:
    for index, item in enumerate(buffers):
        scratch = item.role is BufferRole.SCRATCH
        # Inputs and outputs are the same for every variant; only scratch may depend on parameters.
        known = names.of(SCALAR) + (names.of(PARAMETER) if scratch else [])
        if item.begin is not None:
            names.check_expressions([item.begin], ("buffer", index, "begin"), known)
        if item.begin is not None and item.symbol is not None:
            raise names.places.error(
                ("buffer", index, "begin"),
                "the buffer is a variable, which no pointer is passed for",
                "Leave `begin` out.",
            )
        if item.size is not None:
            names.check_expressions([item.size], ("buffer", index, "size"), known)
        elif not item.role.given:
            raise names.places.error(
                ("buffer", index),
                f"{'a' if scratch else 'an'} {item.role} buffer needs a size",
                'The number of elements, e.g. size = "n_reads * 2".',
            )
        _check_addresses(item, index, {one.name: one for one in buffers}, names)
    if not any(buffer.role.judged for buffer in buffers):
        raise names.places.error(
            ("buffer", 0),
            "no buffer is an output",
            'What the kernel computes has role = "output" or "inout".',
        )


def _check_addresses(
    item: Buffer, index: int, buffers: Mapping[str, Buffer], names: NameResolver
) -> None:
    """Check the ``addresses`` of a buffer: its pointers lead to other buffers, set by the case."""
    key: Key = ("buffer", index, "addresses")
    if item.addresses and not item.role.given:
        raise names.places.error(
            key,
            f"the buffer {item.name!r} cannot hold addresses",
            'Only a buffer of role "input" or "inout" can: nobody but the case sets them.',
        )
    for name, at in item.addresses.items():
        pointed = [one.name for one in buffers.values() if one.symbol is None]
        names.check(name, pointed, key, "buffer")
        scratch = buffers[name].role is BufferRole.SCRATCH
        size = item.item or item.dtype.itemsize
        if scratch or at + _ADDRESS > size:
            raise names.places.error(
                key,
                f"the address of {name!r} ends behind an item of {item.name!r}"
                if not scratch
                else f"nothing can point into the scratch buffer {name!r}",
                f"It begins at byte {at} of {size} and has {_ADDRESS}."
                if not scratch
                else "Its size follows parameters, and so it lies elsewhere in each variant.",
            )


def _check_scalars(scalars: Iterable[Scalar], names: NameResolver) -> None:
    known = [*names.of(PARAMETER), *(s.name for s in scalars if s.value is None)]
    known = [name for name in known if names.kinds[name] in (PARAMETER, SCALAR)]
    for index, item in enumerate(scalars):
        if item.value is not None:
            names.check_expressions([item.value], ("scalar", index, "value"), known)
            known += [item.name] if names.kinds[item.name] == SCALAR else []


def _check_sizes(group: str, items: Sequence[Texture | Surface], names: NameResolver) -> None:
    """Check that sizes and layers of textures or surfaces use scalars only, not parameters."""
    known = names.of(SCALAR)
    for index, item in enumerate(items):
        names.check_expressions(item.size, (group, index, "size"), known)
        if item.layers is not None:
            names.check_expressions([item.layers], (group, index, "layers"), known)


def _check_structs(tables: Tables, names: NameResolver) -> None:
    known = [buffer.name for buffer in tables.buffers if buffer.symbol is None]
    known += names.of(TEXTURE, SURFACE, SCALAR, OTHER_SCALAR, REDRAWN_SCALAR)
    sizes = {one.name: one.count * one.dtype.itemsize for one in tables.scalars}
    for index, item in enumerate(tables.structs):
        key: Key = ("struct", index, "members")
        for name, at in item.members.items():
            names.check(name, known, key, "buffer, texture, surface or scalar")
            if at + sizes.get(name, _ADDRESS) > item.size:
                raise names.places.error(
                    key,
                    f"the member {name!r} ends behind the struct {item.name!r}",
                    f"It begins at byte {at} of {item.size} and has {sizes.get(name, _ADDRESS)}.",
                )


def _check_launch(
    sequence: LaunchSequence,
    key: Key,
    names: NameResolver,
    buffers: Mapping[str, Buffer],
    kernels: Sequence[str],
) -> None:
    outer = names.of(PARAMETER, SCALAR)
    counter = [sequence.counter] if sequence.counter else []
    passed = [name for name, buffer in buffers.items() if buffer.symbol is None]
    passed += names.of(TEXTURE, SURFACE, SCALAR, OTHER_SCALAR, REDRAWN_SCALAR, STRUCT)
    group = ((*key, "step") in names.places.lines) or len(sequence.steps) > 1
    for index, step in enumerate(sequence.steps):
        at: Key = (*key, "step", index) if group else key
        names.check(step.kernel, kernels, (*at, "kernel"), "kernel")
        for name in step.args:
            names.check(name, passed + counter, (*at, "args"), _PASSED)
        _check_geometry(step, at, names, outer + counter)
    for first, second in sequence.swap:
        _check_swap(first, second, buffers, names, (*key, "swap"))
    names.check_expressions([sequence.repeat], (*key, "repeat"), outer)


def _check_geometry(step: KernelStep, key: Key, names: NameResolver, known: list[str]) -> None:
    names.check_expressions(step.grid, (*key, "grid"), known)
    names.check_expressions(step.block, (*key, "block"), known)
    names.check_expressions([step.shared], (*key, "shared"), known)


def _check_swap(
    first: str, second: str, buffers: Mapping[str, Buffer], names: NameResolver, key: Key
) -> None:
    for name in (first, second):
        names.check(name, buffers, key, "buffer")
        if buffers[name].role is BufferRole.INPUT or buffers[name].symbol is not None:
            raise names.places.error(
                key,
                f"the buffer {name!r} cannot be swapped",
                "Inputs stay as they are, and symbols where they are.",
            )
    a, b = buffers[first], buffers[second]
    if a.type != b.type or a.size != b.size or a.size is None:
        raise names.places.error(
            key,
            f"the buffers {first!r} and {second!r} differ in type or size",
            "Buffers that are swapped are declared with the same type and the same size.",
        )
