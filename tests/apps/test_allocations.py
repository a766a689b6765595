"""Allocations in the C sources: none goes unchecked."""

import re
from pathlib import Path

import pytest

import apps

APPS = Path(apps.__file__).parent
SOURCES = sorted(path for pattern in ("*.[ch]", "*.cpp") for path in APPS.rglob(pattern))
ALLOCATION = re.compile(r"(?<!checked\()\b(?:malloc|calloc|realloc)\(")
NULL_CHECK = re.compile(r"if \(!\w")
LINES_TO_CHECK = 2  # the result must be compared with NULL within this many lines


def unchecked(source: str) -> list[str]:
    """The lines that allocate without ``checked`` and without a comparison with NULL right after."""
    lines = re.sub(r"/\*.*?\*/|//[^\n]*", lambda comment: "\n" * comment[0].count("\n"), source, flags=re.S).split("\n")
    return [
        line.strip()
        for number, line in enumerate(lines)
        if ALLOCATION.search(line) and not NULL_CHECK.search(" ".join(lines[number + 1 : number + 1 + LINES_TO_CHECK]))
    ]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(APPS)))
def test_every_allocation_is_checked(path):
    assert unchecked(path.read_text()) == []


def test_unchecked_allocations_are_found():
    assert unchecked("int *a = malloc(8);\na[0] = 1;\n") == ["int *a = malloc(8);"]
    assert unchecked("a = (A){.b = checked(malloc(8)), .c = calloc(1, 8)};") != []
    assert unchecked("int *a = malloc(8);\nif (!a)\n  fail();\n") == []
    assert unchecked("int *a = checked(malloc(8)); /* not\n malloc(8) */") == []
