"""Sources with bytes cut, turned, doubled and put in: the front end never fails.

Run as a script to try many:
``python tests/integration/grammar/test_grammar_mutilated.py --count 10000``.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

from gi_cuda.errors import UserError
from gi_cuda.grammar import (
    ALL_TYPES,
    Expansion,
    Grammar,
    Operation,
    Source,
    convert,
    instrument,
    render,
)

SOURCES = sorted((Path(__file__).parents[2] / "sources").glob("*.cu"))
PUT_IN = (
    *(b"{", b"}", b"(", b")", b"<", b"*", b"&&", b"::", b";", b'"', b"'", b"/*", b"\\\n", b"\r"),
    *(b"\xff", b"\xc3", b"#if 1\n", b"\n#else\n", b"\n#endif\n", b"template<", b'R"('),
)
LENGTHS = (1, 8, 60, 400)


def mutilate(data: bytes, rng: random.Random) -> bytes:
    """The bytes with up to eight pieces cut, turned round, doubled or put in."""
    for _ in range(rng.randint(1, 8)):
        a = rng.randrange(len(data) + 1)
        b = min(len(data), a + rng.choice(LENGTHS))
        match rng.randrange(4):
            case 0:
                data = data[:a] + data[b:]
            case 1:
                data = data[:a] + data[a:b][::-1] + data[b:]
            case 2:
                data = data[:b] + data[a:]
            case _:
                data = data[:a] + rng.choice(PUT_IN) + data[a:]
    return data


def survive(data: bytes, rng: random.Random) -> bool:
    """Convert, render nothing and some edits; says whether there was a kernel at all."""
    text = data.decode("utf-8", "surrogateescape")
    try:
        grammar = convert(Source("a.cu", text), None, ALL_TYPES)
    except UserError as error:
        if "no kernel" not in error.what:
            raise
        return False
    assert render(grammar, {}) == text
    assert text.encode("utf-8", "surrogateescape") == data
    instrument(grammar)
    for expansions in some_edits(grammar, rng):
        render(grammar, expansions, {})
    return True


def some_edits(grammar: Grammar, rng: random.Random) -> list[dict[str, Expansion]]:
    view = grammar.under({})
    edits = []
    for place in rng.sample(view.mutable, min(4, len(view.mutable))):
        for operation in view.operations(place):
            donor = "" if operation is Operation.DELETE else rng.choice(view.donors(place))
            before = (donor,) if operation is Operation.INSERT else ()
            body = None if operation is Operation.INSERT else donor
            edits.append({place: Expansion(before, body)})
    return edits


def many(count: int, seed: int) -> int:
    """Try so many; how many still had a kernel."""
    rng = random.Random(seed)
    files = [file.read_bytes() for file in SOURCES]
    return sum(survive(mutilate(rng.choice(files), rng), rng) for _ in range(count))


def test_mutilated_sources_do_no_harm() -> None:
    assert many(250, seed=1) > 100


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    kept = many(options.count, options.seed)
    print(f"{options.count} mutilated sources: no crash, all byte-exact; {kept} still had a kernel")


if __name__ == "__main__":
    main()
