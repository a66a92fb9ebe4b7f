"""Fixtures for tests of transformations: a compiler for the host, and the variants of a source."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gi_cuda.backends.host.build.library import build_library
from gi_cuda.grammar import EDIT_SETS, Expansion, RuleType, Source, convert
from gi_cuda.grammar.frontends.cuda.parsed_text import CudaText
from tests.integration.backends.conftest import Host


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Host:
    """Return a compiler with a folder of its own."""
    return Host(tmp_path_factory.mktemp("shards"), build_library(), {})


def variants(text: str, kind: RuleType) -> Iterator[str]:
    """Yield a source with each choice at each site of a family."""
    program = CudaText(convert(Source("k.cu", text), types=EDIT_SETS["transforms"]))
    for rule in program.grammar.rules:
        if rule.type is kind:
            yield from (program.render({rule.name: Expansion((), one)}) for one in rule.choices)
