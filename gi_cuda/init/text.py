"""The files of a target, from a proposal."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from gi_cuda.backends.table import backends_on_gpus
from gi_cuda.grammar import Function
from gi_cuda.init.access import Access
from gi_cuda.init.buffers import ProposedBuffer
from gi_cuda.init.host_code import bracketed
from gi_cuda.init.proposal import Proposal, python_name
from gi_cuda.init.sizes import Extent
from gi_cuda.init.tuning import Proposing, Tunable
from gi_cuda.spec.load import MARK


def files(proposal: Proposal, folder: Path) -> dict[str, str]:
    """The files of a target's folder by name."""
    return {
        "target.toml": target_toml(proposal, folder),
        "data.py": data_py(proposal),
        "README.md": readme(proposal, folder),
    }


def target_toml(proposal: Proposal, folder: Path) -> str:
    """The target itself; paths start from its folder."""
    parts = [
        f"# How to launch {proposal.kernel}, and how its results are judged. Written by gi-cuda"
        f"\n# init; what it could not know is marked {MARK}.",
        _target(proposal, folder),
        _build(proposal, folder),
        *(_parameter(one) for one in proposal.parameters),
        *_constraints(proposal),
        *_buffers(proposal),
        *_textures(proposal),
        *_scalars(proposal),
        _launch(proposal),
        *_oracles(proposal),
        *_cases(proposal),
    ]
    return "\n\n".join(parts) + "\n"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _list(texts: Iterable[str]) -> str:
    return "[" + ", ".join(_quoted(text) for text in texts) + "]"


def _relative(path: Path, folder: Path) -> str:
    return Path(os.path.relpath(path, folder.resolve())).as_posix()


def _target(proposal: Proposal, folder: Path) -> str:
    reached = ", ".join(dict.fromkeys(function.name for function in proposal.functions))
    lines = [
        "[target]",
        f"name = {_quoted(proposal.name)}",
        f"description = {_quoted(f'{proposal.kernel} of {proposal.source.name}')}",
        f"source = {_quoted(_relative(proposal.source, folder))}     # stays where it is",
        f"kernels = {_list([proposal.kernel])}     # evolved: {reached}",
        'data = "data.py"',
    ]
    if proposal.evolving:
        listed = _list(_relative(header, folder) for header in proposal.evolving)
        lines.insert(4, f"headers = {listed}     # they evolve with it")
    if others := [name for name in proposal.instances if name != proposal.kernel]:
        lines.insert(-1, f"# The host code launches {', '.join(others)} as well.")
    return "\n".join(lines)


def _build(proposal: Proposal, folder: Path) -> str:
    compilation = proposal.compilation
    lines = ["[build]"]
    if compilation.include:
        lines.append(f"include = {_list(_relative(p, folder) for p in compilation.include)}")
    if compilation.define:
        pairs = (f"{name} = {_quoted(value)}" for name, value in compilation.define.items())
        lines.append(f"define = {{ {', '.join(pairs)} }}")
    lines += [f"standard = {_quoted(compilation.standard)}", 'host = ["-O2"]', 'cuda = ["-O3"]']
    for name in proposal.headers.toolkit:
        lines.append(f"# The host back end has no <{name}>: this target needs a GPU.")
    return "\n".join(lines)


def _parameter(one: Tunable) -> str:
    lines = ["[[parameter]]", f"name = {_quoted(one.name)}", f"kind = {_quoted(one.kind)}"]
    if one.kind == "macro":
        lines.append(f"values = {list(one.values)}")
    lines.append(f"default = {one.default}")
    if one.standing is Proposing.ACTIVE:
        return "\n".join([*lines, f"help = {_quoted(one.why)}"])
    return "\n".join(f"# {line}" for line in [f"Perhaps; {one.why}", *lines])


