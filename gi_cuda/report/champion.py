"""What is said of a run's winner."""

from __future__ import annotations

from rich.console import Console

from gi_cuda.analyze.champion import Champion


def print_champion(console: Console, champion: Champion | None) -> None:
    """The winner's speed-up on held-out cases, and the edits behind it, one a line."""
    if champion is None:
        console.print("no individual is faster than the reference on the held-out cases")
        return
    validation = champion.validation
    console.print(
        f"winner: individual {champion.ident}, speed-up on held-out cases"
        f" {validation.overall} (95 % interval)",
        style="bold",
        highlight=False,
        soft_wrap=True,
    )
    for case, speed_up in (validation.cases or {}).items():
        console.print(f"  {case}: {speed_up}", highlight=False)
    console.print("its changes:")
    for word in champion.genotype.split(" "):
        console.print(f"  {word}", highlight=False, markup=False, soft_wrap=True)
