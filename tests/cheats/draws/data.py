"""Inputs: a seed."""


def case(seed: int, n: int) -> dict[str, object]:
    return {"seed": seed, "n": n}
