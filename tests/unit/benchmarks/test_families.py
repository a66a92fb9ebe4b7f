"""Gains of single transformations, from runs."""

from __future__ import annotations

from rich.console import Console

from benchmarks.families import Single, table


def test_the_fastest_single_of_each_run_counts() -> None:
    runs = {
        "one": [Single("warp", "warp_K4", 1.1), Single("warp", "warp_K8", 4.0)],
        "other": [Single("warp", "warp_K4", 0.0), Single("jam", "jam_K2", 0.9)],
    }
    console = Console(width=120)
    with console.capture() as shown:
        console.print(table(runs))
    rows = {line.split()[1]: line for line in shown.get().splitlines() if "│" in line}
    assert [word for word in rows["jam"].split("│")[1:6] if word.strip()] == [
        *(" jam    ", " 1    ", " 1     ", " 0      ", " 1.000          ")
    ]
    assert "2.000" in rows["warp"]
    assert "4.00 (warp_K8, one)" in rows["warp"]
