"""Test that every kernel and predictor has a page, and that the kernels' pages have the kernels' values."""

import csv
import re

import pytest
from markdown_pages import DOCS, ROOT, links, table

from apps.programs.kernel import kernel_names, named_kernel
from predictor.registry import PREDICTORS

FOLDER = DOCS / "kernels"
RULES = {"hpl": "8 / nb", "summa": "8 / nb", "fft": "64 / log2 N"}  # their rules.py
WITH_CLASSES = [name for name in kernel_names() if named_kernel(name).classes]


def bytes_per_flop(name):
    declared = named_kernel(name).bytes_per_flop
    return RULES[name] if declared is None else f"{declared:g}"


def facts(name):
    return {row["fact"]: row["value"] for row in table(FOLDER / f"{name}.md", "fact")}


def test_the_overview_has_every_kernel_with_its_figures():
    rows = {re.search(r"`(\w+)`", row["name"])[1]: row for row in table(FOLDER / "index.md", "name")}
    assert sorted(rows) == list(kernel_names())
    for name, row in rows.items():
        assert row["name"] == f"[`{name}`]({name}.md)"
        assert float(row["sustained speed"]) == named_kernel(name).reference_efficiency
        assert row["bytes per operation"] == bytes_per_flop(name)
        assert row["iterations"] == (
            f"`{named_kernel(name).iterations_parameter}`" if named_kernel(name).iterations_parameter else "none"
        )


@pytest.mark.parametrize("name", kernel_names())
def test_a_page_has_the_figures_of_its_kernel(name):
    said = facts(name)
    assert float(re.match(r"[\d.]+", said["sustained speed"])[0]) == named_kernel(name).reference_efficiency
    assert said["memory traffic"] == f"{bytes_per_flop(name)} bytes per operation"
    parameter = named_kernel(name).iterations_parameter
    assert said["iterations"].startswith(f"`{parameter}`" if parameter else "none")
    assert f"apps/kernels/{name}/" in said["sources"]
    assert (named_kernel(name).reference is None) == ("reference.py" not in said["sources"])
    for path in re.findall(r"`(apps/[\w/.]+)`", said["sources"]):
        assert (ROOT / path).exists()


@pytest.mark.parametrize("name", WITH_CLASSES)
def test_its_classes_are_those_of_the_kernel(name):
    rows = table(FOLDER / f"{name}.md", "class")
    assert [row["class"] for row in rows] == list(named_kernel(name).classes)
    assert re.findall(r"`(?:--class )?(\w+)`", facts(name)["problems"]) == list(named_kernel(name).classes)
    for row in rows:
        params = named_kernel(name).classes[row["class"]]
        known = {heading: key[1] for heading in row if (key := re.match(r"`(\w+)`", heading))}
        assert known
        for heading, key in known.items():
            assert float(row[heading]) == params[key]
    published = {"cg": ("zeta", "zeta"), "mg": ("norm of the residual", "rnm2")}
    if name in published:
        heading, key = published[name]
        assert [float(row[heading]) for row in rows] == [params[key] for params in named_kernel(name).classes.values()]


@pytest.mark.parametrize("name", [name for name in kernel_names() if named_kernel(name).size_parameter])
def test_its_parameters_are_those_of_the_kernel(name):
    rows = table(FOLDER / f"{name}.md", "`--param`")
    shown = {row["`--param`"].strip("`"): row["default"] for row in rows}
    defaults = named_kernel(name).parameters
    assert shown == {key: value if isinstance(value, str) else shown[key] for key, value in defaults.items()}
    assert all(float(shown[key]) == value for key, value in defaults.items() if not isinstance(value, str))
    if not defaults:
        assert "there are no parameters" in facts(name)["problems"]


def spread(low, high):
    return low if low == high else f"{low} to {high}"


@pytest.mark.parametrize("name", ["cg", "mg", "lu", "is", "ft", "bt", "sp"])
def test_messages_of_class_a_are_the_official_ones(name):
    with open(ROOT / "tests" / "apps" / "data" / "npb-traffic.csv", newline="") as file:
        official = {row["procs"]: row for row in csv.DictReader(file) if (row["bench"], row["class"]) == (name, "A")}
    rows = table(FOLDER / f"{name}.md", "ranks")
    assert len(rows) >= 4  # BT and SP run on 4, 9, 16 and 25 ranks officially
    for row in rows:
        true = official[row["ranks"]]
        expected = {
            "messages of a rank": spread(true["iter_p2p_msgs_rank_min"], true["iter_p2p_msgs_rank_max"]),
            "bytes of a rank": spread(true["iter_p2p_bytes_rank_min"], true["iter_p2p_bytes_rank_max"]),
            "messages of all": true["iter_p2p_msgs_total"],
            "bytes of all": true["iter_p2p_bytes_total"],
            **{kind: true[f"iter_{kind}_bytes_rank"] for kind in ("allreduce", "reduce", "alltoall", "alltoallv")},
        }
        del row["ranks"]
        assert row == {heading: expected[heading] for heading in row}


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


def test_every_page_of_the_kernels_is_linked_from_the_overview():
    linked = {(FOLDER / target.partition("#")[0]).resolve() for target in links(FOLDER / "index.md")}
    assert set(FOLDER.glob("*.md")) - {FOLDER / "index.md"} <= linked
