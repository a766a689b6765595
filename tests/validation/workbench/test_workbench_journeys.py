"""Journeys through the workbench in Chromium: suites cancelled and continued, two users, a killed server, figures."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys

import pytest

from tests.chromium import LARGE, SMALL, axe, barriers, headless, picture, show, until

pytestmark = pytest.mark.browser
webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed: make test-browser")
keys = pytest.importorskip("selenium.webdriver.common.keys").Keys

LIMIT_S = 240


class Server:
    """The command as a process of its own, which can be killed and started again on its port."""

    def __init__(self, folder, port="0"):
        self.folder, self.port = folder, port
        self.start()

    def start(self):
        words = [sys.executable, "-m", "gridval", "workbench", "--port", str(self.port), "--jobs", "2"]
        self.process = subprocess.Popen(
            [*words, "--store", str(self.folder.parent / "store"), str(self.folder)], stdout=subprocess.PIPE, text=True
        )
        self.link = re.search(r"http://\S+", self.process.stdout.readline())[0]
        self.url, _, _ = self.link.partition("/?")
        self.port = self.url.rpartition(":")[2]

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        self.process.wait(60)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("journeys") / "my-project"
    (folder / "platforms").mkdir(parents=True)
    shutil.copy("examples/platforms/campus.xml", folder / "platforms" / "campus.xml")
    made = Server(folder)
    yield made
    if made.process.poll() is None:
        made.stop()


@pytest.fixture(scope="module")
def ann(server):
    with headless(limit_s=LIMIT_S) as driver:
        driver.get(server.link)
        yield driver


def text(driver, part="main"):
    return driver.find_element("css selector", part).text


def press(driver, button):
    """Press a button of a list that is drawn anew with every change of the queue."""
    driver.execute_script(f"document.getElementById('{button}').click()")


def choose(driver, key, *values):
    for value in values:
        driver.execute_script(
            "arguments[0].click()", driver.find_element("css selector", f"[name={key}][value='{value}']")
        )


def queue_suite(driver, url, name, user, ranks, **chosen):
    """Put a suite together in the panel by hand and queue it; return its address."""
    show(driver, f"{url}/panel")
    for key, values in chosen.items():
        choose(driver, key, *values)
    for field, value in (("ranks", ranks), ("suite_name", name), ("user", user)):
        driver.find_element("id", field).clear()
        driver.find_element("id", field).send_keys(value)
    until(driver, "/\\d+ runs?,/.test(document.getElementById('count').textContent)")
    if name == "first":
        picture(driver, "panel")
    driver.find_element("css selector", "button[value=queue]").click()
    until(driver, "location.pathname.startsWith('/queue/')")
    return driver.current_url


def ended(driver):
    return "/^(?=[^]*\\b(\\d+) of \\1 ended)/.test(document.getElementById('runs').textContent)"


@pytest.fixture(scope="module")
def suites(server, ann):
    """Two suites that differ in their network alone, done, and the number of each."""
    chosen = {"platforms": ["grid3x9"], "apps": ["is", "cg"], "classes": ["S"], "predictors": ["hcf", "structural"]}
    found = [queue_suite(ann, server.url, "first", "Ann", "2-16*2", networks=["gigabit"], **chosen)]
    found.append(queue_suite(ann, server.url, "second", "Ann", "2-16*2", networks=["infiniband"], **chosen))
    watts = {"platforms": ["campus.xml"], "apps": ["cg"], "classes": ["S"], "predictors": ["structural"]}
    found.append(queue_suite(ann, server.url, "energy", "Ann", "2-8*2", **watts))
    for one in found:
        ann.get(one)
        until(ann, ended(ann))
    return [int(one.rpartition("/")[2].partition("?")[0]) for one in found]


def test_a_figure_is_chosen_by_clicks_and_its_points_lead_to_results(server, ann, suites):
    show(ann, f"{server.url}/results?suite={suites[0]}")
    ann.get_log("browser")  # pages that were left while they asked for a part of themselves have complained
    picture(ann, "results")
    ann.find_element("link text", "Figure").click()
    ann.find_element("link text", "speed-up").click()
    assert "Speed-up over ranks" in text(ann, "h1") and "relative to the run on 2 ranks" in text(ann).lower()
    ann.find_element("css selector", "#menu-app summary").click()
    ann.find_element("css selector", "#menu-app [value=cg]").click()
    until(ann, "location.search.includes('app=cg')")
    until(ann, "document.querySelectorAll('.plot:not(.symbol) a').length == 12")  # 4 counts: simulated, two predictors
    ann.find_element("link text", "time").click()
    until(ann, "location.search.includes('show=time')")
    picture(ann, "figure")
    ann.execute_script(
        "document.querySelector('.plot:not(.symbol) a').dispatchEvent(new MouseEvent('dblclick', {bubbles: true}))"
    )
    until(ann, "/^\\/results\\/\\d+$/.test(location.pathname)")
    assert "predicted" in text(ann) and "gridval series campaign" in text(ann)
    assert ann.get_log("browser") == []


def test_the_timeline_of_a_run_is_recorded_and_zoomed(server, ann, suites):
    ann.find_element("link text", "Timeline of the run").click()
    ann.find_element("css selector", "main form button").click()
    until(ann, "!!document.querySelector('.timeline canvas')")
    last = "[...document.querySelectorAll('.timeline-axis span')].pop().textContent"
    before = ann.execute_script(f"return {last}")
    ann.find_element("css selector", "[aria-label='Zoom in']").click()
    until(ann, f"{last} != '{before}'")
    assert ann.execute_script("return document.querySelector('.timeline canvas').width") > 300
    ann.find_element("css selector", "[aria-label='Whole time']").click()
    picture(ann, "timeline")
    assert ann.get_log("browser") == []


def marked(driver, part):
    return set(
        driver.execute_script(f"return [...document.querySelectorAll('{part}.marked')].map(p => p.dataset.result)")
    )


def test_points_and_rows_are_marked_together_and_lead_to_the_cause(server, ann, suites):
    show(ann, f"{server.url}/results/figure?suite={suites[0]}&show=error&over=ranks&app=cg&predictor=hcf")
    ann.find_element("css selector", "tr[data-result] input").click()
    until(ann, "document.querySelectorAll('#marked li').length == 1")
    (first,) = marked(ann, "svg a")
    assert marked(ann, "tr") == {first} and f"mark={first}" in ann.current_url
    ann.execute_script("document.querySelector('svg.plot[data-box]').scrollIntoView({block: 'center'})")
    drawn = ann.find_element("css selector", "svg.plot[data-box]")
    half_x, half_y = drawn.size["width"] // 2, drawn.size["height"] // 2
    left, top, right, bottom = map(float, drawn.get_attribute("data-box").split())
    scale = drawn.size["width"] / 760
    actions = webdriver.ActionChains(ann)
    actions.move_to_element_with_offset(drawn, int(left * scale) - half_x + 2, int(top * scale) - half_y + 2)
    actions.click_and_hold().move_by_offset(int((right - left) * scale) - 5, int((bottom - top) * scale) - 5)
    actions.release().perform()  # a box over the whole plot
    every = {one.get_attribute("data-result") for one in drawn.find_elements("css selector", "a[data-result]")}
    until(ann, f"document.querySelectorAll('#marked li').length == {len(every)}")
    assert marked(ann, "svg a") == marked(ann, "tr") == every and len(every) == 4  # runs on 2, 4, 8 and 16 ranks
    picture(ann, "marks")
    ann.find_element("link text", "Table").click()
    until(ann, "location.pathname == '/results'")
    assert marked(ann, "tr") == every
    ann.find_element("css selector", "#unmark").click()
    until(ann, "!location.search.includes('mark=')")
    assert marked(ann, "tr") == set()
    ann.find_element("css selector", "tr[data-result] input").click()
    until(ann, "!!document.querySelector('#marked li')")
    ann.find_element("link text", "graph").click()
    ann.find_element("css selector", "main form button").click()
    until(ann, "!!document.querySelector('main table')")
    assert "cg.c:" in text(ann) and "critical path" in text(ann)
    assert ann.get_log("browser") == []


def test_a_view_is_saved_and_found_again(server, ann, suites):
    show(ann, f"{server.url}/results?suite={suites[0]}")
    ann.find_element("css selector", "#menu-predictor summary").click()
    ann.find_element("css selector", "#menu-predictor [value=hcf]").click()
    until(ann, "document.querySelectorAll('.lines tbody tr').length == 8")
    assert ann.execute_script("return document.getElementById('menu-predictor').open")  # for another choice
    assert ann.current_url.endswith(f"/results?suite={suites[0]}&predictor=hcf")
    ann.find_element("css selector", "#menu-views summary").click()
    ann.find_element("id", "view_name").send_keys("HCF alone", keys.ENTER)
    until(ann, "document.getElementById('menu-views').textContent.includes('HCF alone')")
    show(ann, f"{server.url}/results")
    ann.find_element("css selector", "#menu-views summary").click()
    ann.find_element("link text", "HCF alone").click()
    until(ann, "document.querySelectorAll('.lines tbody tr').length == 8")


def rows_height(driver):
    return driver.execute_script("const t = document.querySelector('.lines'); return t.offsetHeight / t.rows.length")


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["small", "large"])
def test_rows_are_one_line_high_below_a_header_that_stays(server, ann, suites, size):
    show(ann, f"{server.url}/results", size)
    assert rows_height(ann) < 32  # a line of text and its margins
    box = "document.querySelector('.tall')"
    ann.execute_script(f"{box}.scrollTop = 300; {box}.scrollLeft = 200")
    top, left = ann.execute_script(
        f"const b = {box}.getBoundingClientRect(), h = {box}.querySelector('thead th').getBoundingClientRect();"
        "return [h.top - b.top, h.left - b.left]"
    )
    assert abs(top) < 3 and abs(left) < 3


def test_two_suites_are_compared_and_downloaded(server, ann, suites):
    show(ann, f"{server.url}/results/compare?first={suites[0]}&second={suites[1]}")
    assert "network gigabit in the first and infiniband in the second" in text(ann)
    assert "16 predictions are in both" in text(ann)
    picture(ann, "comparison")
    read = "const done = arguments[1]; fetch(arguments[0]).then(a => a.text()).then(done)"
    lines = ann.execute_async_script(read, f"/results.csv?suite={suites[0]}").splitlines()
    assert len(lines) == 17 and lines[0].startswith("scenario,network,")


def test_the_front_of_time_and_energy(server, ann, suites):
    show(ann, f"{server.url}/results/front?suite={suites[2]}")
    assert "on the front" in text(ann) and "energy, J" in text(ann)
    picture(ann, "front")


def test_two_users_share_the_queue_and_a_suite_of_60_runs_is_cancelled_and_continued(server, ann):
    chosen = {"platforms": ["grid3x9"], "apps": ["ep", "is", "cg"], "classes": ["S", "W"],
              "mappings": ["block", "cyclic"],
              "predictors": ["hcf"]}  # fmt: skip
    with headless(limit_s=LIMIT_S) as bob:
        bob.get(server.link)
        long = queue_suite(ann, server.url, "long", "Ann", "1, 2, 4, 8, 16", networks=["gigabit"], **chosen)
        number = long.rpartition("/")[2]
        queue_suite(bob, server.url, "short", "Bob", "2", platforms=["grid4x2"], apps=["ep"], classes=["S"],
                    predictors=["hcf"])  # fmt: skip
        show(bob, f"{server.url}/queue")
        assert "Ann" in text(bob) and "Bob" in text(bob)
        until(bob, "/1 of 1 ended/.test(document.getElementById('list').textContent)")  # before Ann's many runs
        picture(bob, "queue")
        press(bob, f"cancel-{number}")
        until(bob, f"!!document.getElementById('resume-{number}')")
        show(ann, f"{server.url}/queue/{number}")
        assert re.search(r"cancelled [1-9]", text(ann))
        press(bob, f"resume-{number}")
        until(ann, "/cancelled 0/.test(document.getElementById('runs').textContent)")  # without a reload
    until(ann, ended(ann))
    assert "failed 0" in text(ann)


def test_a_server_that_is_killed_in_the_middle_loses_nothing(server, ann):
    chosen = {"platforms": ["grid3x9"], "apps": ["ep", "is", "cg"], "classes": ["S", "W"], "predictors": ["hcf"]}
    address = queue_suite(ann, server.url, "killed", "Ann", "2-16*2", networks=["gigabit"], **chosen)
    until(ann, "/[1-9]\\d* of \\d+ ended/.test(document.getElementById('runs').textContent)")
    server.stop(signal.SIGKILL)
    until(ann, "!document.getElementById('connection').hidden")
    server.start()
    until(ann, "document.getElementById('connection').hidden")
    assert ann.current_url == address
    until(ann, ended(ann))
    assert "failed 0" in text(ann)


def test_a_platform_of_1500_hosts_is_uploaded_and_drawn(server, ann, tmp_path):
    made = subprocess.run(
        [sys.executable, "-c", "import workbench; print(workbench.platform_xml(), end='')"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(["benchmarks", "."])}, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    (tmp_path / "large.xml").write_text(made.stdout)
    show(ann, f"{server.url}/platforms")
    ann.find_element("css selector", "input[type=file]").send_keys(str(tmp_path / "large.xml"))
    ann.find_element("xpath", "//input[@type='file']/ancestor::form//button").click()
    until(ann, "location.pathname == '/platforms/large.xml'")
    until(ann, "document.querySelector('.picture img').naturalWidth > 100")
    assert "1,500 hosts" in text(ann)


def test_a_suite_is_removed_after_a_question(server, ann, suites):
    show(ann, f"{server.url}/queue")
    ann.execute_script("document.querySelector('[aria-label=\"Remove energy\"]').click()")  # the list may be drawn anew
    until(ann, "location.pathname.endsWith('/remove')")
    assert "Remove suite energy" in text(ann, "h1")
    picture(ann, "remove")
    ann.find_element("xpath", "//button[text()='Remove it']").click()
    until(ann, "location.pathname == '/queue'")
    assert "energy" not in text(ann, "#list")


def pages(suites):
    first, second = suites[:2]
    return ("/results", f"/results/figure?suite={first}&show=time&over=ranks",
            f"/results/figure?suite={first}&other={second}",
            f"/results/front?suite={first}", f"/results/compare?first={first}&second={second}", "/results/compare",
            "/results/1", "/results/1/timeline", "/results/1/graph",
            "/results?mark=1&mark=2", f"/results/figure?suite={first}&show=error&mark=1",
            f"/queue/{first}", f"/queue/{first}/remove")  # fmt: skip


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["small", "large"])
def test_axe_finds_nothing_and_no_page_is_wider_than_its_window(server, ann, suites, size, scheme):
    found = {}
    for path in pages(suites):
        show(ann, server.url + path, size, scheme)
        assert ann.execute_script("return document.documentElement.scrollWidth") <= size[0], path
        if kept_out := barriers(axe(ann)):
            found[path] = kept_out
    assert found == {}, json.dumps(found, indent=1)
