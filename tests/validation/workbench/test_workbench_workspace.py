"""The results as a workspace: search, filters with several values, columns, saved views, and the way from runs."""

import csv
import io
import re
from html import unescape
from pathlib import Path

import pytest

from platforms.errors import UserError
from validation.workbench.pages.downloads import harmless
from validation.workbench.project.numbers import number_text
from validation.workbench.queue import views
from validation.workbench.queue.points import view_of
from validation.workbench.queue.results import MOST_MARKS, MOST_TEXT, ResultsView
from validation.workbench.queue.suites import QueuedCase
from validation.workbench.web.answers import time_text

HERE = "http://127.0.0.1:8765"


@pytest.fixture
def filled(desk, row):
    """Runs of cg on grid-a with 2 and 4 ranks, and of lu on grid_b with 2: three results each."""
    cases = [
        QueuedCase(number, platform, "gigabit", app, "S", ranks, "block", "reference", "h")
        for number, (platform, app, ranks) in enumerate([("grid-a", "cg", 2), ("grid-a", "cg", 4), ("grid_b", "lu", 2)])
    ]
    (desk.project.private / "queued" / "1.toml").write_text('scenarios = ["grid4x2"]\n')
    desk.queue.add("first", "Ann", cases)
    for run in desk.queue.take(9).runs.values():
        desk.queue.finish(run, [
            row("hcf", predicted_s=1.0 + run, energy_predicted_j=10.0 * run, flags="100% of the probe"),
            row("structural", predicted_s=1.0), row("npt", predicted_s=None, flags="out of range"),
        ])  # fmt: skip
    return desk.queue.tables


def ids(tables, **query):
    return [row["id"] for row in ResultsView.of(query).rows(tables)]


class Query(dict):
    """An address in which a name may stand several times."""

    def getlist(self, key):
        return self.get(key, [])

    def get(self, key, otherwise=""):
        return super().get(key, otherwise)


def test_every_word_of_a_search_stands_in_a_result(filled):
    for text, found in (
        ("cg", 6), ("CG hcf", 2), ("grid-a 4", 3), ("out range", 3), ("100%", 3), ("grid_b", 3), ("%", 3),
        ("lu cg", 0), ("\\", 0), ("'; DROP TABLE results; --", 0),
    ):  # fmt: skip
        assert len(ids(filled, q=text)) == found, text  # by hand: three predictors for each of the three runs


def test_a_filter_takes_several_values_and_counts_what_each_would_leave(client, filled):
    text = client.get("/results?app=cg&predictor=hcf&predictor=npt").text
    assert "4 results" in text
    facets = view_of(Query(app=["cg"], predictor=["hcf", "npt"]), filled).facets(filled)
    counts = {key: {one.value: one.many for one in choices} for key, choices in facets.items()}
    assert counts["predictor"] == {"hcf": 2, "npt": 2, "structural": 2}  # its own choice does not narrow it
    assert counts["app"] == {"cg": 4, "lu": 2} and counts["ranks"] == {"2": 2, "4": 2}
    assert counts["state"] == {"no prediction": 2, "with cautions": 2}
    assert "2 results" in client.get("/results?state=no%20prediction&app=cg").text


def test_any_field_is_a_column_that_sorts_and_is_downloaded(client, filled):
    address = "/results?predictor=hcf&column=app&column=energy_predicted_j&sort=-energy_predicted_j"
    text = client.get(address).text
    assert re.findall(r'data-key="energy_predicted_j">(\d+)<', text) == ["30", "20", "10"]
    assert 'data-key="ranks"' not in text
    rows = list(csv.reader(io.StringIO(client.get(address.replace("/results", "/results.csv")).text)))
    assert rows == [["app", "energy_predicted_j"], ["lu", "30.0"], ["cg", "20.0"], ["cg", "10.0"]]


def test_the_usual_columns_are_not_named_in_an_address(filled):
    usual = ResultsView().usual
    assert view_of(Query(column=list(usual)), filled).address() == ""
    view = view_of(Query(column=["app"], mark=["3", "5"], marked="only"), filled)
    assert view.address() == "column=app&mark=3&mark=5&marked=only" and view.count(filled) == 2


