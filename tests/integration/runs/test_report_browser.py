"""The page of ``gi-cuda report`` in a real browser: Chromium without a window."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from gi_cuda.analyze.stored.whole_run import whole_run
from gi_cuda.report.page.render import page, page_of_several
from gi_cuda.runs.stored import open_store, stored_subject
from tests.integration.runs.conftest import Finished
from tests.integration.runs.synthetic import copy_without_individuals, grow

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")

pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="no chromium (apt-get install chromium chromium-driver)"
)

WIDTHS = (400, 1000, 1600)


@pytest.fixture(scope="module")
def browser() -> Iterator[Chrome]:
    """A browser that notes what pages complain of and ask for."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="pip install selenium")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    opened = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield opened
    opened.quit()


@pytest.fixture(scope="module")
def grown(finished: Finished, tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Path]:
    """Runs of so many individuals; the winner is that of the finished run."""

    def grow_to(count: int) -> Path:
        folder = tmp_path_factory.mktemp("grown") / "run"
        copy_without_individuals(finished.folder, folder)
        with open_store(folder) as store, open_store(finished.folder) as old:
            grow(store, stored_subject(store, folder), count, max(1, count // 5), Random(1))
            store.put(champion=old.get("champion") | {"ident": 1} if count else None)
        return folder

    return grow_to


def visit(browser: Chrome, text: str, file: Path, width: int) -> None:
    """Open a page and wait until it is drawn."""
    from selenium.webdriver.support.ui import WebDriverWait

    file.write_text(text, "utf-8")
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(file.as_uri())
    ready = "return document.documentElement.dataset.ready"
    WebDriverWait(browser, 60, 0.05).until(lambda one: one.execute_script(ready) == "yes")


@contextmanager
def without_scripts(browser: Chrome) -> Iterator[None]:
    """Disable scripts, as some readers do."""
    command = "Emulation.setScriptExecutionDisabled"
    browser.execute_cdp_cmd(command, {"value": True})
    yield
    browser.execute_cdp_cmd(command, {"value": False})


def asked_for(browser: Chrome) -> list[str]:
    """Return the addresses of requests since the last call."""
    events = (json.loads(one["message"])["message"] for one in browser.get_log("performance"))
    sent = [one["params"] for one in events if one["method"] == "Network.requestWillBeSent"]
    return [one["request"]["url"] for one in sent]


def drawn(browser: Chrome, chart: str) -> dict[str, Any]:
    """Return the options of a figure."""
    script = f"return echarts.getInstanceByDom(document.getElementById('{chart}')).getOption()"
    found: dict[str, Any] = browser.execute_script(script)
    return found


@pytest.mark.parametrize("count", [0, 1, 50, 6000])
def test_one_run(browser: Chrome, grown: Callable[[int], Path], tmp_path: Path, count: int) -> None:
    run = whole_run(grown(count))
    text = page(run)
    asked_for(browser)
    for width in WIDTHS:
        visit(browser, text, tmp_path / "page.html", width)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        painted = "return document.querySelectorAll('.chart canvas').length"
        assert browser.execute_script(painted) == (3 if count else 0)
        if not count:
            continue
        dots = sum(len(one["data"]) for one in drawn(browser, "dots")["series"])
        assert dots == count + 2  # the ends of the line at 1
    assert browser.get_log("browser") == []
    assert all(one.startswith(("file:", "data:")) for one in asked_for(browser))


def seen(browser: Chrome, selector: str) -> list[str]:
    """Return the visible texts of elements, or the alternative texts of images."""
    those = browser.find_elements("css selector", selector)
    return [one.get_attribute("alt") or one.text for one in those if one.is_displayed()]


def test_without_scripts_figures_are_images(
    browser: Chrome, grown: Callable[[int], Path], tmp_path: Path
) -> None:
    file = tmp_path / "page.html"
    file.write_text(page(whole_run(grown(50))), "utf-8")
    with without_scripts(browser):
        browser.get(file.as_uri())
        assert len(seen(browser, "#search figure img")) == 2
        assert seen(browser, ".scripted, .chart") == []
        assert "need JavaScript" in "".join(seen(browser, "#individuals .note"))
        assert len(seen(browser, "#table tbody tr")) == 10
        runs = [whole_run(grown(count), drawn=0) for count in (20, 30)]
        file.write_text(page_of_several(runs), "utf-8")
        browser.get(file.as_uri())
        assert seen(browser, "figure img") == ["How fast each search found what it found"]
    browser.get(file.as_uri())
    assert seen(browser, "figure img") == []


def test_every_individual_leads_to_what_became_of_it(
    browser: Chrome, grown: Callable[[int], Path], tmp_path: Path
) -> None:
    run = whole_run(grown(50))
    visit(browser, page(run), tmp_path / "page.html", 1000)
    box = browser.find_element("id", "detail")
    for one in run.individuals:
        browser.execute_script("page.choose(page.run.at.get(arguments[0]))", one.individual)
        said = box.text
        assert f"Individual {one.individual}: {one.outcome}" in said
        assert one.message in said
        if one.speed_up and one.low and one.high:
            assert f"{one.speed_up:.3f} on the train cases" in said
            assert f"[{one.low:.3f}, {one.high:.3f}]" in said
        for line in run.diffs[one.individual].splitlines():
            assert line.strip() in said


def test_a_dot_that_is_clicked(
    browser: Chrome, grown: Callable[[int], Path], tmp_path: Path
) -> None:
    from selenium.webdriver import ActionChains

    run = whole_run(grown(6000))
    visit(browser, page(run), tmp_path / "page.html", 1000)
    best = max(run.individuals, key=lambda one: one.speed_up or 0)
    chart = browser.find_element("id", "dots")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", chart)
    where = "echarts.getInstanceByDom(arguments[0]).convertToPixel({gridIndex: 0}, arguments[1])"
    x, y = browser.execute_script(f"return {where}", chart, [best.individual, best.speed_up])
    width, height = chart.size["width"], chart.size["height"]
    move = ActionChains(browser).move_to_element_with_offset(
        chart, round(x - width / 2), round(y - height / 2)
    )
    move.click().perform()
    assert browser.find_element("id", "detail").text.startswith("Individual ")
    assert browser.execute_script("return location.hash").startswith("#i")


def test_the_table_is_sorted_and_searched(
    browser: Chrome, grown: Callable[[int], Path], tmp_path: Path
) -> None:
    run = whole_run(grown(50))
    visit(browser, page(run), tmp_path / "page.html", 1000)
    best = sorted((one.low for one in run.individuals if one.low), reverse=True)

    def column(number: int) -> list[str]:
        cells = browser.find_elements("css selector", f"#table tbody td:nth-child({number})")
        return [one.text for one in cells]

    assert column(4) == [f"{one:.3f}" for one in best[:25]]
    browser.find_element("css selector", "#only option[value=crashed]").click()
    assert set(column(2)) == {"crashed"}
    browser.find_element("id", "text").send_keys("nothing has this")
    assert column(1) == []


def test_several_runs(browser: Chrome, grown: Callable[[int], Path], tmp_path: Path) -> None:
    runs = [whole_run(grown(count), drawn=0) for count in (20, 30)]
    text = page_of_several(runs)
    for width in WIDTHS:
        visit(browser, text, tmp_path / "page.html", width)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        assert len(drawn(browser, "curves")["series"]) == 3  # of one kind: a band and a line
    browser.find_element("css selector", "#runs a").click()
    assert browser.find_element("id", "run1").get_attribute("open")
    assert browser.get_log("browser") == []
