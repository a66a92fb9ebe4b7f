"""Write the files of a target from a proposal."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from gi_cuda.backends.table import backends_on_gpus
from gi_cuda.init.build.build_files import own_build
from gi_cuda.init.build.build_options import FAST_MATH
from gi_cuda.init.build.repository import repository_of
from gi_cuda.init.host.in_python import python_name
from gi_cuda.init.kernel.access import Access
from gi_cuda.init.proposing.buffers import SEEN, Image, ProposedBuffer, accuracy, smooth
from gi_cuda.init.proposing.cases import LARGE, TRAIN, cases
from gi_cuda.init.proposing.proposal import Proposal, Step
from gi_cuda.init.writing.data_module import data_py, times
from gi_cuda.init.writing.parameters import is_inexact, parameters
from gi_cuda.init.writing.readme import origins, readme, relative
from gi_cuda.init.writing.toml import Noted, behind, table


def files(proposal: Proposal, folder: Path) -> dict[str, str]:
    """Return the files of a target's folder, by name."""
    return {
        "target.toml": target_toml(proposal, folder),
        "data.py": data_py(proposal),
        "README.md": readme(proposal, folder),
    }


def target_toml(proposal: Proposal, folder: Path) -> str:
    """Return the text of target.toml; relative paths start from the target's folder."""
    heading = (
        f"How to launch {proposal.kernel}, and how its results are judged. Written by gi-cuda"
        f"\ninit; whatever it could not determine is marked {proposal.mark}."
    )
    return assembled(proposal, folder, heading, _oracles(proposal), _cases(proposal))


def assembled(
    proposal: Proposal,
    folder: Path,
    heading: str,
    oracles: Iterable[str],
    cases: Iterable[str],
    run: str = "",
    architectures: Collection[int] = (),
) -> str:
    """Return the text of a target.toml, given its oracles and cases.

    Args:
        heading: lines of the comment at the top.
        run: the command that runs the application; "" if unknown.
        architectures: compute capabilities that the application was built for, if known.
    """
    parts = [
        "\n".join(f"# {line}" for line in heading.splitlines()),
        _target(proposal, folder),
        _build(proposal, folder),
        *parameters(proposal),
        *_buffers(proposal),
        *_textures(proposal),
        *_scalars(proposal),
        *_structs(proposal),
        *(_launch(step, proposal.mark) for step in proposal.steps),
        *_warps(proposal),
        *oracles,
        *cases,
        *_application(proposal, folder, run, architectures),
    ]
    return "\n\n".join(parts) + "\n"


def _target(proposal: Proposal, folder: Path) -> str:
    kernels = [step.kernel for step in proposal.steps]
    evolved = f"evolved: {', '.join(dict.fromkeys(f.name for f in proposal.functions))}"
    if proposal.instances:
        evolved += f"\n# The host code launches {', '.join(proposal.instances)} as well."
    headers = [relative(header, folder) for header in proposal.evolving]
    return table(
        "[target]",
        name=proposal.name,
        description=f"{', '.join(kernels)} of {proposal.source.name}{_often(proposal)}",
        source=Noted(relative(proposal.source, folder), "stays where it is"),
        headers=Noted(headers, "they evolve with it") if headers else None,
        kernels=Noted(kernels, evolved),
        data="data.py",
    )


def _often(proposal: Proposal) -> str:
    """Return a remark on how often the program launches the only kernel; reports and patches quote
    it.
    """
    times = 1 if proposal.further else proposal.launching.times
    return f", which launches it {times} times" if times > 1 else ""


def _build(proposal: Proposal, folder: Path) -> str:
    compilation = proposal.compilation
    # If results may differ a little, fast mathematics is a parameter, not a fixed option.
    parameter = {FAST_MATH} if is_inexact(proposal) else set()
    made = table(
        "[build]",
        "\n".join(origins(proposal, folder)),
        include=[relative(path, folder) for path in compilation.include] or None,
        without=[*proposal.headers.without] or None,
        define=compilation.define or None,
        standard=compilation.standard,
        host=["-O2"],
        cuda=["-O3", *(one for one in compilation.options if one not in parameter)],
    )
    for name in proposal.headers.toolkit:
        made += f"\n# The host back end has no <{name}>: this target needs a GPU."
    return made


_BEGINS = "the pointer points there: the kernel goes back so far"
_ROLES = {
    "scratch": "not looked at",
    "input": "only read",
    "output": "only written",
    "inout": "read and written: what it holds before each launch comes from data.py",
}