def test_what_is_not_known_in_an_address_is_refused_in_one_line(client, filled):
    marks = "&".join(f"mark={number}" for number in range(1, MOST_MARKS + 2))
    queries = ("column=nothing", "column=app'--", "sort=v:x", f"q={'x' * (MOST_TEXT + 1)}", f"q={'+x' * 13}", "mark=x",
               "marked=all", "run=-1", marks)  # fmt: skip
    for query in queries:
        answer = client.get(f"/results?{query}")
        assert answer.status_code == 400 and len(answer.text) < 6000, query


def test_a_run_leads_to_its_results(client, filled):
    link = re.search(r'href="(/results\?suite=1&amp;run=2)"', client.get("/queue/1").text)[1]
    text = client.get(unescape(link)).text
    assert "3 results" in text and "one run" in text and re.findall(r'data-result="(\d+)"', text) == ["4", "5", "6"]


def test_a_view_is_saved_followed_and_removed_and_its_number_is_not_given_again(client, send, desk, filled):
    script = "<script>alert(1)</script>"
    answer = send("/views", {"view_name": script, "place": "/results", "query": "app=cg&sort=-error_pct&page=2"})
    assert answer.headers["location"] == "/results?app=cg&sort=-error_pct"
    text = client.get("/results").text
    assert script not in text and "&lt;script&gt;" in text and 'href="/views/1"' in text
    assert client.get("/views/1").headers["location"] == "/results?app=cg&sort=-error_pct"
    assert send("/views", {"view_name": script, "place": "/results", "query": ""}).status_code == 400  # taken
    assert send("/views/1/remove").status_code == 303 and client.get("/views/1").status_code == 400
    assert views.save(desk.queue.tables, "again", "Ann", "/results", "").id == 2


def test_views_that_are_not_possible_are_refused(send, filled):
    for fields in (
        {"view_name": " "}, {"view_name": "x" * 81}, {"view_name": "a\u202eb"}, {"place": "//evil.example"},
        {"place": "/access"}, {"query": "column=nothing"}, {"query": f"app={'x' * 9000}"},
    ):  # fmt: skip
        answer = send("/views", {"view_name": "one", "place": "/results", "query": "", **fields})
        assert answer.status_code == 400 and not views.views(filled), fields


def test_there_are_not_too_many_views(desk, filled, monkeypatch):
    monkeypatch.setattr(views, "MOST_VIEWS", 1)
    views.save(filled, "one", "Ann", "/results", "")
    with pytest.raises(UserError, match="there are 1 already"):
        views.save(filled, "two", "Ann", "/results", "")


def test_a_cell_that_a_spreadsheet_would_work_out_is_a_text(client, filled):
    for text in ("=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", " =1", "\t=1"):
        assert harmless(text) == f"'{text}"
        with filled.changing() as connection:
            connection.execute("UPDATE details SET fields = json_set(fields, '$.flags', ?)", (text,))
            connection.execute("UPDATE results SET flags = ?", (text,))
        for query in ("", "?column=flags&column=error_pct"):
            rows = list(csv.DictReader(io.StringIO(client.get(f"/results.csv{query}").text)))
            assert {row["flags"] for row in rows} == {f"'{text}"}


def test_numbers_of_a_csv_file_stay_numbers():
    assert [harmless(value) for value in (-2.5, "-2.5", "+3", "", "cg", None)] == [-2.5, "-2.5", "+3", "", "cg", None]


def test_numbers_have_one_spelling():
    assert [number_text(value) for value in (2e10, 20000000000, 1.5e-6, 12800, 1500.0, 0.04, -0.5, 10**15 + 1)] == [
        "2e10", "2e10", "1.5e-6", "12,800", "1,500", "0.04", "-0.5", "1,000,000,000,000,001"
    ]  # fmt: skip


def test_no_page_spells_numbers_and_units_in_its_own_way():
    room = Path(number_text.__code__.co_filename).parents[1]
    own = re.compile(r"""\{:,[^"']*\}.{0,2}\.format|:,?\.\d+g|\bWh\b|\u00b5s|\u03bcs""")
    files = [*room.glob("web/templates/*.html"), *room.glob("pages/*.py"), *room.glob("web/*.py")]
    wrong = {str(path): own.findall(path.read_text("utf-8")) for path in files}
    assert {path: found for path, found in wrong.items() if found} == {}


def test_a_time_names_its_zone():
    assert re.fullmatch(r"1970-01-0\d \d\d:\d\d (UTC|[A-Z]{3,5}|UTC[+-]\d+)", time_text(86400.0 / 2))
