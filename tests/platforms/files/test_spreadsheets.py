"""Names that spreadsheets would evaluate are marked in CSV files, and read again without the mark."""

import csv
import io
from types import SimpleNamespace

import pandas as pd
import pytest

from apps.store.export import _csv
from platforms.files.writing import cell, cell_text, write_csv
from validation.comparison.truth import read_measured

# Beginnings that OWASP lists under "CSV Injection".
FORMULAS = ["=cmd|' /C calc'!A0", "@SUM(1+1)", "+1+cmd", "-2+3+cmd", "\t=1", "\r=1", '=HYPERLINK("http://x")']
HARMLESS = ["cg", "", "-", "+", "-1.5", "+1e-3", "-inf", "'quoted'", "a=b", "1-2", None, -3, 2.5, True]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_gets_a_mark_which_is_taken_off_again(text):
    assert cell(text) == f"'{text}"
    assert cell_text(cell(text)) == text


@pytest.mark.parametrize("value", HARMLESS)
def test_other_values_stay(value):
    assert cell(value) is value
    if isinstance(value, str):
        assert cell_text(value) == value


def test_tables_have_no_formula_in_columns_or_cells(tmp_path):
    table = pd.DataFrame({"app": ["=1+1", "cg"], "time_s": [-0.5, 1.0], "@x": [None, "-1"], "ranks": [1, 2]})
    write_csv(table, tmp_path / "t.csv")
    rows = list(csv.reader((tmp_path / "t.csv").open()))
    assert rows == [["app", "time_s", "'@x", "ranks"], ["'=1+1", "-0.5", "", "1"], ["cg", "1.0", "-1", "2"]]


def test_an_export_of_the_store_has_no_formula():
    rows = list(csv.reader(io.StringIO(_csv({"app": ["=1+1"], "time_s": [-2.0], "+p": ["-x"]}).decode())))
    assert rows == [["app", "time_s", "'+p"], ["'=1+1", "-2.0", "'-x"]]


def test_measured_times_may_name_a_program_as_results_do(tmp_path):
    (tmp_path / "t.csv").write_text("program,platform,ranks,time_s\n'=a,p,2,1.5\n")
    program = SimpleNamespace(name="=a", label=None)
    times = read_measured(tmp_path / "t.csv").times_s
    assert times == {(program.name, program.label, "p", 2, None, None): 1.5}
