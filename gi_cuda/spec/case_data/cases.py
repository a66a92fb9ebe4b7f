"""Make the inputs of cases: call the target's data module and check its result."""

from __future__ import annotations

import numbers
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gi_cuda.errors import UserError
from gi_cuda.spec.case_data.modules import line_of, load_function, place_of
from gi_cuda.spec.expression import ExpressionError
from gi_cuda.spec.launching.images import Texture
from gi_cuda.spec.target import Buffer, Case, CaseRole, Scalar, Target, defaults
from gi_cuda.spec.toml_file.table import did_you_mean


@dataclass(frozen=True, slots=True)
class CaseData:
    """The inputs of one case. The arrays are read-only, one-dimensional, contiguous.

    Attributes:
        name, role: name and role of the case.
        buffers: contents of each input and inout buffer before a launch.
        scalars: scalars that the case gives, each of its declared type. The launch plan adds those
            that ``target.toml`` computes, because parameters may change them.
        extras: values that the data module returns for the oracle only.
    """

    name: str
    role: CaseRole
    buffers: Mapping[str, NDArray[Any]]
    scalars: Mapping[str, np.generic]
    extras: Mapping[str, Any]

    @property
    def integers(self) -> dict[str, int]:
        """Scalars that are a single integer."""
        return {name: int(one) for name, one in self.scalars.items() if one.dtype.kind in "iu"}

    @property
    def values(self) -> dict[str, Any]:
        """Buffers, scalars and extras by name, as oracles get them."""
        return {**self.buffers, **self.scalars, **self.extras}


def find_case(target: Target, name: str) -> Case:
    """Return the case called `name`.

    Raises:
        UserError: there is none.
    """
    for case in target.cases:
        if case.name == name:
            return case
    names = [case.name for case in target.cases]
    raise UserError(
        f"there is no case {name!r}", where=str(target.file), hint=did_you_mean(name, names)
    )


def cases_for(target: Target, backend: str, role: CaseRole) -> tuple[Case, ...]:
    """Return the cases of one role that a back end uses.

    Raises:
        UserError: there is none.
    """
    cases = tuple(case for case in target.cases if case.role is role and backend in case.backends)
    if not cases:
        raise UserError(
            f"no {role.value} case is for the backend {backend!r}",
            where=str(target.file),
            hint=f'Add {backend!r} to the `backends` of a case with role = "{role.value}".',
        )
    return cases


@dataclass(frozen=True, slots=True)
class Confirming:
    """Cases that confirm results that were found with other cases.

    Attributes:
        cases: the cases.
        words: description of the cases for messages.
    """

    cases: tuple[Case, ...]
    words: str


def confirm_cases(target: Target, backend: str) -> Confirming:
    """Return cases that neither the search nor the validation sees.

    These are the cases of role ``confirm``. If there are none, they are the train cases with
    another integer ``seed`` in their ``args``. If a train case has no seed, they are the held-out
    cases, which validation does see.

    Raises:
        UserError: there is no case for the back end.
    """
    own = tuple(
        case for case in target.cases if case.role is CaseRole.CONFIRM and backend in case.backends
    )
    if own:
        return Confirming(own, "the cases that confirm")
    seeds = [seed for case in target.cases if (seed := _seed(case)) is not None]
    train = cases_for(target, backend, CaseRole.TRAIN)
    if all(_seed(case) is not None for case in train):
        fresh = range(max(seeds) + 1, max(seeds) + 1 + len(train))
        reseeded = tuple(
            replace(
                case,
                name=f"{case.name}-seed-{seed}",
                role=CaseRole.CONFIRM,
                args={**case.args, "seed": seed},
            )
            for case, seed in zip(train, fresh, strict=True)
        )
        return Confirming(reseeded, "the train cases with another seed")
    held_out = cases_for(target, backend, CaseRole.HELD_OUT)
    return Confirming(held_out, "the held-out cases, as there are no others")


def reseeded(target: Target, names: Sequence[str], seeds: int) -> tuple[Case, ...]:
    """Copy cases with new seeds.

    No case, :func:`confirm_cases` or :func:`siblings` uses these seeds.

    Args:
        target: the target.
        names: names of the cases; cases without an integer seed are left out.
        seeds: number of new seeds for each case.
    """
    first = _last_seed(target) + 1
    return _with_seeds(target, names, range(first, first + seeds))


