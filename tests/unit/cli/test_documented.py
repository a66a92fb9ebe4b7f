"""Commands in the documentation are valid, and its links lead somewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
import typer

import gi_cuda.cli

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

VERBS = {name for verbs in gi_cuda.cli._VERBS.values() for name in verbs}

WHOLE = {"--debug", "--version", "--help", "-h", "--install-completion", "--show-completion"}
"""Options of the whole command."""


def options(verb: str) -> set[str]:
    """Return the options of a verb."""
    module = import_module(f"gi_cuda.cli.{gi_cuda.cli._MODULES[verb]}")
    app = typer.Typer()
    app.command()(module.command)
    found = typer.main.get_command(app)
    return {name for one in found.params for name in (*one.opts, *one.secondary_opts)}


OPTIONS = {verb: options(verb) | WHOLE for verb in (*VERBS, *gi_cuda.cli._FORMER)}


def commands(text: str) -> Iterator[str]:
    """Yield the commands in blocks or between backticks, each on one line."""
    blocks = re.findall(r"^```\w*\n(.*?)^```", text, re.S | re.M)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    lines += re.findall(r"`(gi-cuda [^`]*)`", re.sub(r"^```.*?^```", "", text, flags=re.S | re.M))
    for line in lines:
        yield from (one.group() for one in re.finditer(r"gi-cuda [a-z-].*?(?=\)|;|#|$)", line))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_are_what_verbs_take(page: Path) -> None:
    for command in commands(page.read_text("utf-8")):
        ours, _, _ = command.removeprefix("gi-cuda ").partition(" -- ")  # behind it is another's
        verb = next((word for word in ours.split() if word in VERBS), None)
        known = OPTIONS[verb] if verb else WHOLE
        typed = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", ours))
        for former, (now, option) in gi_cuda.cli._FORMER.items():
            if verb == now and option in typed:
                known = OPTIONS[former] | {option}
        assert typed <= known, command


def test_the_first_screen_has_what_it_is_four_commands_one_result_and_one_picture() -> None:
    screen = (ROOT / "README.md").read_text("utf-8").split("| target |")[0]
    places = ("makes existing CUDA kernels faster", "## Install", "## Your kernel", "1.924", "![")
    assert [*map(screen.index, places)] == sorted(map(screen.index, places))
    block = screen.split("## Your kernel")[1].split("```")[1]
    assert re.findall(r"^gi-cuda (\w+)", block, re.M) == ["init", "check", "evolve", "patch"]
    assert screen.count("![") == 1
    assert "say nothing about a GPU" in screen


def test_it_can_be_cited_as_the_version_that_it_is() -> None:
    cited = (ROOT / "CITATION.cff").read_text("utf-8")
    assert "- name: The gi-cuda authors" in cited
    assert f"\nversion: {gi_cuda.__version__}\n" in cited
    assert "CITATION.cff" in (ROOT / "README.md").read_text("utf-8")


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page: its headings, as browsers name them."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.S | re.M)
    headings = re.findall(r"^#+ (.*)$", text, re.M)
    plain = (re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings)
    return {*plain, *re.findall(r'<a id="([^"]*)"', text)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.S | re.M)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), link
        assert not anchor or there.suffix != ".md" or anchor in anchors(there), link
