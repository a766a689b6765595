"""The canvas in Chromium: keys, several parts, drag and drop, links past titles, colours, and large systems."""

import json

import pytest

from tests.chromium import LARGE, SMALL, axe, barriers, headless, show, until
from tests.validation.workbench.test_workbench_editors_browser import CANVAS, CHOSEN, Server, has_text, shows, write
from tests.validation.workbench.test_workbench_large_systems import LARGE as LARGE_SYSTEM
from tests.validation.workbench.test_workbench_large_systems import text_of

pytestmark = pytest.mark.browser
pytest.importorskip("selenium.webdriver", reason="selenium is not installed: make test-browser")
keys = pytest.importorskip("selenium.webdriver.common.keys").Keys

LIMIT_S = 120
DRAWN = "!!document.documentElement.dataset.drawn"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    made = Server(tmp_path_factory.mktemp("canvas"))
    (made.project.platforms / "large.toml").write_text(LARGE_SYSTEM)
    for name in ("small", "tabs", "several", "dragged", "heading"):
        (made.project.platforms / f"{name}.toml").write_text(text_of(3, 5))
    mesh = text_of(4, 2).replace('network = "wan-metro"', 'network = "wan-metro"\nshape = "mesh"', 1)
    (made.project.platforms / "mesh.toml").write_text(mesh)
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
        driver = show(browser, server.url + path, size, scheme)
        if path.startswith("/systems/") and "new" not in path:
            until(driver, DRAWN)
        return driver

    return opened


def presses(driver, *several):
    """Press keys where the focus is, one after the other, each after the one before is drawn; return their number."""
    for key in several:
        stamp = driver.execute_script("return document.querySelector('[name=seen]').value")
        driver.switch_to.active_element.send_keys(key)
        if key in ("l", "n"):
            until(driver, f"document.querySelector('[name=seen]').value != {stamp!r}")
    return len(several)


def test_two_lans_are_drawn_and_saved_with_few_keys(visit, server):
    driver = visit("/systems/new")
    driver.find_element("id", "file_name").send_keys("two-lans", keys.ENTER)
    until(driver, "location.pathname == '/systems/two-lans.toml'")
    until(driver, DRAWN)
    until(driver, "document.activeElement.id == 'canvas'")
    count = presses(driver, "l", "n")  # a LAN beside the first one, with nodes; more nodes in it
    driver.switch_to.active_element.send_keys(keys.CONTROL, "s", keys.NULL)
    until(driver, shows("saved", "Saved in platforms/two-lans.toml"))
    assert count + 2 <= 10  # with the two keys of Ctrl+S; 120 before
    assert driver.execute_script(f"return {CANVAS}.nodes('.lan').length") == 2
    assert (server.project.platforms / "two-lans.toml").read_text().count("[[wan.lan.node]]") == 3
    assert driver.find_element("link text", "Picture and description").is_displayed()  # without a reload
    assert driver.get_log("browser") == []


def test_tab_leads_through_all_parts_and_leaves_the_canvas_at_the_end(visit):
    driver = visit("/systems/tabs.toml?part=wan.lan.2.node.3")
    driver.execute_script("document.getElementById('canvas').focus()")
    driver.switch_to.active_element.send_keys(keys.TAB)
    until(driver, f"{CHOSEN}.startsWith('n2x4')")
    assert driver.execute_script("return document.activeElement.id") == "canvas"
    driver.switch_to.active_element.send_keys(keys.TAB)
    assert driver.execute_script("return document.activeElement.id") != "canvas"


def test_several_parts_are_chosen_and_changed_at_once(visit):
    driver = visit("/systems/several.toml?part=wan.lan.0.node.0")
    driver.execute_script("document.getElementById('canvas').focus()")
    driver.execute_script("editor.toggle('wan.lan.1.node.2')")
    until(driver, shows("heading", "2 parts: n0x0, n1x2"))
    until(driver, f"{CANVAS}.$('.chosen').length == 2")
    write(driver, "set-count", "7")
    until(driver, "document.getElementById('text').value.split('count = 7').length == 3")
    driver.execute_script("document.getElementById('canvas').focus()")
    driver.switch_to.active_element.send_keys(keys.DELETE)
    until(driver, f"{CANVAS}.nodes('.node').length == 13")
    driver.switch_to.active_element.send_keys(keys.CONTROL, "z", keys.NULL)
    until(driver, f"{CANVAS}.nodes('.node').length == 15")


def test_a_part_is_dragged_from_the_palette_to_where_it_belongs(visit):
    driver = visit("/systems/dragged.toml?part=wan")
    drop = """
    const at = (element) => { const b = element.getBoundingClientRect(); return [b.x, b.y]; };
    const cy = document.getElementById('canvas').cy, where = cy.$id('wan.lan.2.node.1').renderedPosition();
    const [x, y] = at(document.getElementById('canvas')), data = new DataTransfer();
    const send = (target, type) => target.dispatchEvent(new DragEvent(type, {bubbles: true, cancelable: true,
      dataTransfer: data, clientX: x + where.x, clientY: y + where.y}));
    send(document.querySelector(`[data-add=${arguments[0]}]`), 'dragstart');
    send(document.getElementById('canvas'), 'dragover');
    send(document.getElementById('canvas'), 'drop');
    """
    driver.execute_script(drop, "disk")
    until(driver, f"{CANVAS}.$id('wan.lan.2.node.1.disks.0').nonempty()")
    driver.execute_script(drop, "node")  # on nodes: into their LAN
    until(driver, f"{CANVAS}.$id('wan.lan.2.node.5').nonempty()")
    assert driver.get_log("browser") == []


