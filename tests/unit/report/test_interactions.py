"""Tables, DOT and picture of dependencies."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

from rich.console import Console

from gi_cuda.analyze.interactions.algorithm import Dependency, Group, Interactions, Pair, Single
from gi_cuda.report.figures.drawing import save
from gi_cuda.report.figures.interactions import graph
from gi_cuda.report.results.interactions import dot, print_interactions
from gi_cuda.results.speed_up import SpeedUp

A, B, C, D = 'NAME="a b"', "<_k.cu_1><_k.cu_2>", "<IF_k.cu_3>", "<for2_k.cu_4>+<for2_k.cu_5>"
UP = SpeedUp(1.1, 1.05, 1.15)
RESULT = Interactions(
    whole=SpeedUp(1.5, 1.4, 1.6),
    singles=(
        Single(A, UP, "", UP, True),
        Single(B, UP, "", None, False),
        Single(C, None, "wrong: out[0] is 1", UP, False),
        Single(D, UP, "", UP, False),
    ),
    needs=(Dependency(C, (B,), (D,)),),
    pairs=(Pair((B,), (D,), SpeedUp(0.9, 0.85, 0.95), (C,)),),
    groups=(Group((B, C, D), None, None), Group((A,), UP, 0.24)),
    subsets=6,
    possible=8,
    batches=3,
    variants=20,
)


def test_dot_has_a_box_for_each_change_and_an_edge_for_each_dependency() -> None:
    text = dot(RESULT)
    assert re.findall(r'^    (c\d) \[label="(.*)"\];$', text, re.M) == [
        ("c2", B),
        ("c3", C),
        ("c4", D),
        ("c1", 'NAME=\\"a b\\"'),
    ]
    assert "  c3 -> c2;" in text
    assert "  c3 -> c4 [style=dashed];" in text
    assert '  c2 -> c4 [dir=none, style=dotted, label="- 0.900"];' in text
    assert text.count("subgraph cluster_") == 2
    assert text.count("{") == text.count("}")


def test_the_picture_names_every_change_and_gain(tmp_path: Path) -> None:
    svg, png = save(graph(RESULT), tmp_path, "interactions")
    said = " ".join(text for text in ET.parse(svg).getroot().itertext() if text.strip())
    for change in (A, B, C, D):
        assert change in said
    assert "gain 1.100 [1.050, 1.150], 24%" in said
    assert "together less: × 0.900 [0.850, 0.950]" in said
    assert png.read_bytes().startswith(b"\x89PNG")


def test_the_tables_say_it_all() -> None:
    console = Console(width=200, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    print_interactions(
        console, "individual 7", RESULT, {one: f"kind {one}" for one in (A, B, C, D)}
    )
    text = console.export_text()
    for said in [
        "individual 7: 4 changes, 1 of them independent; 2 groups",
        "fails without it",
        f"kind {A}; independent",
        "sub-additive",
        "1.500 [1.400, 1.600]",
        "24%",
        "6 of 7 subsets",
        "--budget",
    ]:
        assert said in text
