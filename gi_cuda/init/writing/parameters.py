"""Write the parameters of a proposed target as TOML: macros, constants, compiler options."""

from __future__ import annotations

from collections.abc import Iterator

from gi_cuda.init.build.build_options import FAST_MATH
from gi_cuda.init.kernel.sizes import bracketed
from gi_cuda.init.kernel.tuning import Tunable
from gi_cuda.init.proposing.proposal import Proposal
from gi_cuda.init.writing.toml import table


def parameters(proposal: Proposal) -> Iterator[str]:
    """Yield the tables of all parameters, and of the constraints between them."""
    yield from (_parameter(one) for one in proposal.parameters)
    yield from _compiler_options(proposal)
    yield from _constraints(proposal)


def _parameter(one: Tunable) -> str:
    made = table(
        "[[parameter]]",
        "" if one.active else f"Perhaps; {one.why}",
        name=one.name,
        kind=one.kind,
        values=one.values or None,
        default=one.default,
        help=one.why if one.active else None,
    )
    return made if one.active else made.replace("\n", "\n# ")


def is_inexact(proposal: Proposal) -> bool:
    """Tell whether results are floating-point numbers, which may differ a little."""
    return any(one.element.floating for one in proposal.buffers if one.role in ("output", "inout"))


def _compiler_options(proposal: Proposal) -> Iterator[str]:
    """Yield options of nvcc that are worth a try for any kernel.

    These are a limit of registers and, if results may differ a little, fast mathematics. A
    maintainer
    who wants them changes the build.
    """
    known = {one.name for one in proposal.parameters}
    options: dict[str, tuple[str, list[str | int], str, str]] = {
        "REGISTERS": ("-maxrregcount={}", ["", 32, 64, 128], "", "registers of a thread at most")
    }
    if is_inexact(proposal):
        fast = "fast and less accurate functions and divisions of float"
        usual = FAST_MATH if FAST_MATH in proposal.compilation.options else ""
        options["FAST_MATH"] = ("{}", ["", FAST_MATH], usual, fast)
    for name, (text, values, default, words) in options.items():
        if name not in known:
            yield table(
                "[[parameter]]",
                name=name,
                kind="option",
                text=text,
                values=values,
                default=default,
                help=words,
                backends=["cuda"],
            )


def _constraints(proposal: Proposal) -> Iterator[str]:
    active = {p.name for p in proposal.parameters if p.active}
    for block in dict.fromkeys(step.launching.block for step in proposal.steps):
        if len(block) > 1 and active & set(block):
            product = " * ".join(bracketed(one) for one in block)
            why = "a block has at most 1024 threads"
            yield table("[[constraint]]", that=f"{product} <= 1024", why=why)