def test_the_heading_follows_the_processor_that_is_chosen(visit):
    driver = visit("/systems/heading.toml?part=wan.lan.0.node.1")
    field = driver.find_element("id", "set-cpu")
    field.send_keys(keys.CONTROL, "a", keys.NULL, "core-i7-2600k")
    until(driver, shows("heading", "core-i7-2600k"))
    field.send_keys("x")
    until(driver, "document.getElementById('set-cpu').getAttribute('aria-invalid') == 'true'")
    assert driver.execute_script("return document.getElementById('text').getAttribute('aria-invalid')") == "true"
    field.send_keys(keys.BACKSPACE)
    until(driver, "!document.getElementById('set-cpu').hasAttribute('aria-invalid')")
    assert not driver.execute_script("return document.getElementById('text').hasAttribute('aria-invalid')")


CROSSED = """
const cy = document.getElementById('canvas').cy, labels = [], crossed = [];
cy.nodes('.box').forEach((one) => labels.push([one.id(), one.boundingBox({includeNodes: false, includeEdges: false,
  includeOverlays: false, includeLabels: true})]));
const leaves = cy.nodes().filter((one) => !one.isParent());
leaves.forEach((one) => labels.push([one.id(), one.boundingBox({includeLabels: false, includeOverlays: false})]));
const meets = (p, q, b) => { // whether a line that goes right, left, up or down meets a box
  const x = [Math.min(p.x, q.x), Math.max(p.x, q.x)], y = [Math.min(p.y, q.y), Math.max(p.y, q.y)];
  return x[0] < b.x2 - 1 && x[1] > b.x1 + 1 && y[0] < b.y2 - 1 && y[1] > b.y1 + 1;
};
cy.edges().forEach((edge) => {
  const path = [edge.sourceEndpoint(), ...(edge.segmentPoints() ?? []), edge.targetEndpoint()];
  for (let i = 1; i < path.length; i += 1) {
    for (const [id, box] of labels) {
      if (id !== edge.source().id() && id !== edge.target().id() && meets(path[i - 1], path[i], box)) {
        crossed.push([edge.id(), id]);
      }
    }
  }
});
return crossed;
"""


@pytest.mark.parametrize("page", ["small.toml", "mesh.toml", "large.toml", "large.toml?part=wan.lan.12.node.3"])
def test_no_link_crosses_a_title_or_a_symbol(visit, page):
    driver = visit(f"/systems/{page}")
    assert driver.execute_script(f"return {CANVAS}.edges().length") > 5
    assert driver.execute_script(CROSSED) == []


def test_colours_show_power_and_the_load_of_what_is_placed(visit):
    driver = visit("/systems/small.toml?n:process=40")
    driver.find_element("css selector", "#colours option[value=power]").click()
    assert len(driver.find_elements("css selector", "#legend .shade")) == 1  # all processors are the same
    driver.find_element("css selector", "#colours option[value=load]").click()
    until(driver, f"{CANVAS}.nodes('.shade-4').length > 0 && {CANVAS}.nodes('.shade-0').length > 0")
    assert driver.find_element("css selector", "#legend .shade").text == "from 0"


def test_a_large_system_is_folded_and_an_edit_redraws_what_changed(visit):
    driver = visit("/systems/large.toml?part=wan.lan.3.node.4")
    assert driver.execute_script(f"return [{CANVAS}.nodes('.folded').length, {CANVAS}.nodes('.node').length]") == [
        29,
        50,
    ]
    assert len(driver.page_source) < 250_000
    driver.execute_script("""window.untouched = document.getElementById('canvas').cy.$id('wan.lan.3.node.5')[0];
                             editor.send({op: 'set', 'set:count': '6'})""")
    until(driver, f"{CANVAS}.$id('wan.lan.3.node.4').data('label') == 'n3x4 \\u00d7 6'")
    assert driver.execute_script(f"return {CANVAS}.$id('wan.lan.3.node.5')[0] === window.untouched")
    until(driver, has_text('name = "n3x4"\\ncount = 6'.replace("\\n", "\n")))
    until(driver, shows("message", "No errors"))
    driver.execute_script("document.getElementById('canvas').focus()")
    driver.switch_to.active_element.send_keys("f")
    until(driver, f"{CANVAS}.nodes('.folded').length == 30 || {CANVAS}.nodes('.node').length == 50")
    driver.execute_script("editor.choose('wan.lan.7')")
    until(driver, f"{CANVAS}.$id('wan.lan.7.node.49').nonempty()")
    assert driver.get_log("browser") == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["small", "large"])
def test_axe_finds_nothing_on_a_large_system_and_it_can_be_read(visit, size, scheme):
    driver = visit("/systems/large.toml?part=wan.lan.3.node.4", size, scheme)
    assert driver.execute_script("return document.documentElement.scrollWidth") <= size[0]
    assert driver.execute_script(f"return 13 * {CANVAS}.zoom()") > 7  # px, of the letters on the canvas
    assert barriers(axe(driver)) == {}, json.dumps(barriers(axe(driver)), indent=1)