def siblings(target: Target, backend: str) -> tuple[Case, ...]:
    """Return the sibling cases: copies of the held-out cases with a seed that no other case has.

    A search may use them without seeing the held-out cases, so their role is train. Held-out cases
    without a seed have no sibling.
    """
    held_out = {
        case.name
        for case in target.cases
        if case.role is CaseRole.HELD_OUT and backend in case.backends
    }
    found = _with_seeds(target, held_out, [_last_seed(target)])
    return tuple(replace(case, role=CaseRole.TRAIN) for case in found)


def _last_seed(target: Target) -> int:
    """Return a seed from which on all seeds are unused, also by :func:`confirm_cases`."""
    known = [seed for case in target.cases if (seed := _seed(case)) is not None]
    return max(known, default=0) + len(target.cases) + 1


def _with_seeds(target: Target, names: Collection[str], seeds: Sequence[int]) -> tuple[Case, ...]:
    return tuple(
        replace(case, name=f"{case.name}-seed-{seed}", args={**case.args, "seed": seed})
        for case in target.cases
        if case.name in names and _seed(case) is not None
        for seed in seeds
    )


def _seed(case: Case) -> int | None:
    """Return the seed of a case's random numbers; None if its ``args`` have no integer ``seed``."""
    seed = case.args.get("seed")
    return seed if isinstance(seed, int) and not isinstance(seed, bool) else None


def load_case(target: Target, case: Case) -> CaseData:
    """Make the inputs of `case` with the target's data module.

    Raises:
        UserError: the module fails, or returns other names, types or sizes than declared.
    """
    make = load_function(target.data, "case", f"{target.file}: target.data")
    where = f"{place_of(make, target.data)}: case {case.name!r}"
    try:
        returned = make(**case.args)
    except UserError:
        raise
    except (Exception, SystemExit) as error:
        raise UserError(
            f"case() failed: {type(error).__name__}: {error}",
            where=line_of(error, target.data),
            hint=f"It was called for the case {case.name!r} ({target.file}:{case.line}): mend it,"
            " or that case's `args`.",
        ) from error
    if not isinstance(returned, Mapping):
        shown = ", ".join(f"{name!r}: {name}" for name in _wanted(target))
        raise UserError(
            f"case() returned {type(returned).__name__}, not a dictionary",
            where=where,
            hint=f"Return what the target asks for, by name: {{{shown}}}.",
        )
    _check_names(target, returned, where)
    scalars = {
        scalar.name: typed_scalar(scalar, returned[scalar.name], where)
        for scalar in target.scalars
        if scalar.value is None
    }
    given = CaseData(case.name, case.role, {}, scalars, {})
    known = {**defaults(target), **given.integers}
    buffers = {
        buffer.name: _array(target, buffer, returned[buffer.name], known, where)
        for buffer in target.buffers
        if buffer.role.given
    }
    for texture in target.textures:
        if not texture.size:
            _check_texels(texture, buffers[texture.buffer].nbytes, where)
    extras = {name: returned[name] for name in target.oracle.uses}
    return replace(given, buffers=buffers, extras=extras)


def typed_scalar(scalar: Scalar, value: Any, where: str) -> np.generic:
    """Convert `value` to the scalar's type.

    Args:
        scalar: the scalar.
        value: the value, in general from the data module.
        where: source of the value, for messages.

    Raises:
        UserError: the value is not a number of that kind, or does not fit.
    """
    kind: type = numbers.Integral if scalar.dtype.kind in "iu" else numbers.Real
    if scalar.count > 1:
        return _several(scalar, value, where)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    wrong = not isinstance(value, kind) or isinstance(value, bool | np.bool_)
    if wrong:
        raise UserError(
            f"the scalar {scalar.name!r} is {value!r}, not of type {kind.__name__}",
            where=where,
            hint=f"It is declared as {scalar.dtype}: return such a number, or change `type` in"
            f" line {scalar.line} of target.toml.",
        )
    if kind is numbers.Integral:
        limits = np.iinfo(scalar.dtype)
        if not limits.min <= int(value) <= limits.max:
            raise UserError(
                f"the scalar {scalar.name!r} = {value} does not fit into {scalar.dtype}",
                where=where,
                hint=f"Return a smaller number, or a wider `type` in line {scalar.line} of"
                " target.toml if the kernel takes one.",
            )
    typed: np.generic = scalar.dtype.type(value)
    return typed


