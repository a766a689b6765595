"""The section of --report about the graph that a graph predictor has evaluated: its numbers add up."""

import re

import pytest
from lxml import html

from validation.run import main

MINUS = "\N{MINUS SIGN}"
RUN = "--scenario grid4x2 --class S --app is --predictor dpgraph:known,hcf:constant"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    assert main([*RUN.split(), "--report", str(path)]) == 0
    return html.document_fromstring(path.read_text("utf-8"))


def rows(page, name):
    (found,) = page.xpath(f'//section[@id="graph"]//table[@id="graph-0-{name}-table"]')
    titles = [heading.text_content() for heading in found.xpath("./thead/tr/th")]
    return [dict(zip(titles, (cell.text_content() for cell in row), strict=True)) for row in found.xpath("./tbody/tr")]


def value(text):
    return float(text.replace(MINUS, "-").replace(",", ""))


@pytest.fixture(scope="module")
def t_exec_ms(page):
    (said,) = (
        one.text_content() for one in page.xpath('//section[@id="graph"]/p') if "ends last" in one.text_content()
    )
    return float(re.search(r"T_exec of 10 recorded iterations is ([0-9.]+) ms", said)[1])


def test_the_critical_path_lasts_as_long_as_the_program(page, t_exec_ms):
    path = rows(page, "path")
    assert sum(value(one["time, ms"]) for one in path) == pytest.approx(t_exec_ms, rel=2e-3)
    assert sum(value(one["of T_exec, %"]) for one in path) == pytest.approx(100, rel=2e-3)


def test_elements_and_processes_have_the_same_sum(page, t_exec_ms):
    # Every process has T_exec: in elements, and after its end.
    ended_ms = [value(one["ended, ms"]) for one in rows(page, "processes")]
    elements_ms = sum(value(one["per process, ms"]) for one in rows(page, "elements"))
    assert len(ended_ms) == 8 and min(ended_ms) == 0
    assert elements_ms + sum(ended_ms) / 8 == pytest.approx(t_exec_ms, rel=2e-3)
    by_cluster = rows(page, "by-cluster")
    assert list(by_cluster[0])[2:] == ["c1", "c2", "c3", "c4"]
    mean_ms = sum(value(one[name]) for one in by_cluster for name in ("c1", "c2", "c3", "c4")) / 4
    assert mean_ms == pytest.approx(elements_ms, rel=2e-3)


def test_what_clusters_do_adds_up_and_slower_ones_compute_longer(page):
    clusters = rows(page, "clusters")
    parts = ("computes, %", "waits for others, %", "messages, %", "ended, %")
    for one in clusters:
        assert sum(value(one[part]) for part in parts) == pytest.approx(100, rel=1e-2)
        assert value(one["idle, %"]) == pytest.approx(100 - value(one["computes, %"]), rel=1e-2)
    shares = [value(one["computes, %"]) for one in clusters]
    assert shares == sorted(shares, reverse=True)  # the clusters of grid4x2 stand from slow to fast


def test_elements_are_named_by_operation_and_line(page):
    names = {(one["element"], one["place"].partition(":")[0]) for one in rows(page, "elements")}
    assert ("alltoallv", "is.c") in names and ("segment", "is.c") in names


def test_the_picture_names_what_processes_do(page):
    (picture,) = page.xpath('//section[@id="graph"]//figure[@id="graph-0"]')
    said = picture.text_content()
    for words in ("computes", "message in flight", "waits for another process", "critical path", "rank"):
        assert words in said
