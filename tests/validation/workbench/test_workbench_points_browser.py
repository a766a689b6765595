"""A suite of an application in Chromium: from the panel to its results, on small and large screens, light and dark."""

import json
import shutil

import pytest

from tests.chromium import LARGE, SMALL, axe, barriers, headless, picture, show, until, wide_pages
from tests.verbs import blocks
from validation.workbench.dispatch.desk import Desk
from validation.workbench.project.folder import open_project

pytestmark = pytest.mark.browser
pytest.importorskip("selenium.webdriver", reason="selenium is not installed: make test-browser")
keys = pytest.importorskip("selenium.webdriver.common.keys").Keys

LIMIT_S = 120


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    folder = tmp_path_factory.mktemp("points")
    made = Desk(open_project(folder / "mine", str(folder / "store"), jobs=1))
    shutil.copy("examples/systems/merpsys.toml", made.project.platforms / "figure-1.toml")
    shutil.copy("validation/workbench/editing/examples/master-slave.toml", made.project.applications)
    return made


@pytest.fixture(scope="module")
def browser(url):
    with headless(limit_s=LIMIT_S) as driver:
        driver.get(f"{url}/?token={url.token}")
        yield driver


@pytest.fixture(scope="module")
def visit(browser, url):
    def opened(path, size=LARGE, scheme="light"):
        return show(browser, url + path, size, scheme)

    return opened


def tick(driver, name, value):
    """Tick a box by keyboard."""
    driver.find_element("css selector", f"[name={name}][value='{value}']").send_keys(keys.SPACE)


@pytest.fixture(scope="module")
def suite(visit, desk):
    """The master-slave application on the system of the paper's Figure 1, with 100, 1,000 and 12,800 slaves."""
    driver = visit("/panel/applications")
    tick(driver, "applications", "master-slave.toml")
    tick(driver, "systems", "figure-1.toml")
    until(driver, "!!document.getElementById('n-slave1')")
    until(driver, "document.getElementById('fields').textContent.includes('up to 12,800')")
    counts = driver.find_element("id", "n-slave1")
    counts.send_keys("100, 1000, 20000")
    until(driver, "document.getElementById('wrong-n-slave1').textContent.includes('20,000 is more than figure-1')")
    assert driver.switch_to.active_element == counts  # nothing jumps
    for _ in range(2):
        tick(driver, "systems", "grid3x9")  # the fields are shown anew, and what is in them stays
        until(driver, "document.getElementById('about-n-slave1').textContent.includes('grid3x9 takes up to 27')")
        tick(driver, "systems", "grid3x9")
        until(driver, "!document.getElementById('about-n-slave1').textContent.includes('grid3x9')")
    assert counts.get_attribute("value") == "100, 1000, 20000"
    counts.send_keys(keys.CONTROL, "a", keys.NULL, "100, 1000, 12800")
    until(driver, "document.getElementById('wrong-n-slave1').textContent == ''")
    for model in ("simgrid", "hardware", "galera+"):
        tick(driver, "models", model)
    for objective in ("time", "energy", "success"):
        tick(driver, "objectives", objective)
    until(driver, "document.getElementById('count').textContent.includes('3 runs, 9 evaluations')")
    driver.find_element("id", "suite_name").send_keys("slaves")
    driver.refresh()  # nothing that was chosen is lost
    assert driver.find_element("id", "n-slave1").get_attribute("value") == "100, 1000, 12800"
    driver.find_element("id", "suite_name").send_keys(keys.CONTROL, "a", keys.NULL, "slaves")
    picture(driver, "applications-panel")
    driver.find_element("id", "user").send_keys("Ann", keys.ENTER)
    until(driver, "location.pathname.startsWith('/queue/')")
    until(driver, "document.getElementById('runs').textContent.includes('3 of 3 ended')")
    assert desk.queue.suite(1).counts["done"] == 3
    return 1


def test_a_suite_of_three_counts_gives_the_time_of_the_command_to_the_last_digit(visit, suite, desk, capsys):
    driver = visit("/queue/1")
    driver.get_log("browser")  # pages that were left while they asked for a part of themselves have complained
    driver.find_element("css selector", "main a[href^='/results']").click()
    until(driver, "location.pathname == '/results'")
    picture(driver, "applications-results")
    table = driver.find_element("css selector", "[aria-label=Results]").text
    assert "12,800" in table and "100.33" in table  # 100.3264 s: docs/blocks/applications.md
    rows = desk.queue.tables.rows("SELECT fields FROM details ORDER BY result")
    times = {(one["slave1"], one["predictor"]): one["predicted_s"] for one in (json.loads(row[0]) for row in rows)}
    place = desk.project.folder
    options = ["--system", str(place / "platforms/figure-1.toml"), "--count", "slave1=12800", "--json"]
    assert blocks(["run", str(place / "applications/master-slave.toml"), *options]) == 0
    assert json.loads(capsys.readouterr().out)["time_s"] == times[12800, "simgrid"]
    assert f"{times[12800, 'simgrid']:.4f}" == "100.3264"

    driver.find_element("link text", "Figure").click()
    until(driver, "document.querySelectorAll('.plot:not(.symbol) a').length == 9")
    assert driver.find_element("tag name", "h1").text == "Time over slave1, suite slaves"
    picture(driver, "applications-figure")
    driver.find_element("link text", "speed-up").click()
    until(driver, "location.search.includes('speedup')")
    assert "the point on 101 processes" in driver.find_element("tag name", "main").text
    driver.execute_script(
        "document.querySelector('.plot:not(.symbol) a').dispatchEvent(new MouseEvent('dblclick', {bubbles: true}))"
    )
    until(driver, "/^\\/results\\/\\d+$/.test(location.pathname)")
    said = driver.find_element("tag name", "main").text
    assert "mean power, W" in said and "gridval blocks run applications/master-slave.toml" in said
    assert driver.get_log("browser") == []


PAGES = (
    "/panel/applications", "/panel/applications?applications=master-slave.toml&systems=figure-1.toml&n:slave1=20000",
    "/queue/1", "/results?suite=1", "/results/1", "/results/figure?suite=1", "/results/front?suite=1",
    "/results/compare?first=1&second=1", "/applications/master-slave.toml/run?system=figure-1.toml",
)  # fmt: skip


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["small", "large"])
def test_no_page_is_wider_than_its_window(visit, suite, size):
    assert wide_pages(visit, PAGES, size) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_that_keeps_people_out(visit, suite, scheme):
    size = SMALL if scheme == "dark" else LARGE
    found = {path: barriers(axe(visit(path, size, scheme))) for path in PAGES}
    assert {path: what for path, what in found.items() if what} == {}