def _constraints(proposal: Proposal) -> Iterator[str]:
    active = {p.name for p in proposal.parameters if p.standing is Proposing.ACTIVE}
    block = proposal.launching.block
    if len(block) > 1 and active & set(block):
        product = " * ".join(bracketed(one) for one in block)
        lines = [f'that = "{product} <= 1024"', 'why = "a block has at most 1024 threads"']
        yield "\n".join(["[[constraint]]", *lines])


def _size(proposal: Proposal, buffer: ProposedBuffer) -> str:
    parts = buffer.element.parts
    items = buffer.elements or " * ".join(proposal.counts)
    return _times(items, parts)


def _times(items: str, parts: int) -> str:
    if parts == 1:
        return items
    return f"({items}) * {parts}" if set("+-/ ") & set(items) else f"{items} * {parts}"


_ROLES = {
    "input": "only read",
    "output": "only written",
    "inout": "read and written: what it holds before each launch comes from data.py",
}


def _buffers(proposal: Proposal) -> Iterator[str]:
    comment = "# Sizes are in elements of a buffer's type, as the host code allocates them."
    if any(not buffer.elements for buffer in proposal.buffers):
        comment = f"# {MARK}: the size of each buffer, in elements of its type. Assumed where it"
        comment += f" says so:\n# one item for each {' x '.join(proposal.counts)}."
    for buffer in proposal.buffers:
        why = _ROLES[buffer.role]
        if buffer.access is Access.ATOMIC:
            why = "added to by atomics: it starts at zero"
        elif buffer.access is Access.NONE:
            why = "not used by the kernel"
        if buffer.texture:
            why = "read through its texture"
        named = buffer.symbol or buffer.texture
        lines = [
            f"[[buffer]]     # {buffer.shown}{'' if named else ' ' + buffer.name}",
            f"name = {_quoted(buffer.name)}",
            f"type = {_quoted(buffer.element.type)}",
            f"size = {_quoted(_size(proposal, buffer))}"
            + ("" if buffer.elements else f"     # {MARK}"),
            f"role = {_quoted(buffer.role)}     # {why}",
        ]
        if buffer.symbol:
            lines.append(f"symbol = {_quoted(buffer.symbol)}")
        yield "\n".join([comment, *lines] if comment else lines)
        comment = ""


def _textures(proposal: Proposal) -> Iterator[str]:
    comment = (
        f"# {MARK}: what each texture is made of. Assumed: what is fetched. Where host code says"
        "\n# cudaReadModeNormalizedFloat, the buffer has integers of 8 or 16 bits, and the texture"
        '\n# read = "normalized_float".'
    )
    for buffer in proposal.buffers:
        if buffer.texture is None:
            continue
        unseen = "" if buffer.access else f"     # {MARK}: its fetches are not to be seen"
        lines = [
            f"[[texture]]{unseen}",
            f"name = {_quoted(buffer.texture)}",
            f"buffer = {_quoted(buffer.name)}",
        ]
        if buffer.element.parts > 1:
            lines.append(f"components = {buffer.element.parts}")
        yield "\n".join([comment, *lines] if comment else lines)
        comment = ""


def _scalars(proposal: Proposal) -> Iterator[str]:
    for extent in proposal.extents:
        if not extent.passed:
            yield "\n".join(
                [
                    "# How much data there is. The kernel does not get it as an argument.",
                    *_scalar(extent.name, "int32"),
                ]
            )
    for scalar in proposal.scalars:
        lines = _scalar(scalar.name, scalar.element.type)
        if scalar.computed is not None:
            lines.append(f"value = {_quoted(scalar.computed)}     # as in the host code")
        elif scalar.name not in proposal.counts:
            lines[0] += f"     # its value is in data.py{'' if scalar.source else f': {MARK}'}"
        yield "\n".join(lines)


def _scalar(name: str, kind: str) -> list[str]:
    return ["[[scalar]]", f"name = {_quoted(name)}", f"type = {_quoted(kind)}"]


