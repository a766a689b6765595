"""A Chromium without a window, for the tests of pages."""

import shutil
from importlib.resources import files

import pytest

SMALL, LARGE = (400, 800), (1400, 900)  # windows, width and height in pixels


def headless(*, limit_s=60, logged=("browser",)):
    """Return a driver of a new Chromium, which a ``with`` statement ends; skip the test where there is none.

    Args:
        limit_s: Longest time of an asynchronous script, s.
        logged: The kinds of logs that the driver keeps: browser, performance.
    """
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed: make test-browser")
    if shutil.which("chromedriver") is None:
        pytest.skip("there is no Chromium with chromedriver: make test-browser installs it")
    options = webdriver.ChromeOptions()
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", dict.fromkeys(logged, "ALL"))
    driver = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    driver.set_script_timeout(limit_s)
    return driver


def wide_pages(visit, paths, size):
    """Return the pages that are wider than a window of this size.

    Args:
        visit: Opens a page in a window and returns the driver; its arguments are the path, the size and the scheme.
        paths: The paths of the pages.
        size: One of SMALL and LARGE.
    """
    width = "return document.documentElement.scrollWidth"
    return [path for path in paths if visit(path, size).execute_script(width) > size[0]]


def barriers(visit, paths, scheme, size=None):
    """Return what axe finds on pages that keeps people out: the elements by page and rule.

    Args:
        visit: As of ``wide_pages``.
        paths: The paths of the pages.
        scheme: ``light`` or ``dark``.
        size: One of SMALL and LARGE; None: large windows are light, small ones dark.
    """
    axe = pytest.importorskip("axe_core_python", reason="axe-core is not installed: make test-browser")
    script = files(axe).joinpath("axe.min.js").read_text("utf-8")
    found = {}
    for path in paths:
        driver = visit(path, size or (SMALL if scheme == "dark" else LARGE), scheme)
        driver.execute_script(script)
        result = driver.execute_async_script(
            "const done = arguments[0]; axe.run(document, {resultTypes: ['violations']}).then(done)"
        )
        for one in result["violations"]:
            found[path, one["id"]] = [node["html"][:120] for node in one["nodes"][:3]]
    return found
