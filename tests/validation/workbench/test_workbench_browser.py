"""The pages of the workbench in Chromium: small and large screens, light and dark, by keyboard, without other hosts."""

import json

import pytest

from tests import waiting
from tests.chromium import LARGE, SMALL, axe, barriers, headless, show, until, wide_pages
from validation.workbench.dispatch.desk import Desk
from validation.workbench.project.folder import open_project

pytestmark = pytest.mark.browser
pytest.importorskip("selenium.webdriver", reason="selenium is not installed: make test-browser")
keys = pytest.importorskip("selenium.webdriver.common.keys").Keys

LIMIT_S = 120


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    folder = tmp_path_factory.mktemp("workbench")
    return Desk(open_project(folder / "mine", str(folder / "store"), jobs=2))


@pytest.fixture(scope="module")
def browser(url):
    with headless(limit_s=LIMIT_S, logged=("browser", "performance")) as driver:
        driver.get(f"{url}/?token={url.token}")
        yield driver


@pytest.fixture
def visit(browser, url):
    def opened(path, size=LARGE, scheme="light"):
        return show(browser, url + path, size, scheme)

    return opened


def fetched(driver):
    events = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    return [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]


def test_a_newcomer_makes_a_grid_queues_a_suite_and_reads_the_result(visit, url, desk):
    driver = visit("/platforms/new")
    driver.find_element("id", "grid_name").send_keys("mine")
    clusters = driver.find_element("id", "clusters")
    clusters.send_keys(keys.CONTROL, "a", keys.NULL, "3")
    until(driver, "document.getElementsByName('nodes_3').length == 1 && !!document.querySelector('#look img')")
    assert "clusters=3" in driver.current_url and driver.switch_to.active_element.get_attribute("id") == "clusters"
    nodes = driver.find_element("name", "nodes_3")
    nodes.send_keys(keys.CONTROL, "a", keys.NULL, "4")
    until(driver, "document.getElementById('look').textContent.includes('20 hosts')")
    until(driver, "document.querySelector('#look img').naturalWidth > 100")
    driver.refresh()  # nothing that was typed is lost
    assert driver.find_element("name", "nodes_3").get_attribute("value") == "4"
    driver.find_element("id", "grid_name").send_keys(keys.ENTER)
    until(driver, "location.pathname == '/platforms/mine.toml'")

    driver.find_element("link text", "Use in a suite").click()
    until(driver, "location.pathname == '/panel'")
    driver.find_element("css selector", "[name=apps][value=ep]").send_keys(keys.SPACE)
    driver.find_element("css selector", "[name=classes][value=S]").send_keys(keys.SPACE)
    driver.find_element("css selector", "[name=predictors][value=hcf]").send_keys(keys.SPACE)
    driver.find_element("id", "ranks").send_keys("3-20*2")
    until(driver, "document.getElementById('count').textContent.includes('3 runs, 3 predictions')")
    driver.find_element("id", "suite_name").send_keys("first")
    driver.find_element("id", "user").send_keys("Ann", keys.ENTER)
    until(driver, "location.pathname == '/queue/1'")
    until(driver, "document.getElementById('runs').textContent.includes('3 of 3 ended')")  # without a reload
    driver.find_element("link text", "Results").click()
    until(driver, "location.pathname == '/results'")
    assert driver.get_log("browser") == []
    assert all(one.startswith((url, "data:")) for one in fetched(driver))
    assert desk.queue.suite(1).done == 3


PAGES = ("/platforms", "/platforms/new", "/platforms/grid4x2", "/panel?platforms=grid4x2", "/queue", "/queue/1",
         "/results", "/results/1", "/suites", "/files/suites/first.toml", "/files/platforms/mine.toml", "/history",
         "/access", "/nowhere")  # fmt: skip


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["small", "large"])
def test_no_page_is_wider_than_its_window(visit, size):
    assert wide_pages(visit, PAGES, size) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_that_keeps_people_out(visit, scheme):
    found = {path: barriers(axe(visit(path, SMALL if scheme == "dark" else LARGE, scheme))) for path in PAGES}
    assert found == {path: {} for path in PAGES}


def test_the_policy_stops_a_script_that_a_page_would_have(visit):
    driver = visit("/queue")
    driver.execute_script(
        "const s = document.createElement('script'); s.text = 'window.ran = 1'; document.body.append(s)"
    )
    assert driver.execute_script("return window.ran") is None


def streams_of(url):
    return sum(many for (kind, _), many in url.application.state.limits._held.items() if kind == "streams")


def test_twelve_tabs_follow_the_queue_by_one_stream(visit, url, desk, browser):
    first, tabs = browser.current_window_handle, []
    for _ in range(12):
        browser.switch_to.new_window("tab")
        tabs.append(browser.current_window_handle)
        show(browser, f"{url}/queue")
    assert until_streams(url, 1)
    added = desk.queue.add("for twelve tabs", "Bob", [])
    for tab in tabs:
        browser.switch_to.window(tab)
        until(browser, "document.getElementById('list').textContent.includes('for twelve tabs')")
        assert browser.execute_script("return document.getElementById('connection').hidden")
    assert streams_of(url) == 1
    desk.queue.remove(added)
    for tab in tabs:
        browser.switch_to.window(tab)
        browser.close()
    browser.switch_to.window(first)
    show(browser, f"{url}/results")
    assert until_streams(url, 0)  # no page follows the queue any more


def until_streams(url, many):
    return waiting.until(lambda: streams_of(url) == many, LIMIT_S)


def test_who_is_not_logged_in_comes_to_the_page_that_was_asked_for(url):
    with headless(limit_s=LIMIT_S) as driver:
        show(driver, f"{url}/queue/1?state=done")
        until(driver, "location.pathname == '/login'")
        driver.find_element("id", "secret").send_keys(url.token, keys.ENTER)
        until(driver, "location.pathname == '/queue/1' && location.search == '?state=done'")
        show(driver, f"{url}/access")
        driver.find_element("xpath", "//button[text()='Log out']").click()
        until(driver, "location.pathname == '/login'")
        show(driver, f"{url}/queue")
        until(driver, "location.pathname == '/login'")