def _launch(proposal: Proposal) -> str:
    launching = proposal.launching
    if launching.place is not None:
        comment = f"# As in line {launching.place.line} of {launching.place.file}."
    else:
        comment = f"# {MARK}: the source does not say how the kernel is launched, or not plainly."
    lines = [comment]
    if launching.named:
        lines.append(f"# With these names as parameters: {launching.named}")
    lines += [
        "[[launch]]",
        f"kernel = {_quoted(proposal.kernel)}",
        f"grid = {_list(launching.grid)}",
        f"block = {_list(launching.block)}",
    ]
    if launching.shared != "0":
        lines.append(f"shared = {_quoted(launching.shared)}     # bytes")
    return "\n".join([*lines, f"args = {_list(proposal.arguments)}"])


def _oracles(proposal: Proposal) -> Iterator[str]:
    judged = [b for b in proposal.buffers if b.role in ("output", "inout")]
    real = [b for b in judged if b.element.floating]
    whole = [b.name for b in judged if not b.element.floating]
    if not real:
        yield '[oracle]\nkind = "exact"'
        return
    # A struct is judged byte by byte: there is no tolerance for it.
    smooth = [b.name for b in real if b.element.type.startswith("float")]
    whole += [b.name for b in real if not b.element.type.startswith("float")]
    narrow = any(b.element.type != "float64" for b in real if b.name in smooth)
    accuracy = "1e-4" if narrow else "1e-9"
    if smooth:
        lines = [
            f"# {MARK}: how far results may be from the reference's; both may be 0.",
            "[[oracle]]",
            'kind = "tolerance"',
            f"absolute = {accuracy}",
            f"relative = {accuracy}",
        ]
        yield "\n".join([*lines, f"buffers = {_list(smooth)}"] if whole else lines)
    if whole:
        yield "\n".join(["[[oracle]]", 'kind = "exact"', f"buffers = {_list(whole)}"])


