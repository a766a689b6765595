"""The editors of the workbench in Chromium: a system from nothing, by keyboard alone, and nothing that is lost."""

import errno
import os
import shutil
import socket
import threading
import time
import tomllib
from pathlib import Path

import pytest
import uvicorn

from tests.chromium import LARGE, SMALL, axe, barriers, headless, show, until, wide_pages
from validation.workbench.application import application
from validation.workbench.dispatch.desk import Desk
from validation.workbench.editing import drafts
from validation.workbench.guard.tokens import Tokens
from validation.workbench.project.folder import open_project

pytestmark = pytest.mark.browser
pytest.importorskip("selenium.webdriver", reason="selenium is not installed: make test-browser")
keys = pytest.importorskip("selenium.webdriver.common.keys").Keys

ROOT = Path(__file__).parents[3]
LIMIT_S = 120


class Server:
    """A workbench on a port that stays the same when it is ended and started again."""

    def __init__(self, folder):
        self.project = open_project(folder / "mine", str(folder / "store"), jobs=1)
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self._port = found.getsockname()[1]
        self.url = f"http://127.0.0.1:{self._port}"

    def start(self):
        self._desk = Desk(self.project)
        tokens = Tokens(self.project.secret())
        self.link = f"{self.url}/?token={tokens.access}"
        made = application(self._desk, tokens)
        self._server = uvicorn.Server(uvicorn.Config(made, port=self._port, log_level="warning"))
        self._thread = threading.Thread(target=self._server.run)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.05)

    def stop(self):
        self._desk.closing = True
        self._server.should_exit = True
        self._thread.join()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    made = Server(tmp_path_factory.mktemp("editors"))
    examples = ROOT / "examples"
    shutil.copy(examples / "systems" / "merpsys.toml", made.project.platforms / "figure-1.toml")
    shutil.copy(examples / "blocks" / "stencil.toml", made.project.applications)
    shutil.copy(examples / "blocks" / "master-slave.toml", made.project.applications / "ms.toml")
    text = (examples / "blocks" / "stencil.toml").read_text("utf-8")
    (made.project.applications / "wrong.toml").write_text(text.replace("compute = ", "kompute = "))
    made.start()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def browser(server):
    with headless(limit_s=LIMIT_S) as driver:
        driver.get(server.link)
        yield driver


@pytest.fixture
def visit(browser, server):
    def opened(path, size=LARGE, scheme="light"):
        return show(browser, server.url + path, size, scheme)

    return opened


def write(driver, name, text):
    """Type into a field as a user does, and leave it."""
    field = driver.find_element("id", name)
    field.send_keys(keys.CONTROL, "a", keys.NULL, text, keys.TAB)


def shows(name, text):
    return f"document.getElementById('{name}').textContent.includes({text!r})"


def has_text(text):
    return f"document.getElementById('text').value.includes({text!r})"


CHOSEN = "document.querySelector('#parts [aria-current]').textContent"
CANVAS = "document.getElementById('canvas').cy"


def test_a_newcomer_draws_the_system_of_figure_1_and_runs_12801_processes_on_it(visit, server):
    driver = visit("/platforms")
    driver.find_element("link text", "New system of levels").click()
    driver.find_element("id", "file_name").send_keys("drawn", keys.ENTER)
    until(driver, "location.pathname == '/systems/drawn.toml'")
    until(driver, f"{CANVAS}.nodes('.cpu').length == 1")

    driver.find_element("id", "part-lan.node.0").click()
    until(driver, f"{CHOSEN}.startsWith('node') && document.getElementById('set-name')?.value == 'node'")
    for field, text in (("name", "master"), ("cpu", "xeon-e5-1620"), ("slots", "master 1")):
        write(driver, f"set-{field}", text)
    until(driver, has_text("slots = {master = 1}"))
    driver.find_element("id", "part-lan").click()
    until(driver, "!!document.getElementById('op-add-node')")
    driver.find_element("id", "op-add-node").click()
    until(driver, "document.getElementById('set-name')?.value == 'node'")
    write(driver, "set-name", "slave")
    write(driver, "set-count", "3200")
    driver.find_element("css selector", "[data-for=set-cpu]").click()  # the searchable database
    until(driver, "!!document.getElementById('search-words') && document.querySelectorAll('.found button').length > 5")
    driver.find_element("id", "search-words").send_keys("2600k")
    until(driver, "document.querySelectorAll('.found button').length == 1")
    driver.find_element("css selector", ".found button").click()
    until(driver, has_text('cpu = "core-i7-2600k"'))
    write(driver, "set-slots", "slave1 4")
    until(driver, "!!document.getElementById('count-slave1')")
    write(driver, "count-master", "1")
    write(driver, "count-slave1", "12800")
    until(driver, shows("placed", "3,200412,800"))  # 3,200 units, 4 processes on each
    until(driver, f"{CANVAS}.nodes('.cpu').some((one) => one.data('label').includes('12,800 slave1 placed'))")
    driver.find_element("id", "op-save").click()
    until(driver, shows("saved", "Saved in platforms/drawn.toml"))
    assert (server.project.platforms / "drawn.toml").is_file()

    driver.find_element("link text", "Applications").click()
    driver.find_element("id", "file_name").send_keys("master-slave")
    driver.find_element("css selector", "#example option[value=''] + option").click()
    driver.find_element("css selector", "main form button").click()
    until(driver, "location.pathname == '/applications/master-slave.toml'")
    driver.find_element("link text", "Run on a system").click()
    driver.find_element("xpath", "//option[.='drawn.toml']").click()
    assert driver.find_element("id", "count-slave1").get_attribute("value") == "12800"
    driver.find_element("css selector", "main form button").click()
    until(driver, "!!document.getElementById('result')")
    assert "Overall time 100.3264 s" in driver.find_element("id", "result").text  # as docs/blocks/applications.md
    assert driver.get_log("browser") == []


