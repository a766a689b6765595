"""CSV files with comments."""

from platforms.files.commented_csv import commented_rows, numbered_rows


def test_rows_have_the_numbers_of_their_lines():
    columns, rows = numbered_rows("# first\na,b\n\n1,2\n# more\n3\n")
    assert columns == ("a", "b")
    assert rows == [(4, {"a": "1", "b": "2"}), (6, {"a": "3", "b": None})]


def test_a_value_of_several_lines_ends_on_its_last():
    assert numbered_rows('a,b\n"1\n2",3\n4,5\n')[1][0][0] == 3
    assert numbered_rows("") == ((), [])


def test_a_file_is_read_without_its_comments(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("# source: a paper\na\n1\n")
    assert commented_rows(path) == [{"a": "1"}]
