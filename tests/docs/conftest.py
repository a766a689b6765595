"""Tests of the documentation share markdown_pages.py; the site's extensions are tested where they are."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2] / "docs" / "_extensions")]
