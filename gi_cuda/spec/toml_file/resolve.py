"""Make a target of the tables of a file: check keys against each other and find files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from gi_cuda import BACKENDS
from gi_cuda.spec.application import Application
from gi_cuda.spec.case_data.other_sizes import outside_domain, sizes_of
from gi_cuda.spec.launching.kernel_names import overload
from gi_cuda.spec.oracles import Oracle, Unordered
from gi_cuda.spec.parameters import Parameter, ParameterKind
from gi_cuda.spec.target import (
    Buffer,
    BuildOptions,
    Case,
    CaseRole,
    Description,
    LaunchSequence,
    Scalar,
    Target,
)
from gi_cuda.spec.toml_file.locate import Files, Key, KeyLines
from gi_cuda.spec.toml_file.names import check_names
from gi_cuda.spec.toml_file.resolve_images import check_images_used, resolved_images
from gi_cuda.spec.toml_file.schema import TargetFile
from gi_cuda.spec.toml_file.table import did_you_mean

_WORD = re.compile(r"[^\W\d]\w*")
_KERNEL = re.compile(
    r"__global__(?:\s+(?!__launch_bounds__)[\w:]+|\s*__launch_bounds__\s*\([^()]*\))*?"
    r"\s+(?!__launch_bounds__)([^\W\d]\w*)\s*\("
)


def resolve(file: TargetFile, places: KeyLines) -> Target:
    """Make the target that a file describes.

    Raises:
        UserError: a name does not exist or is taken, a file is missing, keys contradict each other,
            or the default configuration is not allowed.
    """
    files = Files(places.file.parent.resolve(), places)
    parameters = tuple(
        _parameter(item, ("parameter", index), file.build, places)
        for index, item in enumerate(file.parameters)
    )
    for index, item in enumerate(file.scalars):
        _check_scalar(item, ("scalar", index), places)
    description = _described(file.target, files)
    names = check_names(file, description.kernels, places)
    images = resolved_images(file, names)
    include = (files.find_folder(name, ("build", "include")) for name in file.build.include)
    target = Target(
        **vars(description),
        folder=files.folder,
        file=places.file,
        build=replace(file.build, include=tuple(include)),
        parameters=parameters,
        constraints=_placed(file.constraints, "constraint", places, "that"),
        buffers=_placed(file.buffers, "buffer", places),
        scalars=_placed(file.scalars, "scalar", places),
        structs=_placed(file.structs, "struct", places),
        launches=tuple(
            _placed_steps(sequence, ("launch", index), places)
            for index, sequence in enumerate(file.launches)
        ),
        oracle=_oracle(file.oracle, files, file.buffers),
        cases=_placed(file.cases, "case", places),
        timing=file.timing,
        warps=file.warps,
        application=file.application and _application(file.application, description, files),
        textures=images.textures,
        surfaces=images.surfaces,
    )
    _check_domain(target, places)
    _check_cases(target, places)
    _check_use(target, places)
    return target


def _placed(items: Iterable[Any], group: str, places: KeyLines, *key: str) -> tuple[Any, ...]:
    """Set the `line` of each table of an array.

    Args:
        items: the tables.
        group: name of the array of tables.
        places: lines of keys.
        key: key of the table whose line is used; empty: the line of the table.
    """
    return tuple(
        replace(item, line=places.line((group, index, *key))) for index, item in enumerate(items)
    )


def _placed_steps(sequence: LaunchSequence, key: Key, places: KeyLines) -> LaunchSequence:
    steps = tuple(
        # Without [[launch.step]], this is the line of the table [[launch]].
        replace(step, line=places.line((*key, "step", index)))
        for index, step in enumerate(sequence.steps)
    )
    return replace(sequence, steps=steps, line=places.line(key))


def _described(described: Description, files: Files) -> Description:
    """Find the files of a description, and check that the source mentions its kernels.

    Raises:
        UserError: a file does not exist, or a kernel's name is not in the source.
    """
    source = files.find(described.source, ("target", "source"))
    headers = tuple(files.find(name, ("target", "headers")) for name in described.headers)
    found = (source, *headers)
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in found]
    words = set[str]().union(*(_WORD.findall(text) for text in texts))
    known = [name for text in texts for name in _KERNEL.findall(text)]
    for name in described.kernels:
        own = overload(name)[0].partition("<")[0].strip().rpartition("::")[2]
        if own not in words and not any("\0" in text for text in texts):
            raise files.places.error(
                ("target", "kernels"),
                f"there is no kernel {name!r} in {' or '.join(path.name for path in found)}",
                did_you_mean(own, known),
            )
    data = files.find(described.data, ("target", "data"))
    return replace(described, source=source, headers=headers, data=data)


def _application(item: Application, described: Description, files: Files) -> Application:
    """Find the folders and files of an application."""
    key = ("application",)
    folder = described.source.parent
    if item.folder is not None:
        folder = files.find_folder(item.folder, (*key, "folder"))
    inputs = tuple(files.find_named(name, (*key, "inputs")) for name in item.inputs)
    return replace(item, folder=folder, inputs=inputs, line=files.places.line(key))


def _parameter(item: Parameter, key: Key, build: BuildOptions, places: KeyLines) -> Parameter:
    """Check a parameter, and set its line and the implied values 0 and 1 of a switch."""
    _check_kind(item, key, places)
    values = item.values or (0, 1)
    for index, value in enumerate(values):
        if value in values[:index]:
            raise places.error(key, f"the value {value!r} is there twice", "Leave one out.")
    if item.default not in values:
        shown = ", ".join(map(repr, values[:12])) + (", ..." if len(values) > 12 else "")
        raise places.error(
            key,
            f"the default {item.default!r} is not among the values",
            f"They are {shown}; the default is what the source has now.",
        )
    given = build.define.get(item.name)
    fits = item.default if item.kind is ParameterKind.FLAG else str(item.default) == given
    if given is not None and not fits:
        raise places.error(
            (*key, "default"),
            f"the default is {item.default}, but [build] defines {item.name} to {given}",
            "What the build gives is the default.",
        )
    return replace(item, values=values, line=places.line(key))


def _check_kind(item: Parameter, key: Key, places: KeyLines) -> None:
    """Raise UserError if keys do not fit the kind of a parameter."""
    option = item.kind is ParameterKind.OPTION
    what = hint = None
    if item.name in ("defined", "true", "false"):
        what = f"a parameter cannot be called {item.name!r}"
    elif option and not item.text:
        what, hint = "an option needs its text", 'For example text = "-maxrregcount={}".'
    elif not option and item.text:
        what, hint = "only an option has a text", 'Say kind = "option" or leave it out.'
    elif item.switch and item.values:
        what, hint = "this is either on or off and has no values", "Leave `values` out."
    elif not item.switch and not item.values:
        what, hint = "its values are missing", "For example values = [32, 64, 128]."
    if what is not None:
        raise places.error(key, what, hint)


def _check_scalar(item: Scalar, key: Key, places: KeyLines) -> None:
    if item.redraw and item.value is not None:
        what = "a scalar with a value cannot be redrawn"
        raise places.error(key, what, "Leave `value` out: the case gives it.")
    if item.count > 1 and (item.redraw or item.value is not None):
        raise places.error(
            key, "several values are neither computed nor redrawn", "The case gives them."
        )
    if item.redraw and item.dtype.kind not in "iu":
        raise places.error(
            key, f"a {item.dtype} cannot be redrawn", "Only an integer goes up by one."
        )
    if item.usual is None:
        return
    if item.value is not None or item.redraw:
        what = "a scalar that is computed or redrawn has no usual value"
        raise places.error(key, what, "Leave `usual` out.")
    if item.count > 1 or item.dtype.kind not in "iu":
        raise places.error(key, "only a single integer has a usual value", "Leave `usual` out.")


def _oracle(oracle: Oracle, files: Files, buffers: Iterable[Buffer]) -> Oracle:
    """Find the files of an oracle's checks, and check that every output is judged."""
    judged = [buffer.name for buffer in buffers if buffer.role.judged]
    checks = []
    covered: set[str] = set()
    for index, check in enumerate(oracle.checks):
        key: Key = ("oracle", index)
        if key not in files.places.lines:
            key = ("oracle",)
        for name in check.buffers:
            if name not in judged:
                raise files.places.error(
                    (*key, "buffers"), f"there is no output {name!r}", did_you_mean(name, judged)
                )
        sizes = {b.size.text for b in buffers if b.name in check.buffers and b.size}
        if isinstance(check, Unordered) and len(sizes) > 1:
            raise files.places.error(
                (*key, "buffers"),
                f"outputs of one `unordered` have the sizes {' and '.join(sorted(sizes))}",
                "Give each an [[oracle]] of its own.",
            )
        covered.update(check.buffers or judged)
        checks.append(check.located(files, key))
    for name in judged:
        if name not in covered:
            raise files.places.error(
                ("oracle",),
                f"no oracle judges the output {name!r}",
                "Add it to the `buffers` of one, or leave `buffers` out to judge all.",
            )
    return Oracle(tuple(checks), {b.name: b.type for b in buffers if b.type.small})


