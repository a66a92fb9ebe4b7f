"""Add launches of another run of the application to a captured target."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gi_cuda.capture.capturing import Tell, observed_launches
from gi_cuda.capture.fitted import step_name
from gi_cuda.capture.folder import DATA, Captured, case_tables, told
from gi_cuda.capture.launches.observed import Observation
from gi_cuda.capture.launches.running import Application
from gi_cuda.capture.launches.uses import KernelUse, chosen
from gi_cuda.capture.reading import Wish, read_kernels
from gi_cuda.errors import UserError
from gi_cuda.init import Proposal
from gi_cuda.init.writing.write import Content, write_file
from gi_cuda.spec import LaunchError, Target, defaults, load_target, plan
from gi_cuda.spec.case_data.cases import typed_scalar

_AXES = "xyz"
_NAME = re.compile(r"[A-Za-z_]\w*")


def add(
    application: Application,
    uses: Sequence[KernelUse],
    folder: Path,
    wish: Wish,
    scratch: Path,
    tell: Tell,
) -> list[str]:
    """Add launches to a captured target's folder as held-out cases.

    Args:
        application: the application, with the arguments of the new run.
        uses: kernels that the application launches.
        folder: folder of the target.
        wish: options of the capture.
        scratch: a folder for recordings.
        tell: callback that receives progress messages.

    Returns:
        Lines that tell the user which cases were added.

    Raises:
        UserError: the folder holds no captured target, or the launches do not fit it.
    """
    target = load_target(folder)
    index = target.folder / DATA
    if not index.is_file():
        raise UserError(
            "it was not captured",
            where=str(folder),
            hint="write one: gi-cuda capture --kernel NAME --into FOLDER -- COMMAND",
        )
    usual = defaults(target)
    instances = [_NAME.sub(lambda m: str(usual.get(m[0], m[0])), one) for one in target.kernels]
    mine = [chosen(uses, name) for name in instances]
    tell(f"reading the source of {', '.join(use.name.shown for use in mine)}")
    wish = replace(wish, source=target.source, repeat=1)  # the target's tolerances stay as they are
    read, *others = read_kernels(application, mine, wish)
    if others:
        raise _other(target, "its kernels do not take turns")
    found = observed_launches(application, read, wish, scratch, tell)
    known = json.loads(index.read_text())
    run = 1 + len({name.rpartition("launch-")[0] for name in known})
    proposal = _with_roles(found.proposal, target)
    cases = [
        Captured(
            f"run-{run}-launch-{one.taken.ordinal + 1}",
            "held-out",
            f"launch {one.taken.ordinal + 1} of `{application.shown}`",
            one,
            dict(_numbers(target, one)),
        )
        for one in found.launches
    ]
    arrays: dict[str, Content] = {}
    new = {one.name: told(proposal.buffers, one, arrays) for one in cases}
    got = [(one["scalars"], one["given"]) for one in known.values()]
    cases = [one for one in cases if (new[one.name]["scalars"], new[one.name]["given"]) not in got]
    if not cases:
        raise UserError(
            "this run gives the kernel nothing that the target does not have already",
            where=application.shown,
            hint="run the application with other arguments",
        )
    new = {one.name: new[one.name] for one in cases}
    for one in cases:
        _check(target, one)
    for name, content in arrays.items():
        write_file(target.folder / name, content)
    index.write_text(json.dumps({**known, **new}, indent=1) + "\n")
    file = target.folder / target.file.name
    tables = "\n\n".join(case_tables(cases, f"Of another run, {application.shown}."))
    file.write_text(f"{file.read_text(encoding='utf-8')}\n{tables}\n", encoding="utf-8")
    names = ", ".join(one.name for one in cases)
    return [f"added to {folder} as held-out cases: {names}"]


def _with_roles(proposal: Proposal, target: Target) -> Proposal:
    roles = {one.name: one.role.value for one in target.buffers}
    names = {one.name for one in proposal.buffers}
    if names != roles.keys():
        raise _other(target, "its buffers are " + ", ".join(sorted(names)))
    return replace(
        proposal, buffers=tuple(replace(b, role=roles[b.name]) for b in proposal.buffers)
    )


def _numbers(target: Target, one: Observation) -> Iterator[tuple[str, int]]:
    """Yield the values of the target's scalars that the kernel does not get as arguments.

    These are launch geometry and sizes: ``grid_x``, ``block_x``, ``shared``, ``buffer_size``.

    Raises:
        UserError: the launch gives no value for a scalar.
    """
    seen: dict[str, int] = {}
    for number, taken in enumerate(one.taken.steps):
        grid, block, shared = (step_name(what, number) for what in ("grid", "block", "shared"))
        seen |= {f"{grid}_{axis}": taken.grid[i] for i, axis in enumerate(_AXES)}
        seen |= {f"{block}_{axis}": taken.block[i] for i, axis in enumerate(_AXES)}
        seen[shared] = taken.shared
    sizes = {b.name: b.dtype.itemsize for b in target.buffers}
    for name, piece in one.pieces.items():
        if name in sizes:
            seen[f"{name}_size"] = piece.ahead // sizes[name]
            seen[f"{name}_begin"] = (piece.end - piece.begin - piece.ahead) // sizes[name]
    for scalar in target.scalars:
        if scalar.value is None and scalar.name not in one.scalars:
            if scalar.name not in seen:
                raise _other(target, f"nothing gives {scalar.name}")
            yield scalar.name, seen[scalar.name]


def _check(target: Target, one: Captured) -> None:
    """Check that the target computes the grid, block, shared memory and sizes of a launch.

    Raises:
        UserError: it computes others.
    """
    given: Mapping[str, Any] = {**one.observation.scalars, **one.numbers}
    scalars = {
        scalar.name: typed_scalar(scalar, given[scalar.name], str(target.file))
        for scalar in target.scalars
        if scalar.value is None
    }
    values = defaults(target)
    try:
        launches = plan(target, values, scalars)
    except LaunchError as error:
        raise _other(target, error.what) from None
    for launch, taken in zip(launches, one.observation.taken.steps, strict=True):
        if (launch.grid, launch.block, launch.shared) != (taken.grid, taken.block, taken.shared):
            raise _other(
                target, f"grid {taken.grid}, block {taken.block}, not {launch.grid}, {launch.block}"
            )
    integers = {name: int(v) for name, v in scalars.items() if v.dtype.kind in "iu"}
    for buffer in target.buffers:
        piece = one.observation.pieces[buffer.name]
        items = (piece.end - piece.begin) // buffer.dtype.itemsize
        names = {**values, **integers}
        if buffer.size is not None and buffer.size.evaluate(names) != items:  # type: ignore[arg-type]
            raise _other(target, f"{buffer.name} has {items} elements, not `{buffer.size.text}`")


def _other(target: Target, what: str) -> UserError:
    return UserError(
        f"the launches of this run do not fit the target: {what}",
        where=str(target.file),
        hint="write another target of it: gi-cuda capture --kernel NAME --into FOLDER -- COMMAND;"
        " or write in this one an expression that is right for both",
    )
