"""The public site in Chromium, opened from the disk."""

import pytest

from tests.chromium import LARGE, SMALL, axe, barriers, headless, show
from tests.validation.report.test_public import site

pytestmark = pytest.mark.browser
pytest.importorskip("selenium.webdriver", reason="selenium is not installed: make test-browser")
__all__ = ["site"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fetch_nothing_fit_the_window_and_keep_nobody_out(site, scheme):
    pages = [site / "index.html", site / "league.html", *(site / "results").glob("*.html")]
    with headless(logged=("browser", "performance")) as driver:
        for page in pages:
            for size in (SMALL, LARGE):
                show(driver, page.as_uri(), size, scheme)
                assert driver.get_log("browser") == []
                assert driver.execute_script("return document.documentElement.scrollWidth") <= size[0]
                fetched = driver.execute_script("return performance.getEntriesByType('resource').map(one => one.name)")
                assert fetched == []
            assert barriers(axe(driver)) == {}
