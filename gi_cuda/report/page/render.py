"""Render a run as a page: templates, style, script and figures in one file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

import gi_cuda
from gi_cuda.analyze.stored.searches import compare_runs, curves
from gi_cuda.analyze.stored.whole_run import WholeRun
from gi_cuda.report.page import charts
from gi_cuda.report.page.page_text import said
from gi_cuda.report.page.payload import colours, payload
from gi_cuda.report.page.pictures import picture_of_several, pictures
from gi_cuda.report.results.searches import latex

LIBRARY = "echarts.common.min.js"


def page(run: WholeRun) -> str:
    """Render the page of one run."""
    packed, left_out = payload(run)
    generations = run.record.generations
    options = {"outcomes": charts.outcomes(generations), "best": charts.best(generations)}
    return rendered(
        "run.html",
        options,
        run=run,
        said=said(run),
        pictures=pictures(run),
        payload=Markup(packed),
        left_out=left_out,
    )


def page_of_several(runs: Sequence[WholeRun]) -> str:
    """Render the page of several runs on one target.

    Raises:
        UserError: the runs are not of one target on one device.
    """
    found = compare_runs(runs)
    told = [(one, said(one)) for one in runs]
    options = {"curves": charts.curves(curves(runs))}
    return rendered(
        "several.html",
        options,
        runs=told,
        found=found,
        latex=latex(found),
        race=picture_of_several(runs),
    )


def rendered(template: str, options: dict[str, Any], **values: object) -> str:
    """Render a template with the values that all pages share.

    Args:
        template: file name of the template.
        options: charts by name.
        values: further values for the template.
    """
    drawn = json.dumps({"options": options, "colours": colours()}, allow_nan=False)
    return (
        _templates()
        .get_template(template)
        .render(
            version=gi_cuda.__version__,
            style=_raw("style.css"),
            script=_raw("page.js"),
            library=_raw(LIBRARY),
            # Without "<", no text in the JSON can end the script element.
            charts=Markup(drawn.replace("<", "\\u003c")),
            **values,
        )
    )


@cache
def _templates() -> Environment:
    return Environment(
        loader=PackageLoader("gi_cuda.report.page", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _raw(name: str) -> Markup:
    return Markup((resources.files("gi_cuda.report.page") / name).read_text("utf-8"))