def _check_domain(target: Target, places: KeyLines) -> None:
    """Check that ``domain`` uses integers that cases give, and that each case fulfils it."""
    given = {one.name for one in target.scalars if one.value is None and one.dtype.kind in "iu"}
    known = given.union(*map(sizes_of, target.cases))
    for condition in target.domain:
        for name in sorted(condition.names - known):
            raise places.error(
                ("target", "domain"),
                f"{name!r} in `{condition.text}` is no integer that a case gives",
                did_you_mean(name, sorted(known)),
            )
    for index, case in enumerate(target.cases):
        if broken := outside_domain(target, sizes_of(case)):
            raise places.error(
                ("case", index),
                f"the case {case.name!r} is outside the domain: not `{broken}`",
                "Change its `args`, or `domain` in [target].",
            )


def _check_cases(target: Target, places: KeyLines) -> None:
    """Check that each back end has a timed train case and a timed held-out case."""
    for role, purpose in ((CaseRole.TRAIN, "fitness"), (CaseRole.HELD_OUT, "validation")):
        for backend in BACKENDS:
            used: list[Case] = [case for case in target.cases if backend in case.backends]
            if used and not any(case.role is role for case in used):
                raise places.error(
                    ("case",),
                    f"no case of backend {backend!r} has the role {role.value!r}",
                    f'Add a [[case]] for {purpose}: role = "{role.value}", a `name`, and other'
                    " `args` than the rest, such as another seed.",
                )
            if used and not any(case.role is role and case.timed for case in used):
                raise places.error(
                    ("case",),
                    f"no {role.value} case of backend {backend!r} is timed",
                    "Take `timed = false` out of one of them.",
                )


def _check_use(target: Target, places: KeyLines) -> None:
    """Check that every struct, texture, surface and buffer is used by a launch."""
    used = {
        name for launch in target.launches for step in launch.steps for name in target.passed(step)
    }
    for buffer in target.buffers:
        used.update(buffer.addresses)
    for index, struct in enumerate(target.structs):
        if struct.name not in used:
            raise places.error(
                ("struct", index),
                f"no launch uses the struct {struct.name!r}",
                "Put it into `args`, where the kernel takes it.",
            )
    check_images_used(target, used, places)
    used.update(image.buffer for image in target.images)
    for index, buffer in enumerate(target.buffers):
        if buffer.symbol is None and buffer.name not in used:
            raise places.error(
                ("buffer", index),
                f"no launch uses the buffer {buffer.name!r}",
                "Put it into `args`, or give the `symbol` that it is.",
            )