def _several(scalar: Scalar, value: Any, where: str) -> np.generic:
    """Convert the values of a scalar with a count to a structure with one field ``values``."""
    try:
        values = np.asarray(value).reshape(-1)
        fits = values.size == scalar.count and np.can_cast(values.dtype, scalar.dtype, "same_kind")
    except ValueError:
        fits = False
    if not fits:
        raise UserError(
            f"the scalar {scalar.name!r} is no {scalar.count} values of {scalar.dtype}",
            where=where,
            hint=f"Return numpy.array([...], dtype=numpy.{scalar.dtype}) of so many.",
        )
    made = np.zeros(1, dtype=[("values", scalar.dtype, (scalar.count,))])
    made["values"][0] = values
    typed: np.generic = made[0]
    return typed


def _wanted(target: Target) -> list[str]:
    """Return the names of all values that a case must give."""
    wanted = [buffer.name for buffer in target.buffers if buffer.role.given]
    wanted += [scalar.name for scalar in target.scalars if scalar.value is None]
    return [*wanted, *target.oracle.uses]


def _check_names(target: Target, returned: Mapping[str, Any], where: str) -> None:
    wanted = _wanted(target)
    for name in wanted:
        if name not in returned:
            raise UserError(
                f"case() did not return {name!r}",
                where=where,
                hint=f"It returned {', '.join(map(str, returned)) or 'nothing'}: return {name!r} as"
                f" well, as {target.file} asks for it.",
            )
    roles = {buffer.name: buffer.role for buffer in target.buffers}
    for name in returned:
        if name in wanted:
            continue
        hint = f"{did_you_mean(str(name), wanted)} Leave out what is not."
        if name in roles:
            hint = (
                f'It is a buffer of role "{roles[name]}", whose contents no case gives: leave it'
                ' out, or give it the role "inout".'
            )
        raise UserError(f"case() returned {name!r}, which nothing asks for", where=where, hint=hint)


def _check_texels(texture: Texture, size: int, where: str) -> None:
    """Check that a buffer of ``size`` bytes holds a whole number of a texture's texels."""
    if size % texture.texel_bytes:
        raise UserError(
            f"the buffer {texture.buffer!r} has {size} bytes, and the texture {texture.name!r}"
            f" texels of {texture.texel_bytes}, so the last one is cut",
            where=where,
            hint="Let case() pad the array to a whole number of texels.",
        )


def _array(
    target: Target, buffer: Buffer, value: Any, known: Mapping[str, Any], where: str
) -> NDArray[Any]:
    declared = f"{target.file}:{buffer.line}"
    if not isinstance(value, np.ndarray):
        raise UserError(
            f"the buffer {buffer.name!r} is of type {type(value).__name__}, not a numpy array",
            where=where,
            hint=f"Return numpy.array(..., dtype=numpy.{buffer.dtype}).",
        )
    if buffer.type.small is not None and value.dtype.kind == "f":
        value = buffer.type.small.codes(value)
    if value.dtype != buffer.dtype:
        raise UserError(
            f"the buffer {buffer.name!r} holds {value.dtype}, but is declared as {buffer.dtype}",
            where=where,
            hint=f"Return it with .astype(numpy.{buffer.dtype}), or change its `type`"
            f" ({declared}).",
        )
    array = np.ascontiguousarray(value).reshape(-1).view()
    if array.size == 0:
        raise UserError(
            f"the buffer {buffer.name!r} is empty",
            where=where,
            hint="Return one element at least: are the sizes in the case's `args` above zero?",
        )
    if buffer.size is not None:
        try:
            size = buffer.size.evaluate(known)
        except ExpressionError as error:
            raise UserError(error.what, where=f"{where}: {buffer.name}", hint=error.hint) from None
        if size != array.size:
            raise UserError(
                f"the buffer {buffer.name!r} has {array.size} elements, "
                f"but its size `{buffer.size.text}` is {size}",
                where=where,
                hint=f"Return {size} elements, or change its `size` ({declared}).",
            )
    item = buffer.item or buffer.dtype.itemsize
    if buffer.addresses and array.nbytes % item:
        raise UserError(
            f"the buffer {buffer.name!r} has {array.nbytes} bytes, and its items {item} each",
            where=where,
            hint="Addresses lie in whole items: make the array longer, or mend `item`.",
        )
    array.flags.writeable = False
    return array
