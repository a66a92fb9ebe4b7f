"""The CUDA front end: source text to grammar.

Reads sources as they are, unpreprocessed; what it does not understand becomes fixed text.
"""

from __future__ import annotations

from collections.abc import Sequence

from gi_cuda.grammar.frontends.cuda.analysis import analyse
from gi_cuda.grammar.frontends.cuda.naming import assemble, named
from gi_cuda.grammar.grammar import Grammar
from gi_cuda.grammar.rule_types import PAPER_TYPES, SPECIALS, RuleType
from gi_cuda.grammar.source import Source


def convert(
    source: Source,
    kernels: Sequence[str] | None = None,
    types: frozenset[RuleType] = PAPER_TYPES,
) -> Grammar:
    """Read a CUDA source as a grammar with rules of the types given.

    The kernels named (None: every ``__global__`` function) and the device functions of the file
    that they reach are read as rules; everything else is fixed text.

    Raises:
        UserError: there is no kernel, or none of a name asked for.
    """
    analysis = analyse(source, kernels, types)
    return assemble(source, analysis, list(named(source, analysis.findings.rules)), SPECIALS)