def test_a_system_is_changed_by_keyboard_alone(visit):
    driver = visit("/systems/figure-1.toml")
    until(driver, f"{CANVAS}.nodes('.cpu').length == 2")
    before = driver.execute_script("return document.getElementById('text').value")
    driver.execute_script("document.getElementById('canvas').focus()")

    def press(*several):
        driver.switch_to.active_element.send_keys(*several)

    for _ in range(3):  # down from the LAN's box to its nodes, then to the right
        if "slave" in driver.execute_script(f"return {CHOSEN}"):
            break
        was = driver.execute_script(f"return {CHOSEN}")
        press(keys.ARROW_RIGHT)
        until(driver, f"{CHOSEN} != {was!r}")
    assert "slave" in driver.execute_script(f"return {CHOSEN}")
    press(keys.CONTROL, "d", keys.NULL)
    until(driver, f"{CANVAS}.nodes('.cpu').length == 3")
    until(driver, f"{CHOSEN}.startsWith('slave2')")
    assert driver.execute_script("return document.activeElement.id") == "canvas"
    press(keys.SHIFT, keys.ARROW_DOWN, keys.NULL)
    until(driver, "document.getElementById('canvas-data').dataset.elements.length > 0")
    press(keys.ENTER)
    assert driver.execute_script("return document.activeElement.id") == "set-name"
    press(keys.CONTROL, "a", keys.NULL, "workers")
    until(driver, has_text('name = "workers"'))
    assert driver.execute_script("return document.activeElement.id") == "set-name"  # nothing jumps
    driver.execute_script("document.getElementById('canvas').focus()")
    press(keys.DELETE)
    until(driver, f"{CANVAS}.nodes('.cpu').length == 2")
    for _ in range(8):
        if driver.execute_script("return document.getElementById('op-undo').disabled"):
            break
        stamp = driver.execute_script("return document.querySelector('[name=seen]').value")
        press(keys.CONTROL, "z", keys.NULL)
        until(driver, f"document.querySelector('[name=seen]').value != {stamp!r}")
    assert driver.execute_script("return document.getElementById('text').value") == before
    press(keys.CONTROL, "y", keys.NULL)
    until(driver, f"{CANVAS}.nodes('.cpu').length == 3")
    press(keys.CONTROL, "z", keys.NULL)
    until(driver, f"{CANVAS}.nodes('.cpu').length == 2")
    assert driver.get_log("browser") == []


def test_parts_are_dragged_on_the_canvas_and_stay_there(visit):
    driver = visit("/systems/figure-1.toml")
    until(driver, f"{CANVAS}.nodes('.disk').length == 1")
    place = f"(() => {{ const at = {CANVAS}.nodes('.disk').renderedPosition(), b = document.getElementById('canvas')"
    place += ".getBoundingClientRect(); return [at.x + b.x, at.y + b.y] })()"
    x, y = driver.execute_script(f"return {place}")
    was = driver.execute_script(f"return {CANVAS}.nodes('.disk').position().y")
    for kind, dy in (("mousePressed", 0), ("mouseMoved", 5), ("mouseMoved", 40), ("mouseReleased", 40)):
        event = {"type": kind, "x": x, "y": y + dy, "button": "left", "buttons": 1, "clickCount": 1}
        driver.execute_cdp_cmd("Input.dispatchMouseEvent", event)
    until(driver, shows("saved", "Kept as a draft") + " || document.getElementById('op-undo').disabled === false")
    driver.refresh()
    until(driver, f"document.getElementById('canvas').cy && {CANVAS}.nodes('.disk').position().y > {was} + 20")


