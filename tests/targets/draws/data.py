"""Cases of draws."""

from typing import Any


def case(seed: int, n: int) -> dict[str, Any]:
    return {"seed": seed, "n": n}
