"""A Chromium without a window, for the tests of pages."""

import os
import shutil
from importlib.resources import files
from pathlib import Path

import pytest

from tests import waiting

SMALL, LARGE = (400, 800), (1400, 900)  # windows, width and height in pixels
LIMIT_S = 240  # longest wait for a page


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


def show(driver, url, size=LARGE, scheme="light", *, media="", reduced_motion=False):
    """Open a page in a window of this size and colour scheme, on this medium, with empty logs."""
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    if reduced_motion:  # clicks do not wait for scrolling
        features.append({"name": "prefers-reduced-motion", "value": "reduce"})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features, "media": media})
    width, height = size
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    for kind in driver.log_types:
        if kind in ("browser", "performance"):
            driver.get_log(kind)
    driver.get(url)
    return driver


def picture(driver, name):
    """Keep a picture of the page where WORKBENCH_PICTURES names a folder: those of the docs are made so.

    Empty rows at its end are left out, and all but 64 colours.
    """
    folder = os.environ.get("WORKBENCH_PICTURES")
    if not folder:
        return
    from PIL import Image, ImageChops

    driver.execute_script("document.activeElement.blur(); document.querySelector('footer').hidden = true")
    driver.execute_script("window.scrollTo(0, 0)")
    path = Path(folder) / f"workbench-{name}.png"
    driver.save_screenshot(str(path))
    with Image.open(path) as taken:
        whole = taken.convert("RGB")
    drawn = ImageChops.difference(whole, Image.new("RGB", whole.size, "white")).getbbox()
    whole.crop((0, 0, whole.width, min(whole.height, drawn[3] + 20))).quantize(64).save(path, optimize=True)


def until(driver, condition):
    """Wait until a condition in JavaScript holds on the page."""
    held = waiting.until(lambda: driver.execute_script(f"return {condition}"), LIMIT_S, every_s=0.1)
    assert held, (condition, driver.find_element("tag name", "main").text)


def axe(driver):
    """Return what axe finds on the page: its passes and violations; skip the test where there is no axe."""
    package = pytest.importorskip("axe_core_python", reason="axe-core is not installed: make test-browser")
    driver.execute_script(files(package).joinpath("axe.min.js").read_text("utf-8"))
    return driver.execute_async_script(
        "const done = arguments[0]; axe.run(document, {resultTypes: ['violations']}).then(done)"
    )


def barriers(found):
    """Return what keeps people from using a page: the first places by rule, of what ``axe`` has found."""
    return {one["id"]: [node["html"][:160] for node in one["nodes"][:3]] for one in found["violations"]}


def wide_pages(visit, paths, size):
    """Return the pages that are wider than a window of this size.

    Args:
        visit: Opens a page in a window and returns the driver; its arguments are the path and the size.
        paths: The paths of the pages.
        size: One of SMALL and LARGE.
    """
    width = "return document.documentElement.scrollWidth"
    return [path for path in paths if visit(path, size).execute_script(width) > size[0]]