TWO = """\
[wan]
network = "wan-metro"

[[wan.lan]]
name = "left"
network = "gigabit-ethernet"

[[wan.lan.node]]
name = "one"
cpu = "xeon-e5-2670"

[[wan.lan.node]]
name = "moved"
cpu = "xeon-e5-2670"

[[wan.lan]]
name = "right"
network = "gigabit-ethernet"

[[wan.lan.node]]
name = "two"
cpu = "xeon-e5-2670"
"""


def test_nodes_that_are_dropped_on_another_lan_move_there(visit, server):
    (server.project.platforms / "two.toml").write_text(TWO)
    driver = visit("/systems/two.toml")
    until(driver, f"{CANVAS}.nodes('.cpu').length == 3")
    ends = []
    for which in ("wan.lan.0.node.1", "wan.lan.1.node.0"):
        place = f"(() => {{ const at = {CANVAS}.$id('{which}:unit').renderedPosition(), b = "
        place += "document.getElementById('canvas').getBoundingClientRect(); return [at.x + b.x, at.y + b.y] })()"
        ends.append(driver.execute_script(f"return {place}"))
    (x, y), (to_x, to_y) = ends
    for kind, share in (("mousePressed", 0), ("mouseMoved", 0.1), ("mouseMoved", 0.6), ("mouseMoved", 1),
                        ("mouseReleased", 1)):  # fmt: skip
        event = {"type": kind, "x": x + share * (to_x - x), "y": y + share * (to_y - y), "button": "left",
                 "buttons": 1, "clickCount": 1}  # fmt: skip
        driver.execute_cdp_cmd("Input.dispatchMouseEvent", event)
    until(driver, f"{CANVAS}.$id('wan.lan.1.node.1').nonempty()")
    values = tomllib.loads(driver.execute_script("return document.getElementById('text').value"))
    assert [[node["name"] for node in lan["node"]] for lan in values["wan"]["lan"]] == [["one"], ["two", "moved"]]


def test_text_and_steps_of_an_application_follow_each_other_and_errors_are_at_both(visit):
    driver = visit("/applications/stencil.toml")
    until(driver, "document.documentElement.classList.contains('scripted')")
    replace = "const t = document.getElementById('text'); t.value = t.value.replace(arguments[0], arguments[1]); "
    replace += "t.dispatchEvent(new InputEvent('input', {bubbles: true}))"
    driver.execute_script(replace, '{ wait = "edge" }', '{ wait = "edgy" }')
    until(driver, "document.querySelectorAll('#parts .bad').length == 1")
    step = driver.find_element("css selector", "#parts li:has(> .bad) > a")
    assert "wait for edgy" in step.text
    line = driver.execute_script("return Number(document.querySelector('.wrong-line').textContent)")
    text = driver.execute_script("return document.getElementById('text').value")
    assert text.split("\n")[line - 1].strip() == '{ wait = "edgy" },'
    step.click()
    until(driver, "!!document.getElementById('field-wait')")
    write(driver, "field-wait", "edge")
    until(driver, has_text('{ wait = "edge" },') + " && document.querySelectorAll('#parts .bad').length == 0")
    driver.find_element("id", "op-down").click()
    until(driver, has_text('ny - 2)" },\n    { wait = "edge" },'))
    assert driver.get_log("browser") == []


def test_a_field_of_a_step_offers_names_and_the_time_of_the_step_follows(visit):
    driver = visit("/applications/ms.toml?part=labels.slave1.program.0.do.1&cost=figure-1.toml")
    until(driver, "document.documentElement.classList.contains('scripted')")
    # By hand: 4 rounds of 2e10 operations on a core of 27.2 Gflop/s.
    assert f"{4 * 2e10 / 27.2e9:.3g} s computing" in driver.find_element("id", "parts").text
    driver.find_element("id", "field-compute").send_keys(keys.END, " + oper")
    until(driver, "!document.getElementById('completion').hidden")
    assert driver.find_element("css selector", "#completion [aria-selected=true]").text.startswith("operations")
    driver.switch_to.active_element.send_keys(keys.TAB)
    until(driver, has_text('{ compute = "operations + operations" },'))
    until(driver, shows("parts", f"{8 * 2e10 / 27.2e9:.3g} s computing"))
    assert driver.execute_script("return document.activeElement.id") == "field-compute"
    assert driver.find_elements("css selector", "#ink .ink-comment, #ink .ink-key, #ink .ink-text")
    assert driver.get_log("browser") == []