def _buffers(proposal: Proposal) -> Iterator[str]:
    comment = "Sizes are in elements of a buffer's type, as the host code allocates them"
    comment += ", or as it says." if any(b.notes.size for b in proposal.buffers) else "."
    if any(not buffer.elements for buffer in proposal.buffers):
        comment = f"{proposal.mark}: the size of each buffer, in elements of its type. Assumed"
        comment += f" where it says so:\none item for each {' x '.join(proposal.counts)}."
    for buffer in proposal.buffers:
        why = _ROLES[buffer.role]
        if buffer.access is Access.ATOMIC:
            why = "added to by atomics: it starts at zero"
        elif buffer.access is Access.NONE:
            why = "not used by the kernel"
        if buffer.image is not None:
            through = "surface" if buffer.image.surface else "texture"
            why = (
                f"read through its {through}"
                if buffer.role == "input"
                else f"{why}, as a {through}"
            )
        parts = buffer.element.parts
        size = times(buffer.items(proposal.counts), parts)
        own = "" if buffer.symbol or buffer.texture else f" {buffer.name}"
        yield table(
            "[[buffer]]" + behind(buffer.shown + own),
            comment,
            name=buffer.name,
            type=buffer.element.type,
            size=Noted(size, buffer.notes.size or ("" if buffer.elements else proposal.mark)),
            role=Noted(buffer.role, buffer.notes.role or why),
            symbol=buffer.symbol or None,
            item=buffer.element.bytes if buffer.addresses else None,
            addresses=dict(buffer.addresses) or None,
            begin=Noted(times(buffer.begin, parts), _BEGINS) if buffer.begin else None,
        )
        comment = ""


def _textures(proposal: Proposal) -> Iterator[str]:
    comment = (
        f"{proposal.mark}: what each texture is made of. Assumed, where host code was not found to"
        "\nsay it: what is fetched, the nearest texel, clamped coordinates in texels."
    )
    if all(one.image is None or one.image.note == SEEN for one in proposal.buffers):
        comment = "What each texture is made of."
    for buffer in proposal.buffers:
        if buffer.texture is None or buffer.image is None:
            continue
        image = buffer.image
        header = "[[surface]]" if image.surface else "[[texture]]"
        note = image.note
        if not buffer.access:
            note = f"{proposal.mark}: what is fetched is not to be seen"
        yield table(
            header + behind(note),
            comment,
            name=buffer.texture,
            buffer=buffer.name,
            components=buffer.element.parts if buffer.element.parts > 1 else None,
            read="normalized_float" if image.as_float else None,
            size=image.size or None,
            layers=image.layers,
            filter="linear" if image.filter == "linear" else None,
            address=_address(image),
            normalized=image.normalized or None,
        )
        comment = ""


def _address(image: Image) -> str | tuple[str, ...] | None:
    if image.surface or image.address == ("clamp",):
        return None
    return image.address[0] if len(image.address) == 1 else image.address


def _scalars(proposal: Proposal) -> Iterator[str]:
    for extent in proposal.extents:
        if not extent.passed:
            what = "How many blocks" if extent.blocks else "How much data"
            comment = f"{what} there {'are' if extent.blocks else 'is'}. "
            comment += "The kernel does not get it as an argument."
            yield table("[[scalar]]", comment, name=extent.name, type="int32")
    # Computed scalars come after the scalars that they are computed from.
    for scalar in sorted(proposal.scalars, key=lambda one: one.computed is not None):
        header, kind = "[[scalar]]", scalar.element.type
        if scalar.computed is not None:
            value = Noted(scalar.computed, scalar.note or "as in the host code")
            yield table(header, name=scalar.name, type=kind, value=value)
            continue
        if scalar.name not in proposal.counts:
            unsaid = "" if scalar.source else f": {proposal.mark}"
            header += behind(f"its value is in data.py{unsaid}")
        count = scalar.count if scalar.count > 1 else None
        usual = None if scalar.name in proposal.counts else scalar.usual
        yield table(header, name=scalar.name, type=kind, count=count, usual=usual)


def _structs(proposal: Proposal) -> Iterator[str]:
    comment = "Passed by value: what each is put together of, and at which byte that begins."
    for struct in proposal.structs:
        yield table(
            "[[struct]]" + behind(struct.kind),
            comment,
            name=struct.name,
            size=struct.size,
            align=struct.align,
            members=dict(struct.members),
        )
        comment = ""


def _launch(step: Step, mark: str) -> str:
    launching = step.launching
    comment = f"{mark}: the source does not say how it is launched, or not plainly."
    if launching.place is not None:
        comment = f"As in line {launching.place.line} of {launching.place.file}."
        if launching.times > 1:
            comment += f"\nThe program launches it {launching.times} times there, in a loop."
    elif launching.seen:
        comment = "As it was seen to be launched."
    if launching.guessed:
        comment += f"\n{mark}: the grid is a guess; a run of the host code would tell it."
    comment = "\n".join([comment, *launching.notes])
    if launching.assumed:
        said = ", ".join(f"{name} = {value}" for name, value in launching.assumed.items())
        comment += f"\n{mark}: what only a run of the host code tells; assumed: {said}."
    if launching.named:
        comment += f"\nWith these names as parameters: {launching.named}"
    return table(
        "[[launch]]",
        comment,
        kernel=step.kernel,
        grid=launching.grid,
        block=launching.block,
        shared=None if launching.shared == "0" else Noted(launching.shared, "bytes"),
        args=step.arguments,
        cooperative=Noted(True, "grid.sync()") if launching.cooperative else None,
    )


