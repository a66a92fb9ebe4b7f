"""Output of ``gi-cuda explain --interactions``: dependencies of changes as tables and DOT graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.console import Console
from rich.text import Text

from gi_cuda.analyze.interactions.algorithm import Interactions
from gi_cuda.report.tables import counted, print_table, right, say, say_whole, table, whole


def print_interactions(
    console: Console, name: str, result: Interactions, told: Mapping[str, str]
) -> None:
    """Print a summary in one line, then tables of changes, needs, pairs and groups.

    Args:
        console: the console.
        name: name of the winner.
        result: dependencies of the changes.
        told: each change in words, by notation.
    """
    independent = sum(one.independent for one in result.singles)
    say(
        console,
        f"{name}: {counted(len(result.singles), 'change')}, {independent} of them independent;"
        f" {counted(len(result.groups), 'group')}; speed-up on the train cases {result.whole}"
        " (95 % interval)",
        "bold",
    )
    _print_singles(console, result, told)
    _print_needs(console, result)
    _print_pairs(console, result)
    _print_groups(console, result)
    took = f"{counted(result.variants, 'variant')} in {counted(result.batches, 'step')}"
    if result.possible > 1:
        took = f"{result.subsets} of {result.possible - 1} subsets of the dependent changes; {took}"
    say(console, f"read: {took}")
    if result.subsets < result.possible - 1:
        say(console, "more of them with --budget")


def _print_singles(console: Console, result: Interactions, told: Mapping[str, str]) -> None:
    say(console, "changes: speed-up alone, and on top of all others")
    alone_in_group = {group.changes for group in result.groups}
    for number, one in enumerate(result.singles, 1):
        alone = str(one.alone) if one.alone else "fails"
        last = str(one.last) if one.last else "fails without it"
        kind = "independent" if one.independent else "dependent"
        if not one.independent and (one.change,) in alone_in_group:
            kind = "dependent, on what is not certain"
        say_whole(console, f"{number:3}  {one.change}")
        say(console, f"     {told[one.change]}; {kind}")
        say(console, f"     alone {alone}; on top {last}")


def _print_needs(console: Console, result: Interactions) -> None:
    if not result.needs:
        return
    rows = table("what fails without others", *whole("change", "needs", "and one of"))
    for need in result.needs:
        rows.add_row(Text(need.change), _lines(need.always), _lines(need.either))
    print_table(console, rows)


def _print_pairs(console: Console, result: Interactions) -> None:
    if not result.pairs:
        return
    title = "what gains more or less together than apart"
    rows = table(title, *whole("changes", "beside", "factor", ""))
    for pair in result.pairs:
        kind = "super-additive" if pair.super_additive else "sub-additive"
        both = _lines((*pair.first, *pair.second))
        rows.add_row(both, _lines(pair.context), str(pair.factor), kind)
    print_table(console, rows)


def _print_groups(console: Console, result: Interactions) -> None:
    title = "groups: gain on top of all others, and share of the logarithm of the speed-up"
    rows = table(title, *whole("changes"), "gain", *right("share"))
    for group in result.groups:
        gain = str(group.gain) if group.gain else "fails without them"
        share = "" if group.share is None else f"{group.share:.0%}"
        rows.add_row(_lines(group.changes), gain, share)
    print_table(console, rows)


def _lines(words: Iterable[str]) -> Text:
    return Text("\n".join(words))


def dot(result: Interactions) -> str:
    """Return the dependency graph in Graphviz's language DOT.

    Each change is a box, and boxes of one group form a cluster. An arrow goes from a change to a
    change that it needs to work, dashed if it needs one of several. A line without arrow joins
    changes that gain more (``+``) or less (``-``) together than apart.
    """
    numbers = {one.change: f"c{number}" for number, one in enumerate(result.singles, 1)}
    lines = ["digraph changes {", "  node [shape=box, fontname=monospace];"]
    for at, group in enumerate(result.groups, 1):
        gain = f"gain {group.gain.value:.3f}" if group.gain else "fails without"
        lines.append(f"  subgraph cluster_{at} {{")
        lines.append(f"    label={_quoted(gain)};")
        lines += [f"    {numbers[one]} [label={_quoted(one)}];" for one in group.changes]
        lines.append("  }")
    for need in result.needs:
        lines += [f"  {numbers[need.change]} -> {numbers[other]};" for other in need.always]
        lines += [
            f"  {numbers[need.change]} -> {numbers[other]} [style=dashed];" for other in need.either
        ]
    for pair in result.pairs:
        sign, style = ("+", "bold") if pair.super_additive else ("-", "dotted")
        label = _quoted(f"{sign} {pair.factor.value:.3f}")
        ends = f"{numbers[pair.first[0]]} -> {numbers[pair.second[0]]}"
        lines.append(f"  {ends} [dir=none, style={style}, label={label}];")
    return "\n".join([*lines, "}", ""])


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
