"""Helpers for all figures: SVG and PNG files, readable in greyscale."""

from __future__ import annotations

import io
from pathlib import Path

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gi_cuda.errors import UserError

FORMATS = ("svg", "png")
WIDTH, HEIGHT = 7.0, 4.2
DARK, MIDDLE, LIGHT = "0.0", "0.45", "0.75"
LONGEST = 44
"""Largest number of characters of a change in a label."""

SPEED_UP = "speed-up (reference time / variant time)"


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write a figure in every format and return the files.

    Raises:
        UserError: a file cannot be written.
    """
    files = [folder / f"{name}.{suffix}" for suffix in FORMATS]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Text is not converted to paths, and equal figures give equal files.
        with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
            for file in files:
                metadata = {"Date": None} if file.suffix == ".svg" else None
                figure.savefig(file, dpi=150, metadata=metadata)
                figure.set_layout_engine("none")  # keep the layout of the first format
    except OSError as error:
        raise UserError(
            f"figures cannot be written: {error.strerror}", where=str(error.filename or folder)
        ) from None
    return files


def svg(figure: Figure, name: str) -> str:
    """Return a figure as the text of an SVG file; equal figures give equal texts."""
    text = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        figure.savefig(text, format="svg", dpi=150, metadata={"Date": None})
    return text.getvalue()


def short(change: str) -> str:
    """Shorten a change to a label."""
    return change if len(change) <= LONGEST else f"{change[: LONGEST - 1]}…"


def new_figure(height: float = HEIGHT, width: float = WIDTH) -> tuple[Figure, Axes]:
    """Return an empty figure in the common style; sizes in inches."""
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def legend(figure: Figure, axes: Axes) -> None:
    """Add a legend below the axes."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", frameon=False, ncols=2, fontsize=9)
