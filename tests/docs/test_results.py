"""Pages of results are what their stored rows give, and each table names where it is from."""

import subprocess
import sys

import pytest
from markdown_pages import DOCS, ROOT

sys.path.insert(0, str(DOCS))

from write_results import MARK, RESULTS, index, page, pages


def test_every_page_of_results_is_up_to_date():
    made = pages()
    assert {path for path in RESULTS.glob("*.md")} == set(made)
    wrong = [path.name for path, text in made.items() if path.read_text("utf-8") != text]
    assert wrong == [], "run: python docs/write_results.py"


def test_pages_say_that_they_are_made():
    assert all(text.split("\n\n")[1].startswith(MARK) for text in pages().values())


def test_a_table_has_the_cells_of_its_rows_and_names_its_commit(tmp_path):
    file = tmp_path / "runs.toml"
    file.write_text(
        'title = "Runs"\nabout = "How long? In seconds."\n[[table]]\nrows = "app,time\\ncg,1.5\\n\\"lu, a|b\\",2"\n'
        'commit = "abc1234"\ncommand = ["gridval run", "gridval predict"]\n'
    )
    assert page(file).split(" -->\n\n")[1] == (
        "How long? In seconds.\n\n| app | time |\n| --- | ---: |\n| cg | 1.5 |\n| lu, a\\|b | 2 |\n\n"
        "Measured with commit abc1234 by `gridval run`, `gridval predict`.\n"
    )
    assert "* [Runs](runs.md): How long?\n" in index([file])


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('rows = "a,b\\n1"\ncommit = "abc1234"\ncommand = "make run"', "row 1 has 1 cells for 2 columns"),
        ('rows = "a\\n1"\ncommit = "abc1234"', "command"),
        ('row = "a"\nsource = "a paper"', "unknown key row"),
    ],
)
def test_a_wrong_table_is_named_with_its_file(tmp_path, table, said):
    file = tmp_path / "runs.toml"
    file.write_text(f'title = "Runs"\nabout = "How long?"\n[[table]]\n{table}\n')
    with pytest.raises(ValueError, match=f"runs.toml, table 1: .*{said}"):
        page(file)


def test_published_rows_are_not_called_measured(tmp_path):
    file = tmp_path / "runs.toml"
    file.write_text('title = "Runs"\nabout = "How long?"\n[[table]]\nrows = "a\\n1"\nsource = "a paper, Table 2"\n')
    assert page(file).endswith("<!-- not measured -->\n\n| a |\n| ---: |\n| 1 |\n\nFrom a paper, Table 2.\n")


def test_the_script_changes_nothing_that_is_up_to_date():
    before = {path: path.read_bytes() for path in RESULTS.glob("*.md")}
    subprocess.run([sys.executable, "docs/write_results.py"], cwd=ROOT, check=True)
    assert {path: path.read_bytes() for path in RESULTS.glob("*.md")} == before
