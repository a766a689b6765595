"""A Chromium without a window, for the tests of pages."""

import shutil

import pytest


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
