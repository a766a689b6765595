"""All pages of the site in Chromium: nothing overflows its frame, in a wide and in a narrow window."""

import pytest

from tests.chromium import headless

pytestmark = pytest.mark.browser
pytest.importorskip("selenium.webdriver", reason="selenium is not installed: make test-browser")

# Elements that stick out of the article, unless a box around them scrolls; and how far the page does.  The theme's
# headings and entries begin a little to the left, and end a little to the right of it, for their background.
STICKING_OUT = """
const scrolls = element => {
  for (let box = element; box !== document.body; box = box.parentElement)
    if (["auto", "scroll"].includes(getComputedStyle(box).overflowX) && !box.matches(".content")) return true;
  return false;
};
const article = document.querySelector("article"), edge = article.getBoundingClientRect().right;
const found = [...article.querySelectorAll("*")]
  .filter(element => !element.matches("h1, h2, h3, h4, h5, h6, dt") && element.getBoundingClientRect().width > 1)
  .filter(element => element.getBoundingClientRect().right > edge + 5 && !scrolls(element))
  .map(element => `${element.tagName}: ${element.textContent.trim().slice(0, 60)}`);
if (document.documentElement.scrollWidth > window.innerWidth) found.push("the page");
const commands = window.innerWidth < 1392 ? [] : [...document.querySelectorAll(".highlight-sh pre")]
  .filter(element => element.scrollWidth > element.clientWidth + 1)
  .map(element => `a command needs scrolling: ${element.textContent.trim().slice(0, 60)}`);
return [...found, ...commands];
"""


@pytest.fixture(scope="module")
def browser():
    with headless() as driver:
        yield driver


@pytest.mark.parametrize("width", [1400, 400])
def test_nothing_runs_out_of_the_page_and_commands_fit_on_a_wide_one(browser, site, width):
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    found = {}
    for page in sorted(site.rglob("*.html")):
        browser.get(page.as_uri())
        found[str(page.relative_to(site))] = browser.execute_script(STICKING_OUT)
    assert len(found) > 50
    assert {page: what for page, what in found.items() if what} == {}
