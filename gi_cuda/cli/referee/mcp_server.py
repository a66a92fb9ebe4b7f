"""The server of ``gi-cuda mcp``, with a tool for each command that an agent needs."""

from __future__ import annotations

import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

import gi_cuda
from gi_cuda.cli.referee.mcp_tools import Commands, Mistake

_INSTRUCTIONS = """\
gi-cuda improves CUDA kernels and judges rewritten ones. To know whether a rewrite of a kernel is
right and faster, call judge with the original file and the rewrite (a path, or its text). Results
have the JSON of the verbs of the same names: `result`, `exit_status`, and `said`, what people are
told. Paths must be inside the folders that the server was started with."""

Answer = dict[str, Any]


def server_of(commands: Commands) -> MCPServer:
    """Return a server whose tools run commands."""
    server = MCPServer("gi-cuda", instructions=_INSTRUCTIONS, version=gi_cuda.__version__)
    path = commands.path

    async def init(
        source: str,
        kernel: str | None = None,
        output: str | None = None,
        seconds: float | None = None,
    ) -> Answer:
        """Make a target folder of a CUDA source file: how its kernel is launched, with which data,
        and how its results are judged. `output` is the folder; by default targets/KERNEL."""
        words = [path(source), *_option("--kernel", kernel)]
        words += _option("--output", output and path(output))
        return await commands.run("init", words, seconds)

    async def check(target: str, backend: str = "auto", seconds: float | None = None) -> Answer:
        """Check that a target is sound: that its kernel passes its own test, and that a copy of it
        measures as the same."""
        return await commands.run("check", [path(target), "--backend", backend], seconds)

    async def judge(
        original: str,
        rewritten: str | None = None,
        text: str | None = None,
        target: str | None = None,
        kernel: str | None = None,
        certificate: str | None = None,
        backend: str = "auto",
        seconds: float | None = None,
    ) -> Answer:
        """Judge a rewritten CUDA kernel: faster, slower, same, inconclusive, incorrect, invalid or
        unverified, with reasons.

        `original` is the file with the kernel. The rewrite is either a path, `rewritten` (a file, a
        folder or a diff), or its text, `text` (a whole file or a diff). Without `target` one is
        looked for beside the original, or made."""
        if (rewritten is None) == (text is None):
            raise Mistake("give the rewrite as `rewritten`, a path, or as `text`")
        with _as_file(text, Path(original).suffix) as file:
            new = str(file) if rewritten is None else path(rewritten)
            words = [path(original), new, "--backend", backend, *_option("--kernel", kernel)]
            words += _option("--target", target and path(target))
            words += _option("--certificate", certificate and path(certificate))
            return await commands.run("judge", words, seconds)

    async def try_(
        target: str,
        genotypes: list[str],
        backend: str = "auto",
        seconds: float | None = None,
    ) -> Answer:
        """Evaluate edits of a target's kernel, in gi-cuda's notation such as
        'BLOCK=128 <_kernel.cu_126>': right or wrong, and how fast."""
        words = [path(target), "--backend", backend, "--", *genotypes]
        return await commands.run("try", words, seconds)

    async def show(run: str, individual: int | None = None, seconds: float | None = None) -> Answer:
        """Show what a search found: its generations, its best individuals, its winner with the
        diff; or one individual."""
        return await commands.run(
            "show", [path(run), *_option("--individual", individual)], seconds
        )

    async def explain(
        run: str, individual: int | None = None, seconds: float | None = None
    ) -> Answer:
        """Explain what each change of a search's winner does, and what it is worth."""
        return await commands.run(
            "explain", [path(run), *_option("--individual", individual)], seconds
        )

    for tool in (init, check, judge, show, explain):
        server.add_tool(_told(tool))
    server.add_tool(_told(try_), name="try")
    return server


def _told(tool: Callable[..., Awaitable[Answer]]) -> Callable[..., Awaitable[Answer]]:
    """Wrap a tool so that it reports mistakes in a call to the client."""

    @wraps(tool)
    async def called(**given: Any) -> Answer:
        try:
            return await tool(**given)
        except Mistake as error:
            raise ToolError(str(error)) from None

    return called


def serve(commands: Commands) -> None:
    """Serve on standard input and output until the client ends the connection."""
    server_of(commands).run("stdio")


def _option(name: str, value: object) -> list[str]:
    return [] if value is None or value == "" else [name, str(value)]


@contextmanager
def _as_file(text: str | None, suffix: str) -> Iterator[Path | None]:
    """Yield a temporary file with a text; a diff gets the suffix ``.diff``."""
    if text is None:
        yield None
        return
    diff = text.lstrip().startswith(("--- ", "diff ", "From ", "Index: "))
    with tempfile.TemporaryDirectory(prefix="gi-cuda-") as folder:
        file = Path(folder) / f"rewrite{'.diff' if diff else suffix}"
        file.write_text(text, encoding="utf-8", errors="replace")
        yield file
