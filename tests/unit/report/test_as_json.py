"""Output of ``--json``."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from gi_cuda.evaluate.checks.finding import Finding
from gi_cuda.report.as_json import as_json, schema
from gi_cuda.results.speed_up import SpeedUp

SCHEMA = Path(__file__).parents[3] / "docs" / "reference" / "json.schema.json"


def test_the_documented_schema_is_that_of_the_records() -> None:
    """Mend with: python -m tests.unit.report.test_as_json"""
    documented, now = json.loads(SCHEMA.read_text("utf-8")), schema()
    assert documented["properties"] == now["properties"]
    assert _keys(documented) == _keys(now)


def _keys(whole: dict[str, Any]) -> dict[str, list[str]]:
    """The keys of each record; how all else is written differs with pydantic's version."""
    return {name: sorted(one.get("properties", ())) for name, one in whole["$defs"].items()}


def test_what_is_not_finite_is_null() -> None:
    printed = json.loads(as_json(SpeedUp(1.5, 0.0, math.inf)))
    assert printed == {"value": 1.5, "low": 0.0, "high": None}


def test_bytes_of_a_source_that_are_no_text_do_not_matter() -> None:
    printed = json.loads(as_json(Finding("k.cu:1", "caf\udce9", "naïve")))
    assert printed == {"where": "k.cu:1", "what": "caf?", "hint": "naïve"}


if __name__ == "__main__":
    SCHEMA.write_text(json.dumps(schema(), indent=1) + "\n")
