"""``gi-cuda mcp``, driven by the client of the official SDK."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.elementwise import elementwise_target
from gi_cuda.cli.referee.mcp_tools import Commands, Mistake

KERNEL = """\
__global__ void twice(const float *in, float *out, int n)
{
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i < n)
        out[i] = 2.0f * in[i];
}
"""
TARGET = elementwise_target("twice", block=64, train="n = 100", held_out="n = 200")
DATA = """\
import numpy as np


def case(n):
    return {"in": np.arange(n, dtype=np.float32), "n": n}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a kernel and its target."""
    for name, text in (("twice.cu", KERNEL), ("target.toml", TARGET), ("data.py", DATA)):
        (tmp_path / name).write_text(text)
    return tmp_path


def test_the_sdks_client_gets_verdicts_and_bad_input_ends_nothing(folder: Path) -> None:
    mcp = pytest.importorskip("mcp")
    words = ["-m", "gi_cuda", "mcp", "--folder", str(folder), "--time", "5m"]
    path = ":".join(one for one in sys.path if one)
    environment = {"PYTHONPATH": path, "XDG_CACHE_HOME": os.environ["XDG_CACHE_HOME"]}
    server = mcp.StdioServerParameters(command=sys.executable, args=words, env=environment)

    async def talk() -> None:
        async with mcp.Client(server) as client:
            tools = (await client.list_tools()).tools
            assert {one.name for one in tools} == {
                *("init", "check", "judge", "try", "show", "explain"),
            }

            async def called(name: str, **given: Any) -> Any:
                try:
                    return await client.call_tool(name, given)
                except mcp.MCPError as error:
                    return error

            outside = await called("judge", original="/etc/passwd", text="x")
            assert "outside the folders" in str(outside)
            both = await called("judge", original="twice.cu", text="x", rewritten="twice.cu")
            assert "give the rewrite" in str(both)
            for name, given in (
                ("judge", {}),
                ("judge", {"original": 3, "text": []}),
                ("judge", {"original": "a\0b", "text": "x"}),
                ("nothing", {"original": "twice.cu"}),
                ("try", {"target": ".", "genotypes": "no list"}),
            ):
                await called(name, **given)
            absent = await called("show", run="nowhere")
            assert absent.structured_content["exit_status"] == 2
            assert "no run is stored here" in absent.structured_content["said"]
            late = await called("check", target=".", backend="host", seconds=0.01)
            assert late.structured_content["error"] == "ended after 0.01 seconds"
            text = KERNEL.replace("int n", "int n, float by")
            judged = await called("judge", original="twice.cu", text=text, backend="host")
            answer = judged.structured_content
            assert answer["exit_status"] == 3, answer
            assert answer["result"]["status"] == "invalid"
            assert answer["result"]["reasons"][0]["code"] == "other-parameters"

    asyncio.run(talk())


def test_paths_stay_in_the_folders(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for one in (inside, outside):
        one.mkdir()
    (inside / "link").symlink_to(outside)
    commands = Commands((inside,), 1.0)
    assert commands.path("a/b.cu") == str(inside / "a" / "b.cu")
    for text in ("../outside/a.cu", str(outside), "link/a.cu", "", "a\0b"):
        with pytest.raises(Mistake):
            commands.path(text)


def test_without_the_extra_one_message_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['mcp'] = None; sys.argv = ['gi-cuda', 'mcp'];"
        " from gi_cuda.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "pip install 'gi-cuda[mcp]'" in done.stderr
    assert "Traceback" not in done.stderr
