"""Test that the pages have every kernel and predictor, with the kernels' values."""

import csv
import re

import pytest
from markdown_pages import DOCS, ROOT, table

from apps.programs.kernel import kernel_names, named_kernel
from predictor.registry import PREDICTORS

PAGE = DOCS / "kernels" / "index.md"
FIGURES = DOCS / "results" / "kernels.md"
RULES = {"hpl": "8 / nb", "summa": "8 / nb", "fft": "64 / log2 N"}  # their rules.py
WITH_CLASSES = [name for name in kernel_names() if named_kernel(name).classes]


def bytes_per_flop(name):
    declared = named_kernel(name).bytes_per_flop
    return RULES[name] if declared is None else f"{declared:g}"


def rows_of(page, first_heading, name, *headings):
    """Return the rows of a kernel in the tables with these headings."""
    rows = table(page, first_heading)
    return [row for row in rows if row[first_heading] == f"`{name}`" and set(headings) <= set(row)]


def test_the_overview_has_every_kernel_with_its_figures():
    rows = {re.search(r"`(\w+)`", row["name"])[1]: row for row in table(PAGE, "name")}
    assert sorted(rows) == list(kernel_names())
    for name, row in rows.items():
        assert row["name"].startswith(f"[`{name}`](#")
        assert float(row["sustained speed"]) == named_kernel(name).reference_efficiency
        assert row["bytes per operation"] == bytes_per_flop(name)
        assert row["iterations"] == (
            f"`{named_kernel(name).iterations_parameter}`" if named_kernel(name).iterations_parameter else "none"
        )


@pytest.mark.parametrize("name", WITH_CLASSES)
def test_its_classes_are_those_of_the_kernel(name):
    rows = rows_of(FIGURES, "kernel", name, "class", "parameters")
    assert [row["class"] for row in rows] == list(named_kernel(name).classes)
    published = {"cg": "zeta", "mg": "rnm2"}.get(name)
    for row in rows:
        params = named_kernel(name).classes[row["class"]]
        shown = dict(re.findall(r"`(\w+)` ([-+.\de]+)", row["parameters"]))
        assert shown
        assert {key: float(value) for key, value in shown.items()} == {key: params[key] for key in shown}
        if published:
            assert float(row["published result"].rpartition(" ")[2]) == params[published]


@pytest.mark.parametrize("name", [name for name in kernel_names() if named_kernel(name).size_parameter])
def test_its_parameters_are_those_of_the_kernel(name):
    rows = rows_of(PAGE, "kernel", name, "`--param`")
    shown = {row["`--param`"].strip("`"): row["default"] for row in rows}
    defaults = named_kernel(name).parameters
    assert shown == {key: value if isinstance(value, str) else shown[key] for key, value in defaults.items()}
    assert all(float(shown[key]) == value for key, value in defaults.items() if not isinstance(value, str))


def spread(low, high):
    return low if low == high else f"{low} to {high}"


@pytest.mark.parametrize("name", ["cg", "mg", "lu", "is", "ft", "bt", "sp"])
def test_messages_of_class_a_are_the_official_ones(name):
    with open(ROOT / "tests" / "apps" / "data" / "npb-traffic.csv", newline="") as file:
        official = {row["procs"]: row for row in csv.DictReader(file) if (row["bench"], row["class"]) == (name, "A")}
    rows = rows_of(FIGURES, "kernel", name, "ranks", "bytes of a rank")
    assert len(rows) >= 4  # BT and SP run on 4, 9, 16 and 25 ranks officially
    for row in rows:
        true = official[row["ranks"]]
        expected = {
            "messages of a rank": spread(true["iter_p2p_msgs_rank_min"], true["iter_p2p_msgs_rank_max"]),
            "bytes of a rank": spread(true["iter_p2p_bytes_rank_min"], true["iter_p2p_bytes_rank_max"]),
            "messages of all": true["iter_p2p_msgs_total"],
            "bytes of all": true["iter_p2p_bytes_total"],
        }
        shown = {heading: row[heading] for heading in expected if row[heading]}
        assert shown == {heading: expected[heading] for heading in shown}
        collectives = re.findall(r"(\w+) (\d+)", row["bytes of collectives"])
        assert shown or collectives
        assert collectives == [(kind, true[f"iter_{kind}_bytes_rank"]) for kind, _ in collectives]


def test_every_predictor_is_in_the_table_with_a_page_of_its_own():
    page = DOCS / "predictors" / "index.md"
    rows = table(page, "name")
    assert rows
    found = {}
    for row in rows:
        (target,) = re.findall(r"\]\(([^)#]+)[^)]*\)", row["name"])[:1]
        assert (page.parent / target).is_file(), target
        found |= dict.fromkeys(re.findall(r"`([\w:-]+)`", row["name"]), target)
    assert sorted(found) == sorted((*PREDICTORS, "learned", "learned:known", "simulate"))
    for name, target in found.items():
        assert f"`{name}`" in (page.parent / target).read_text(), f"{target} does not name {name}"