def test_what_is_typed_survives_a_reload_going_back_and_an_end_of_the_server(visit, server):
    driver = visit("/applications/stencil.toml")
    until(driver, "document.documentElement.classList.contains('scripted')")
    text = driver.find_element("id", "text")
    text.send_keys(keys.CONTROL, keys.HOME, keys.NULL, "# one\n")
    until(driver, "document.querySelector('[name=seen]').value > 0 && " + shows("saved", "Kept as a draft"))
    time.sleep(1)
    driver.refresh()
    assert driver.find_element("id", "text").get_attribute("value").startswith("# one\n")
    driver.find_element("link text", "Queue").click()
    driver.back()
    assert driver.find_element("id", "text").get_attribute("value").startswith("# one\n")
    until(driver, "document.documentElement.classList.contains('scripted')")

    server.stop()
    driver.find_element("id", "text").send_keys(keys.CONTROL, keys.HOME, keys.NULL, "# two\n")
    until(driver, "!document.getElementById('sending').hidden")
    server.start()
    until(driver, "document.getElementById('sending').hidden")
    driver.refresh()
    assert driver.find_element("id", "text").get_attribute("value").startswith("# two\n# one\n")


def test_what_is_typed_while_the_disk_is_full_is_sent_when_there_is_room(visit, monkeypatch):
    driver = visit("/applications/stencil.toml")
    until(driver, "document.documentElement.classList.contains('scripted')")
    with monkeypatch.context() as full:
        full.setattr(drafts, "write_whole", no_room)
        driver.find_element("id", "text").send_keys(keys.CONTROL, keys.HOME, keys.NULL, "# three\n")
        until(driver, "document.getElementById('sending').textContent.includes('No space left on device')")
    until(driver, "document.getElementById('sending').hidden")
    driver.refresh()
    assert driver.find_element("id", "text").get_attribute("value").startswith("# three\n")


def no_room(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_the_lines_of_all_errors_are_marked_and_the_button_leads_from_one_to_the_next(visit, server):
    text = (ROOT / "examples" / "blocks" / "stencil.toml").read_text("utf-8")
    wrong = [str(number) for number, line in enumerate(text.split("\n"), 1) if "{ compute = " in line]
    driver = visit("/applications/wrong.toml")
    marked = "Array.from(document.querySelectorAll('.wrong-line'), (one) => one.textContent)"
    until(driver, f"{marked}.length > 0")
    lines = driver.find_element("id", "bar").get_attribute("data-lines")
    assert lines.split() == wrong and len(wrong) == 3
    button = driver.find_element("id", "to-line")
    for number, line in enumerate([*wrong, wrong[0]]):
        assert button.text == f"Go to line {line}, with an error, {number % 3 + 1} of 3"
        button.click()
        chosen = (
            "const t = document.getElementById('text'); return t.value.slice(0, t.selectionStart).split('\\n').length"
        )
        assert driver.execute_script(chosen) == int(line)
        assert line in driver.execute_script(f"return {marked}")  # of the lines in view
    logged = driver.get_log("browser")
    assert all("507" in one["message"] for one in logged)  # of the full disk of the test before


PAGES = ("/systems/new", "/systems/figure-1.toml?part=lan.node.1&n:slave1=20", "/hardware", "/applications",
         "/applications/stencil.toml", "/applications/wrong.toml", "/platforms/figure-1.toml",
         "/applications/ms.toml?part=labels.slave1.program.0.do.1",
         "/applications/stencil.toml/run?system=figure-1.toml&v:px=2")  # fmt: skip


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["small", "large"])
def test_no_editor_is_wider_than_its_window(visit, size):
    assert wide_pages(visit, PAGES, size) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_that_keeps_people_out_of_the_editors(visit, scheme):
    found = {path: barriers(axe(visit(path, SMALL if scheme == "dark" else LARGE, scheme))) for path in PAGES}
    assert found == {path: {} for path in PAGES}
