"""Make markdown_pages.py and the site's extensions importable for the tests of the documentation."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2] / "docs" / "_extensions")]