def _warps(proposal: Proposal) -> Iterator[str]:
    if proposal.left_out:
        comment = (
            f"{proposal.mark}: {proposal.left_out}.\nDone as devices do, by the threads that are at"
            " the same line together; take this table away, and\nit is refused."
        )
        yield table("[warps]", comment, masks="device")


def _oracles(proposal: Proposal) -> Iterator[str]:
    judged = [b for b in proposal.buffers if b.role in ("output", "inout")]
    real = [b for b in judged if b.element.floating]
    if not real:
        yield table("[oracle]", kind="exact")
        return
    comment = f"{proposal.mark}: how far results may be from the reference's; both may be 0."
    real_alone = smooth(judged)
    exact = [b.name for b in judged if not b.element.floating]
    groups: dict[tuple[float, str], list[ProposedBuffer]] = {}
    for b in real_alone:
        groups.setdefault((b.accuracy, "" if b.magnitude is None else b.name), []).append(b)
    for _, group in sorted(groups.items(), key=lambda one: one[0][1] != ""):
        size = group[0].magnitude
        note = "" if size is None else f"the kernel writes numbers of about {size:.1g}"
        yield table(
            "[[oracle]]",
            comment,
            kind="tolerance",
            absolute=Noted(group[0].allowance, note),
            relative=group[0].accuracy,
            buffers=[b.name for b in group] if len(group) < len(judged) else None,
        )
        comment = ""
    for buffer in real:
        if buffer.element.fields:
            yield _of_struct(buffer, comment)
            comment = ""
    if exact:
        yield table("[[oracle]]", kind="exact", buffers=exact)


def _of_struct(buffer: ProposedBuffer, comment: str) -> str:
    """Return the oracle of structs: a tolerance for floating-point members, exact for others."""
    fields = buffer.element.fields
    allowed = accuracy([one.type for one in fields])
    members = {
        one.name: [one.type, one.at, one.length] if one.length > 1 else [one.type, one.at]
        for one in fields
    }
    own = "Members: type, first byte and, of arrays, how many. Whole numbers are exact."
    return table(
        "[[oracle]]",
        f"{comment}\n{own}" if comment else own,
        kind="tolerance",
        absolute=allowed,
        relative=allowed,
        buffers=[buffer.name],
        item=Noted(buffer.element.parts, "bytes of a struct"),
        members=members,
    )


def _cases(proposal: Proposal) -> Iterator[str]:
    extents = proposal.extents
    every = cases(extents, proposal.second)
    same = not any(case.device for case in every)
    fitness = "Cases: train ones give fitness, held-out ones only ever validate."
    fitness = "\n".join([fitness, *(f"{e.name}: {e.note}" for e in extents if e.note)])
    large = f"{proposal.mark}: sizes worth the while of a GPU."
    large = "\n".join([large, *(f"{e.name}: {e.device_note}" for e in extents if e.device_note)])
    comments = {TRAIN: fitness, LARGE: large}
    for seed, case in enumerate(every, 1):
        counts = {python_name(e.name): n for e, n in zip(extents, case.sizes, strict=True)}
        yield table(
            "[[case]]",
            comments.get(case.name, ""),
            name=case.name,
            role=case.role,
            backends=None if same else backends_on_gpus(gpu=case.device),
            args={"seed": seed, **counts},
        )


def _application(
    proposal: Proposal, folder: Path, run: str, architectures: Collection[int]
) -> Iterator[str]:
    """Yield the ``[application]`` table, as comments unless the command that runs it is known."""
    own = own_build(proposal.source, repository_of(proposal.source), architectures)
    if own is None:
        return
    known = run and Path.cwd() == own.folder.resolve()
    made = table(
        "[application]",
        "The whole program as the last judge (`validate --application`, `patch --application`):"
        "\nit is built and run in copies, before and after a patch."
        + ("" if known else " Say how it is run."),
        folder=Noted(relative(own.folder, folder), f"where {own.file.name} is"),
        build=own.build,
        run=run or "./PROGRAM ARGUMENTS",
        check=own.check or None,
    )
    if known:
        yield made
    else:
        lines = made.splitlines()
        yield "\n".join(line if line.startswith("#") else f"# {line}" for line in lines)
