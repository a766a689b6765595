"""The page of --report in Chromium.

It works by mouse and keyboard, on small and large screens, light and dark, on paper, and without a network.
"""

import base64
import json
import re
import zlib
from itertools import pairwise

import pytest

from tests.chromium import axe, barriers, headless, show
from validation.campaign import main as campaign

pytestmark = pytest.mark.browser
pytest.importorskip("selenium.webdriver", reason="selenium is not installed: make test-browser")

CAMPAIGN = """
scenarios = ["grid4x2", "grid3x9"]
networks = ["gigabit", "infiniband"]
apps = ["cg", "is"]
classes = ["S"]
mappings = ["block", "cyclic"]
predictors = ["hcf", "hcf:constant", "hierarchical"]
"""
SMALL, LARGE = (360, 740), (1920, 1080)


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """The page of a campaign of 16 targets in which one predictor has no answers."""
    folder = tmp_path_factory.mktemp("browser")
    (folder / "campaign.toml").write_text(CAMPAIGN)
    assert campaign([str(folder / "campaign.toml"), "--report", str(folder / "report.html")]) == 0
    return (folder / "report.html").as_uri()


@pytest.fixture(scope="module")
def browser():
    with headless(limit_s=120, logged=("browser", "performance")) as driver:
        yield driver


@pytest.fixture
def visit(browser, url):
    """Open the page in a window of this size and colour scheme."""

    def opened(size=(1280, 900), scheme="light", media=""):
        return show(browser, url, size, scheme, media=media, reduced_motion=True)

    return opened


def column(driver, table, number):
    return driver.execute_script(
        "return [...document.querySelectorAll(`#${arguments[0]}-table tbody tr`)].filter(row => !row.hidden)"
        ".map(row => row.cells[arguments[1]].textContent)",
        table, number,
    )  # fmt: skip


def heading(driver, table, title):
    """The number and the button of a column."""
    buttons = driver.find_elements("css selector", f"#{table}-table thead button")
    number = [button.text for button in buttons].index(title)
    return number, buttons[number]


def values(texts):
    return [float(text.replace("\N{MINUS SIGN}", "-").replace(",", "")) for text in texts if text != "\N{EN DASH}"]


def test_nothing_goes_wrong_and_nothing_is_fetched(visit):
    driver = visit()
    assert driver.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    wanted = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
    assert wanted and all(one.startswith(("file:", "data:")) for one in wanted)
    assert sum(one.startswith("file:") for one in wanted) == 1


def test_a_table_sorts_by_a_click_up_and_down(visit):
    driver = visit()
    number, button = heading(driver, "results", "|error|, %")
    button.click()
    rising = column(driver, "results", number)
    assert values(rising) == sorted(values(rising)) and len(set(rising)) > 10
    assert rising[-1] == "\N{EN DASH}"  # missing answers come last
    assert button.find_element("xpath", "..").get_attribute("aria-sort") == "ascending"
    button.click()
    falling = column(driver, "results", number)
    assert values(falling) == sorted(values(falling), reverse=True)
    assert falling[-1] == "\N{EN DASH}"
    assert button.find_element("xpath", "..").get_attribute("aria-sort") == "descending"
    assert "descending" in driver.find_element("id", "said").text


def test_a_table_sorts_by_the_keyboard_and_by_words(visit):
    driver = visit()
    number, button = heading(driver, "results", "predictor")
    driver.execute_script("arguments[0].focus()", button)
    driver.switch_to.active_element.send_keys("\ue007")  # Enter
    assert column(driver, "results", number) == sorted(column(driver, "results", number))
    driver.switch_to.active_element.send_keys(" ")
    assert column(driver, "results", number) == sorted(column(driver, "results", number), reverse=True)
    sorted_by = driver.find_elements("css selector", "#results-table th[aria-sort]")
    assert [one.text for one in sorted_by] == ["predictor"]


def test_a_long_table_can_be_searched(visit):
    driver = visit()
    field = driver.find_element("css selector", "#errors .search input")
    number, _ = heading(driver, "results", "predictor")
    field.send_keys("grid3x9 constant")
    # By hand: 2 networks x 2 programs x 2 mappings of one scenario and predictor.
    assert column(driver, "results", number) == ["hcf:constant"] * 8


