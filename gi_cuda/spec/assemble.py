"""From the tables of ``target.toml`` to a target: names resolved, files found, checks made."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import numpy as np

from gi_cuda.errors import UserError
from gi_cuda.spec import oracle as oracles
from gi_cuda.spec import schema
from gi_cuda.spec.hints import did_you_mean
from gi_cuda.spec.kernel_names import overload
from gi_cuda.spec.locate import Key, KeyLines
from gi_cuda.spec.modules import check_call, load_function
from gi_cuda.spec.names import (
    OTHER_SCALAR,
    PARAMETER,
    REDRAWN_SCALAR,
    SCALAR,
    TEXTURE,
    Files,
    NameResolver,
    check_distinct,
    kinds_of_names,
)
from gi_cuda.spec.target import (
    BACKENDS,
    Buffer,
    BufferRole,
    BuildOptions,
    Case,
    CaseRole,
    Constraint,
    KernelStep,
    LaunchSequence,
    Parameter,
    ParameterKind,
    Scalar,
    Target,
    Timing,
)
from gi_cuda.spec.textures import read_textures


def assemble(table: schema.TargetFile, places: KeyLines) -> Target:
    """The target that `table` describes.

    Raises:
        UserError: names that do not exist or clash, missing files, a default that is not allowed.
    """
    folder = places.file.parent.resolve()
    files = Files(folder, places)
    check_distinct(table, places)
    kernels = _kernels(table, files)
    names = NameResolver(places, kinds_of_names(table))
    parameters = _parameters(table, places)
    buffers = _buffers(table, names)
    target = Target(
        name=table.target.name,
        description=table.target.description,
        folder=folder,
        file=places.file,
        source=files.find(table.target.source, ("target", "source")),
        headers=tuple(files.find(name, ("target", "headers")) for name in table.target.headers),
        data=files.find(table.target.data, ("target", "data")),
        kernels=kernels,
        build=_build(table, files),
        parameters=parameters,
        constraints=_constraints(table, names, parameters),
        buffers=buffers,
        scalars=_scalars(table, names),
        launches=_launches(table, names, buffers),
        oracle=_oracle(table, files, buffers),
        cases=_cases(table, files),
        timing=Timing(table.timing.cache),
        extras=_extras(table),
        textures=read_textures(table, names, {buffer.name: buffer for buffer in buffers}),
    )
    _all_used(target, places)
    return target


def _kernels(table: schema.TargetFile, files: Files) -> tuple[str, ...]:
    """The kernels, each of which at least stands in the source; launches are held against them."""
    names = [("target", "source"), *(("target", "headers") for _ in table.target.headers)]
    paths = [table.target.source, *table.target.headers]
    found = [files.find(path, key) for path, key in zip(paths, names, strict=True)]
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in found]
    words = set[str]().union(*(_WORD.findall(text) for text in texts))
    known = [name for text in texts for name in _KERNEL.findall(text)]
    for name in table.target.kernels:
        own = overload(name)[0].partition("<")[0].strip().rpartition("::")[2]
        if own not in words and not any("\0" in text for text in texts):
            raise UserError(
                f"there is no kernel {name!r} in {' or '.join(path.name for path in found)}",
                where=files.places.at(("target", "kernels")),
                hint=did_you_mean(own, known),
            )
    return tuple(table.target.kernels)


_WORD = re.compile(r"[^\W\d]\w*")
_KERNEL = re.compile(
    r"__global__(?:\s+(?!__launch_bounds__)[\w:]+|\s*__launch_bounds__\s*\([^()]*\))*?"
    r"\s+(?!__launch_bounds__)([^\W\d]\w*)\s*\("
)


def _build(table: schema.TargetFile, files: Files) -> BuildOptions:
    build = table.build
    return BuildOptions(
        include=tuple(files.find_folder(name, ("build", "include")) for name in build.include),
        define=dict(build.define),
        standard=build.standard,
        options={name: tuple(said) for name, said in (build.model_extra or {}).items()},
    )


def _parameters(table: schema.TargetFile, places: KeyLines) -> tuple[Parameter, ...]:
    for index, item in enumerate(table.parameter):
        given = table.build.define.get(item.name)
        fits = item.default if item.kind == "flag" else str(item.default) == given
        if given is not None and not fits:
            raise UserError(
                f"the default is {item.default}, but [build] defines {item.name} to {given}",
                where=places.at(("parameter", index, "default")),
                hint="What the build gives is the default.",
            )
    return tuple(
        Parameter(
            name=item.name,
            kind=ParameterKind(item.kind),
            values=tuple(item.values or (0, 1)),
            default=item.default,
            text=item.text,
            help=item.help,
            backends=tuple(item.backends),
            line=places.line(("parameter", index)),
        )
        for index, item in enumerate(table.parameter)
    )


def _constraints(
    table: schema.TargetFile, names: NameResolver, parameters: Iterable[Parameter]
) -> tuple[Constraint, ...]:
    defaults = {parameter.name: parameter.default for parameter in parameters}
    constraints = []
    for index, item in enumerate(table.constraint):
        key: Key = ("constraint", index, "that")
        that = names.expression(item.that, key, names.of(PARAMETER))
        constraint = Constraint(that, item.why, names.places.line(key))
        if not constraint.allows(defaults):
            values = ", ".join(f"{name} = {defaults[name]}" for name in sorted(that.names))
            raise UserError(
                f"the constraint `{item.that}` excludes the default ({values})",
                where=names.places.at(key),
                hint="The default is the reference: change it, or the constraint.",
            )
        constraints.append(constraint)
    return tuple(constraints)


def _buffers(table: schema.TargetFile, names: NameResolver) -> tuple[Buffer, ...]:
    buffers = []
    for index, item in enumerate(table.buffer):
        key: Key = ("buffer", index, "size")
        role = BufferRole(item.role)
        # Inputs and outputs are the same for every variant; only scratch may follow parameters.
        known = names.of(SCALAR) + (names.of(PARAMETER) if role is BufferRole.SCRATCH else [])
        if item.size is None and not role.given:
            raise UserError(
                f"an {role} buffer needs a size"
                if role.judged
                else "a scratch buffer needs a size",
                where=names.places.at(("buffer", index)),
                hint='The number of elements, e.g. size = "n_reads * 2".',
            )
        buffers.append(
            Buffer(
                name=item.name,
                dtype=np.dtype(item.type),
                role=role,
                size=None if item.size is None else names.expression(item.size, key, known),
                symbol=item.symbol,
                line=names.places.line(("buffer", index)),
            )
        )
    if not any(buffer.role.judged for buffer in buffers):
        raise UserError(
            "no buffer is an output",
            where=names.places.at(("buffer", 0)),
            hint='What the kernel computes has role = "output" or "inout".',
        )
    return tuple(buffers)


def _scalars(table: schema.TargetFile, names: NameResolver) -> tuple[Scalar, ...]:
    known = [*names.of(PARAMETER), *(s.name for s in table.scalar if s.value is None)]
    known = [name for name in known if names.kinds[name] in (PARAMETER, SCALAR)]
    scalars = []
    for index, item in enumerate(table.scalar):
        value = None
        if item.value is not None:
            value = names.expression(item.value, ("scalar", index, "value"), known)
            known += [item.name] if names.kinds[item.name] == SCALAR else []
        line = names.places.line(("scalar", index))
        scalars.append(Scalar(item.name, np.dtype(item.type), value, item.redraw, line))
    return tuple(scalars)


def _launches(
    table: schema.TargetFile, names: NameResolver, buffers: Iterable[Buffer]
) -> tuple[LaunchSequence, ...]:
    by_name = {buffer.name: buffer for buffer in buffers}
    passed = [name for name, buffer in by_name.items() if buffer.symbol is None]
    passed += names.of(TEXTURE, SCALAR, OTHER_SCALAR, REDRAWN_SCALAR)
    return tuple(
        _launch(item, ("launch", index), names, by_name, passed, table.target.kernels)
        for index, item in enumerate(table.launch)
    )


def _launch(
    item: schema.LaunchTable,
    key: Key,
    names: NameResolver,
    buffers: Mapping[str, Buffer],
    passed: list[str],
    kernels: list[str],
) -> LaunchSequence:
    outer = names.of(PARAMETER, SCALAR)
    counter = [item.counter] if item.counter else []
    known = outer + counter

    def step(kernel: schema.KernelTable, at: Key) -> KernelStep:
        names.check(kernel.kernel, kernels, (*at, "kernel"), "kernel")
        for name in kernel.args:
            names.check(name, passed + counter, (*at, "args"), "buffer, texture or scalar")
        return KernelStep(
            kernel=kernel.kernel,
            grid=tuple(names.expression(text, (*at, "grid"), known) for text in kernel.grid),
            block=tuple(names.expression(text, (*at, "block"), known) for text in kernel.block),
            shared=names.expression(kernel.shared, (*at, "shared"), known),
            args=tuple(kernel.args),
            line=names.places.line(at),
        )

    group = item.step is not None
    steps = [
        step(kernel, (*key, "step", index) if group else key)
        for index, kernel in enumerate(item.kernels())
    ]
    for first, second in item.swap:
        _check_swap(first, second, buffers, names, (*key, "swap"))
    return LaunchSequence(
        steps=tuple(steps),
        repeat=names.expression(item.repeat, (*key, "repeat"), outer),
        swap=tuple((first, second) for first, second in item.swap),
        counter=item.counter,
        line=names.places.line(key),
    )


def _check_swap(
    first: str, second: str, buffers: Mapping[str, Buffer], names: NameResolver, key: Key
) -> None:
    for name in (first, second):
        names.check(name, buffers, key, "buffer")
        if buffers[name].role is BufferRole.INPUT or buffers[name].symbol is not None:
            raise UserError(
                f"the buffer {name!r} cannot be swapped",
                where=names.places.at(key),
                hint="Inputs stay as they are, and symbols where they are.",
            )
    a, b = buffers[first], buffers[second]
    if a.dtype != b.dtype or a.size != b.size or a.size is None:
        raise UserError(
            f"the buffers {first!r} and {second!r} differ in type or size",
            where=names.places.at(key),
            hint="Buffers that are swapped are declared with the same type and the same size.",
        )


def _oracle(table: schema.TargetFile, files: Files, buffers: Iterable[Buffer]) -> oracles.Oracle:
    judged = [buffer.name for buffer in buffers if buffer.role.judged]
    checks: list[oracles.OutputCheck] = []
    covered: set[str] = set()
    for index, item in enumerate(table.oracle):
        key: Key = ("oracle", index)
        if key not in files.places.lines:
            key = ("oracle",)
        chosen = () if isinstance(item, schema.PythonTable) else tuple(item.buffers)
        for name in chosen:
            if name not in judged:
                raise UserError(
                    f"there is no output {name!r}",
                    where=files.places.at((*key, "buffers")),
                    hint=did_you_mean(name, judged),
                )
        covered.update(chosen or judged)
        checks.append(_check(item, chosen, files, key))
    for name in judged:
        if name not in covered:
            raise UserError(
                f"no oracle judges the output {name!r}",
                where=files.places.at(("oracle",)),
                hint="Add it to the `buffers` of one, or leave `buffers` out to judge all.",
            )
    return oracles.Oracle(tuple(checks))


def _check(
    item: schema.ExactTable | schema.ToleranceTable | schema.SigmaTable | schema.PythonTable,
    buffers: tuple[str, ...],
    files: Files,
    key: Key,
) -> oracles.OutputCheck:
    match item:
        case schema.ExactTable():
            return oracles.Exact(buffers)
        case schema.ToleranceTable():
            return oracles.Tolerance(item.absolute, item.relative, buffers)
        case schema.SigmaTable():
            return oracles.Sigma(item.k, item.runs, item.absolute, item.outside, buffers)
        case schema.PythonTable():
            name, _, function = item.function.rpartition(":")
            file = files.find(name, (*key, "function"))
            where = files.places.at((*key, "function"))
            check_call(load_function(file, function, where), where, {}, {}, {})
            return oracles.Python(file, function, item.runs)


def _extras(table: schema.TargetFile) -> tuple[str, ...]:
    uses = (item.uses for item in table.oracle if isinstance(item, schema.PythonTable))
    return tuple(dict.fromkeys(name for names in uses for name in names))


def _cases(table: schema.TargetFile, files: Files) -> tuple[Case, ...]:
    places = files.places
    data = files.find(table.target.data, ("target", "data"))
    make = load_function(data, "case", places.at(("target", "data")))
    cases = []
    for index, item in enumerate(table.case):
        check_call(make, places.at(("case", index, "args")), **item.args)
        line = places.line(("case", index))
        cases.append(Case(item.name, CaseRole(item.role), item.args, tuple(item.backends), line))
    for role, purpose in ((CaseRole.TRAIN, "fitness"), (CaseRole.HELD_OUT, "validation")):
        for backend in BACKENDS:
            used = [case for case in cases if backend in case.backends]
            if used and not any(case.role is role for case in used):
                raise UserError(
                    f"no case of backend {backend!r} has the role {role.value!r}",
                    where=places.at(("case",)),
                    hint=f"Add a [[case]] for {purpose} with other data than the rest.",
                )
    return tuple(cases)


def _all_used(target: Target, places: KeyLines) -> None:
    """A buffer or texture that no kernel sees is a slip of the pen."""
    used = {name for launch in target.launches for step in launch.steps for name in step.args}
    for index, texture in enumerate(target.textures):
        if texture.name not in used:
            raise UserError(
                f"no launch uses the texture {texture.name!r}",
                where=places.at(("texture", index)),
                hint="Put it into `args`, where the kernel takes its cudaTextureObject_t.",
            )
        used.add(texture.buffer)
    for index, buffer in enumerate(target.buffers):
        if buffer.symbol is None and buffer.name not in used:
            raise UserError(
                f"no launch uses the buffer {buffer.name!r}",
                where=places.at(("buffer", index)),
                hint="Put it into `args`, or give the `symbol` that it is.",
            )
