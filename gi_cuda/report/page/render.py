"""A run as a page: templates, style, script and figures put into one file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

import gi_cuda
from gi_cuda.analyze.searches import Searches, compare_searches
from gi_cuda.analyze.whole import WholeRun
from gi_cuda.report.page import charts
from gi_cuda.report.page.payload import colours, payload
from gi_cuda.report.page.pictures import picture_of_several, pictures
from gi_cuda.report.page.said import said

LIBRARY = "echarts.common.min.js"


def page(run: WholeRun) -> str:
    """One run as a page."""
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
    """Several runs on one target as a page.

    Raises:
        UserError: they are not of one target on one device.
    """
    found = compare_searches(runs)
    told = [(one, said(one)) for one in runs]
    options = {"curves": charts.curves(found.kinds)}
    return rendered(
        "several.html",
        options,
        runs=told,
        found=found,
        latex=latex(found),
        race=picture_of_several(runs),
    )


def latex(found: Searches) -> str:
    """The comparison as tables for LaTeX (with booktabs)."""
    kinds = [
        (_tex(one.name), len(one.found), f"{one.median:.3f}", f"{one.low:.3f}--{one.high:.3f}")
        for one in found.kinds
    ]
    tables = [_tabular(("search", "runs", "median speed-up", "quartiles"), kinds)]
    if found.pairings:
        pairings = [
            (
                _tex(one.first),
                _tex(one.second),
                f"{one.a12:.2f}",
                f"{one.p:.3g}",
                f"{one.corrected:.3g}",
            )
            for one in found.pairings
        ]
        headings = ("search", "beside", r"$\hat{A}_{12}$", "$p$", "$p$ (Holm)")
        tables.append(_tabular(headings, pairings))
    return "\n\n".join(tables)


def _tabular(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [" & ".join(map(str, row)) + r" \\" for row in (headings, *rows)]
    columns = "l" + "r" * (len(headings) - 1)
    head = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", lines[0], r"\midrule"]
    return "\n".join([*head, *lines[1:], r"\bottomrule", r"\end{tabular}"])


def _tex(text: str) -> str:
    return re.sub(r"([&%$#_{}])", r"\\\1", text)


def rendered(template: str, options: dict[str, Any], **values: object) -> str:
    """A template with what all pages have."""
    drawn = json.dumps({"options": options, "colours": colours()}, allow_nan=False)
    return (
        _templates()
        .get_template(template)
        .render(
            version=gi_cuda.__version__,
            style=_raw("style.css"),
            script=_raw("page.js"),
            library=_raw(LIBRARY),
            # No text in it can end the element that it stands in.
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