def test_the_first_key_leads_past_the_contents(visit):
    driver = visit()
    driver.find_element("tag name", "body").send_keys("\ue004")  # Tab
    link = driver.switch_to.active_element
    assert link.get_attribute("href").endswith("#main") and link.rect["x"] >= 0
    outline = driver.execute_script("return getComputedStyle(arguments[0]).outlineStyle", link)
    assert outline == "solid"


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_the_page_never_scrolls_sideways_and_every_picture_has_its_size(visit, size):
    driver = visit(size)
    width, window = driver.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
    assert width <= window
    for figure in driver.find_elements("css selector", "figure:not(.live)"):
        box = figure.find_element("css selector", "svg").rect
        assert box["width"] > 200 and box["height"] > 60
        words = driver.execute_script("return arguments[0].querySelectorAll('svg text').length", figure)
        assert words >= 3


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_that_keeps_people_out(visit, scheme):
    driver = visit(scheme=scheme)
    driver.execute_script("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    found = axe(driver)
    assert barriers(found) == {}
    assert len(found["passes"]) > 20


# Contrast by WCAG 2; axe does not check text in SVG.
CONTRAST = """
const channels = (color) => (color.match(/[\\d.]+/g) || [0, 0, 0]).slice(0, 3).map(Number);
const luminance = (color) => channels(color)
  .map((part) => part / 255).map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
  .reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0);
const paper = getComputedStyle(document.body).backgroundColor;
return [...document.querySelectorAll("svg text")].map((text) => {
  const behind = text.closest(".on-white") ? "rgb(255, 255, 255)" : paper;
  const [a, b] = [luminance(getComputedStyle(text).fill), luminance(behind)];
  return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), text.textContent];
});
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_in_pictures_can_be_read(visit, scheme):
    found = visit(scheme=scheme).execute_script(CONTRAST)
    assert len(found) > 100
    assert [(ratio, text) for ratio, text in found if ratio < 4.5] == []


def test_light_and_dark_differ(visit):
    def colors(scheme, media=""):
        driver = visit(scheme=scheme, media=media)
        return driver.execute_script(
            "const style = getComputedStyle(document.body); return [style.color, style.backgroundColor]"
        )

    assert colors("light") != colors("dark")
    assert colors("dark", media="print") == colors("light")  # paper is white


def test_paper_has_pages_and_all_that_is_folded_away(visit):
    driver = visit(scheme="dark", media="print")
    options = {"preferCSSPageSize": True, "printBackground": True}
    pdf = base64.b64decode(driver.execute_cdp_cmd("Page.printToPDF", options)["data"])
    assert 5 <= len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 60
    assert len(pdf) > 50_000
    # A PDF has glyphs instead of words; the state of the folded parts shows that the values of the figures are printed.
    operators = sum(_operators(pdf))
    driver.execute_script("document.querySelectorAll('details').forEach(one => one.remove())")
    without = base64.b64decode(driver.execute_cdp_cmd("Page.printToPDF", options)["data"])
    assert operators > sum(_operators(without)) + 1000


def _operators(pdf):
    """Texts shown in every stream of a PDF."""
    for stream in re.findall(rb"stream\r?\n(.*?)endstream", pdf, re.DOTALL):
        try:
            yield zlib.decompressobj().decompress(stream).count(b"Tj")
        except zlib.error:
            yield 0


def test_on_paper_nothing_is_wider_than_the_page(visit):
    # A4 minus its margins: 186 mm, 703 px at 96 px per inch.
    driver = visit((703, 994), media="print")
    driver.execute_script("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    wide = driver.execute_script(
        "return [...document.querySelectorAll('table, svg, pre')].filter(one =>"
        " one.getBoundingClientRect().right > 704)"
        ".map(one => [one.id || one.textContent.slice(0, 40), one.getBoundingClientRect().right])"
    )
    assert wide == []
    # Chromium repeats the headings of a table on every page only if they contain no boxes.
    button = driver.find_element("css selector", "#results-table thead button")
    assert driver.execute_script("return getComputedStyle(arguments[0]).display", button) == "contents"


def timeline(driver, place=0):
    """The canvas of a timeline, in view."""
    canvas = driver.find_element("css selector", f"#timeline-{place} canvas")
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", canvas)
    return canvas


def shown(driver, place=0):
    """What a timeline shows: its moments in ms, and the text beside the mouse."""
    axis = driver.find_elements("css selector", f"#timeline-{place} .timeline-axis span")
    said = driver.find_elements("css selector", f"#timeline-{place} .timeline-said div")
    return [float(one.text) for one in axis], [one.text for one in said]


def mouse(driver):
    from selenium.webdriver import ActionChains

    return ActionChains(driver, duration=0)


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_a_timeline_is_as_wide_as_the_page_and_has_a_pixel_for_each_of_its_screen(visit, size):
    driver = visit(size)
    canvas = timeline(driver)
    main = driver.find_element("id", "main").rect["width"]
    assert canvas.rect["width"] > 0.7 * main
    assert int(canvas.get_attribute("width")) == round(canvas.rect["width"])
    assert int(canvas.get_attribute("height")) == 8  # ranks
    picture = driver.find_element("css selector", "#timeline-0 .picture")
    assert not picture.is_displayed()


def test_values_of_a_timeline_stand_under_the_mouse(visit):
    driver = visit()
    canvas = timeline(driver)
    data = json.loads(driver.execute_script("return document.querySelector('#timeline-0 .timeline-data').textContent"))
    row = data["rows"][2]
    # The longest interval of rank 2, which is an activity of its own.
    at = max(range(len(row["lasts"])), key=row["lasts"].__getitem__)
    begin, lasts = row["begin"] + sum(row["lasts"][:at]), row["lasts"][at]
    middle = (begin + lasts / 2) / data["span"]
    width, height = canvas.rect["width"], canvas.rect["height"]
    mouse(driver).move_to_element_with_offset(
        canvas, round((middle - 0.5) * width), round((2.5 / 8 - 0.5) * height)
    ).perform()
    name, what, times = shown(driver)[1]
    assert name == row["name"] and name.startswith("rank 2 on ")
    (share,) = {max(data["mixes"][row["mix"][at]])}
    assert share == 100 and what == data["activities"][data["mixes"][row["mix"][at]].index(100)]["name"]
    begins, _, ends, unit, length, own = re.match(r"(\S+) (to) (\S+) (\S+): (\S+) (\S+)", times).groups()
    scale = {"s": 1, "ms": 1e-3, "\N{MICRO SIGN}s": 1e-6}
    assert float(begins) * scale[unit] == pytest.approx(begin * data["tick_s"], rel=0.01)
    assert float(ends) * scale[unit] == pytest.approx((begin + lasts) * data["tick_s"], rel=0.01)
    assert float(length) * scale[own] == pytest.approx(lasts * data["tick_s"], rel=0.01)
    mouse(driver).move_to_element(driver.find_element("tag name", "h1")).perform()
    assert not driver.find_element("css selector", "#timeline-0 .timeline-said").is_displayed()


def test_a_timeline_zooms_by_buttons_keys_and_dragging(visit):
    driver = visit()
    canvas = timeline(driver)
    whole = shown(driver)[0]
    pixels = "return arguments[0].toDataURL()"
    drawn = driver.execute_script(pixels, canvas)
    driver.find_element("css selector", "#timeline-0 button[title='Zoom in']").click()
    half = shown(driver)[0]
    assert whole[0] < half[0] and half[-1] < whole[-1]
    assert half[-1] - half[0] == pytest.approx((whole[-1] - whole[0]) / 2, rel=0.25)
    assert driver.execute_script(pixels, canvas) != drawn
    canvas.send_keys("\ue014")  # right
    assert shown(driver)[0][0] > half[0]
    canvas.send_keys("\ue011")  # home
    assert shown(driver)[0] == whole
    assert driver.execute_script(pixels, canvas) == drawn
    width = canvas.rect["width"]
    drag = mouse(driver).move_to_element_with_offset(canvas, round(-width / 4), 0).click_and_hold()
    drag.move_to_element_with_offset(canvas, round(-width / 8), 0).release().perform()
    dragged = shown(driver)[0]
    assert dragged[0] > whole[0] and dragged[-1] - dragged[0] < (whole[-1] - whole[0]) / 4
    mouse(driver).double_click(canvas).perform()
    assert shown(driver)[0] == whole


def test_a_pixel_of_a_timeline_mixes_the_activities_in_its_time(visit):
    driver = visit(SMALL)
    canvas = timeline(driver)
    width = int(canvas.get_attribute("width"))
    data = json.loads(driver.execute_script("return document.querySelector('#timeline-0 .timeline-data').textContent"))
    red = [int(one["color"][1:3], 16) for one in data["activities"]]
    script = "return [...arguments[0].getContext('2d').getImageData(0, 3, arguments[0].width, 1).data]"
    reds = driver.execute_script(script, canvas)[::4]
    row, part = data["rows"][3], data["span"] / width
    edges = [row["begin"]]
    for lasts in row["lasts"]:
        edges.append(edges[-1] + lasts)
    assert min(row["lasts"]) < part / 10  # many activities are shorter than a pixel
    for x in range(0, width, 7):
        inside = [max(0, min(end, (x + 1) * part) - max(begin, x * part)) for begin, end in pairwise(edges)]
        mean = sum(
            time * share / 100 * one
            for time, mix in zip(inside, row["mix"], strict=True)
            for share, one in zip(data["mixes"][mix], red, strict=True)
        )
        assert reds[x] == pytest.approx(mean / part, abs=2)


def test_without_scripts_and_on_paper_a_timeline_is_a_picture(visit, browser):
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        driver = visit()
        assert driver.find_element("css selector", "#timeline-0 .picture svg").rect["width"] > 600
        assert not driver.find_elements("css selector", "#timeline-0 canvas")
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    driver = visit(media="print")
    assert driver.find_element("css selector", "#timeline-0 .picture").is_displayed()
    assert not driver.find_element("css selector", "#timeline-0 .timeline").is_displayed()