def _cases(proposal: Proposal) -> Iterator[str]:
    extents = proposal.extents
    small = [(e.train, e.held_out) for e in extents]
    same = all(e.device == e.train for e in extents)
    backends = [] if same else [_backends(gpu=False)]
    comment = "# Cases: train ones give fitness, held-out ones only ever validate."
    yield _case(comment, "train", "train", backends, 1, extents, [a for a, _ in small])
    yield _case("", "held-out", "held-out", backends, 2, extents, [b for _, b in small])
    if same:
        return
    device = [e.device for e in extents]
    half = [max(1, device[0] // 2), *device[1:]]
    backends = [_backends(gpu=True)]
    comment = f"# {MARK}: sizes worth the while of a GPU."
    yield _case(comment, "large", "train", backends, 3, extents, device)
    yield _case("", "large-held-out", "held-out", backends, 4, extents, half)


def _backends(*, gpu: bool) -> str:
    return f"backends = {_list(backends_on_gpus(gpu=gpu))}"


def _case(
    comment: str,
    name: str,
    role: str,
    backends: list[str],
    seed: int,
    extents: tuple[Extent, ...],
    values: list[int],
) -> str:
    args = {"seed": seed} | {python_name(e.name): v for e, v in zip(extents, values, strict=True)}
    pairs = ", ".join(f"{key} = {value}" for key, value in args.items())
    lines = ["[[case]]", f"name = {_quoted(name)}", f"role = {_quoted(role)}", *backends]
    return "\n".join([*([comment] if comment else []), *lines, f"args = {{ {pairs} }}"])


def data_py(proposal: Proposal) -> str:
    """The data module: random inputs of the right types and sizes."""
    sizes = [python_name(extent.name) for extent in proposal.extents]
    signature = ", ".join(["seed: int", *(f"{name}: int" for name in sizes)])
    given = [b for b in proposal.buffers if b.role in ("input", "inout")]
    lines = [
        f'"""Inputs of {proposal.kernel}. {MARK}: data like the real ones; these are random."""',
        "",
        "import numpy as np",
        *(line for b in given for line in _layout(b)),
        *(_RANDOM_ITEMS.splitlines() if any(b.element.fields for b in given) else ()),
        "",
        "",
        f"def case({signature}) -> dict[str, object]:",
        f'    """Inputs for one case: {", ".join(["a seed", *sizes])} as target.toml has them."""',
        *(["    rng = np.random.default_rng(seed)"] if any(map(_random, given)) else []),
        "    return {",
        *(f"        {_quoted(b.name)}: {_made(proposal, b)}," for b in given),
        *(f"        {_quoted(e.name)}: {python_name(e.name)}," for e in proposal.extents),
    ]
    for scalar in proposal.scalars:
        if scalar.name not in proposal.counts and scalar.computed is None:
            why = "as in the host code" if scalar.source else MARK
            lines.append(f"        {_quoted(scalar.name)}: {scalar.value!r},  # {why}")
    return "\n".join([*lines, "    }", ""])


def _layout(buffer: ProposedBuffer) -> list[str]:
    """A struct's layout, as C has it."""
    if not buffer.element.fields:
        return []
    members = [
        f'        ("{name}", np.{kind}' + (f", ({length},))," if length > 1 else "),")
        for name, kind, length in buffer.element.fields
    ]
    return [
        "",
        f"{_layout_name(buffer)} = np.dtype(",
        "    [",
        *members,
        "    ],",
        "    align=True,",
        ")",
    ]


def _layout_name(buffer: ProposedBuffer) -> str:
    return f"{buffer.name.upper()}_ITEM"


def _random(buffer: ProposedBuffer) -> bool:
    return buffer.access is not Access.ATOMIC and not buffer.element.fields


def _made(proposal: Proposal, buffer: ProposedBuffer) -> str:
    element = buffer.element
    items = buffer.elements or " * ".join(proposal.counts)
    items = re.sub(r"[A-Za-z_]\w*", lambda m: python_name(m[0]), items).replace("/", "//")
    if element.fields:
        return f"random_items({_layout_name(buffer)}, {items}, seed)"
    size = _times(items, element.parts)
    if not _random(buffer):
        return f"np.zeros({size}, dtype=np.{element.type})"
    if element.type in ("float32", "float64"):
        return f"rng.random({size}, dtype=np.{element.type})"
    if element.type == "float16":
        return f"rng.random({size}).astype(np.float16)"
    return f"rng.integers(0, {2 if element.truth else 100}, {size}, dtype=np.{element.type})"


_RANDOM_ITEMS = '''

def random_items(layout: np.dtype, items: int, seed: int) -> np.ndarray:
    """Random structs as bytes: real numbers in [0, 1), whole ones below 100."""
    rng = np.random.default_rng(seed)
    found = np.zeros(items, dtype=layout)
    for name in layout.names:
        part = found[name]
        real = np.issubdtype(part.dtype, np.floating)
        part[...] = rng.random(part.shape) if real else rng.integers(0, 100, part.shape)
    return found.view(np.uint8)
'''


def _remarks(proposal: Proposal, function: Function) -> str:
    """Whether a function is the kernel, and the header that it stands in."""
    file = proposal.files[function.name]
    header = "" if file == proposal.source.name else f", in `{file}`"
    return f"{' (kernel)' if function.kernel else ''}{header}"


def readme(proposal: Proposal, folder: Path) -> str:
    """What the folder is, and what to do next."""
    functions = "\n".join(
        f"- `{function.name}`{_remarks(proposal, function)}" for function in proposal.functions
    )
    name = folder
    headers = ", ".join(f"`{path.name}`" for path in proposal.headers.own)
    fixed = f"\n\nFrom headers, and so not changed: {headers}." if headers else ""
    return f"""# {proposal.name}

A target for `gi-cuda`: the kernel `{proposal.kernel}` of
[{proposal.source.name}]({_relative(proposal.source, folder)}), which stays where it is.

Functions that evolve:

{functions}{fixed}

## What to do now

1. Look for `{MARK}` in `target.toml` and `data.py`: the size of each buffer, what its contents look
   like, and how far results may be from the reference's.
2. `gi-cuda check {name}` runs the unmodified kernel, and says if it can be evolved.
3. `gi-cuda evolve {name}` starts the search.
"""
