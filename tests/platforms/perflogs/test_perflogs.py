"""Files of ReFrame, Caliper and Extra-P as tables of measured runs; heat.log was written by ReFrame 4.10."""

import json
import sys
from pathlib import Path

import pytest

from platforms.errors import UserError
from platforms.files.commented_csv import read_table
from platforms.perflogs import experiment_text, table_of
from validation.few_terms.cli import main

LOG = Path(__file__).with_name("heat.log")


def rows(text):
    return [row for _, row in table_of(text, "file")[1]]


def test_a_log_of_reframe_has_a_row_for_each_run_that_passed():
    text = LOG.read_text()
    failed = text + text.splitlines()[1].replace("pass", "fail", 1) + "\n"
    for made in (rows(text), rows(failed)):
        # Four ranks on a node; the seconds are those that the test printed, the gigabytes per second are no time.
        shown = [(row["app"], row["platform"], row["ranks"], row["nodes"], row["time_s"], row["n"]) for row in made]
        assert shown == [
            ("heat", "generic", "4", "1", "3.0", "4"),
            ("heat", "generic", "8", "2", "1.75", "8"),
            ("heat", "generic", "16", "4", "1.125", "16"),
        ]


def test_a_report_of_reframe_has_the_same_rows():
    case = {
        "result": "pass", "name": "heat %n=8", "display_name": "heat %n=8", "system": "generic", "num_tasks": 8,
        "num_tasks_per_node": 4, "job_nodelist": ["a", "b"], "n": 8,
        "perfvalues": {"generic:default:elapsed": [1750.0, 0, None, None, "ms", "pass"]},
    }  # fmt: skip
    content = {"session_info": {}, "runs": [{"testcases": [case, {**case, "result": "fail"}]}]}
    (row,) = rows(json.dumps(content))
    assert (row["app"], row["ranks"], row["nodes"], row["time_s"], row["n"]) == ("heat", "8", "2", "1.75", "8")


def test_an_experiment_of_extra_p_is_the_same_in_all_its_forms():
    text = "PARAMETER p\nPARAMETER size\nPOINTS ( 4 10 ) ( 8 10 )\nREGION main\nMETRIC time\nDATA 3.0 3.5\nDATA 2\n"
    new = {
        "parameters": ["p", "size"],
        "measurements": {
            "main": {
                "time": [{"point": [4, 10], "values": [3.0, 3.5]}, {"point": [8, 10], "values": [2]}],
                "bytes": [{"point": [4, 10], "values": [7]}],
            }
        },
    }
    lines = [
        {"params": {"p": p, "size": 10}, "callpath": "main", "metric": "time", "value": value}
        for p, value in ((4, 3.0), (4, 3.5), (8, 2.0))
    ]
    legacy = {
        "parameters": [{"id": 1, "name": "p"}, {"id": 2, "name": "size"}],
        "callpaths": [{"id": 1, "name": "main"}],
        "metrics": [{"id": 1, "name": "time"}],
        "coordinates": [
            {"id": number, "parameter_value_pairs": [
                {"parameter_id": 1, "parameter_value": p}, {"parameter_id": 2, "parameter_value": 10},
            ]}
            for number, p in ((1, 4), (2, 8))
        ],
        "measurements": [
            {"coordinate_id": place, "callpath_id": 1, "metric_id": 1, "value": value}
            for place, value in ((1, 3.0), (1, 3.5), (2, 2.0))
        ],
    }  # fmt: skip
    expected = [
        {"app": "main", "ranks": p, "nodes": p, "size": "10", "time_s": time}
        for p, time in (("4", "3.0"), ("4", "3.5"), ("8", "2.0"))
    ]
    for form in (text, json.dumps(new), "\n".join(map(json.dumps, lines)), json.dumps(legacy)):
        assert rows(form) == expected


def test_a_profile_of_caliper_is_a_run_whose_regions_are_its_parts():
    # By hand: 8 + 12 + 4 s of all four ranks are 6 s of each; solve takes 3 s, halo 1 s.
    content = {
        "data": [[8.0, 0], [12.0, 1], [4.0, 2]],
        "columns": ["Total time", "path"],
        "column_metadata": [{"is_value": True}, {"is_value": False}],
        "nodes": [
            {"label": "main", "column": "path"},
            {"label": "solve", "column": "path", "parent": 0},
            {"label": "halo", "column": "path", "parent": 0},
        ],
        "jobsize": "4", "numhosts": "2", "cluster": "quartz", "executable": "/home/me/heat",
    }  # fmt: skip
    (row,) = rows(json.dumps(content))
    assert {name: row[name] for name in row if name not in ("jobsize", "numhosts", "cluster", "executable")} == {
        "app": "heat", "platform": "quartz", "ranks": "4", "nodes": "2", "time_s": "6.0", "part_solve_s": "3.0",
        "part_halo_s": "1.0",
    }  # fmt: skip


def test_a_profile_of_the_channel_spot_has_times_that_include_the_regions_inside():
    # By hand: main takes 5 of 6 s, and is divided; MPI_Wait takes 1 s outside and 0.5 s inside of it.
    content = {
        "data": [[1.0, 0], [5.0, 1], [3.0, 2], [0.5, 3], [2.0, 4]],
        "columns": ["avg#inclusive#sum#time.duration", "path"],
        "column_metadata": [{"is_value": True}, {"is_value": False}],
        "nodes": [
            {"label": "MPI_Wait", "column": "path"},
            {"label": "main", "column": "path"},
            {"label": "solve", "column": "path", "parent": 1},
            {"label": "MPI_Wait", "column": "path", "parent": 1},
            {"label": "sweep", "column": "path", "parent": 2},
        ],
        "jobsize": "125", "numhosts": "4", "cmdline": "[./bin/heat2.0,-i,10]", "problem_size": "30",
        "spot.channel": "x",
    }  # fmt: skip
    (row,) = rows(json.dumps(content))
    assert row == {
        "app": "heat2.0", "ranks": "125", "nodes": "4", "time_s": "6.0", "part_solve_s": "3.0",
        "part_MPI_Wait_s": "1.5", "jobsize": "125", "numhosts": "4", "cmdline": "[./bin/heat2.0,-i,10]",
        "problem_size": "30",
    }  # fmt: skip


def test_a_cali_file_is_read_by_calipers_reader():
    pytest.importorskip("caliperreader")
    # By hand: 8 + 12 s of four ranks.
    (row,) = rows(LOG.with_name("run.cali").read_text())
    assert (row["platform"], row["ranks"], row["time_s"], row["part_solve_s"]) == ("quartz", "4", "5.0", "3.0")


def test_without_calipers_reader_a_cali_file_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "caliperreader", None)
    with pytest.raises(UserError, match="pip install caliper-reader"):
        rows(LOG.with_name("run.cali").read_text())


@pytest.mark.parametrize(
    "text",
    ["{", "[1]", "{}", '{"session_info": 1}', '{"parameters": [], "measurements": {"a": 1}}', "[" * 10**5,
     '{"data": [[1, 0]], "columns": ["time", "path"], "nodes": [{"label": "a", "parent": 0}]}',
     "PARAMETER p\nPOINTS 1\nDATA 1\nDATA 2\n", "PARAMETER p\nPOINTS x\nDATA 1\n",
     "result|name|a_value|a_unit\npass|x|1\n", "result|name|a_value|a_unit\npass|x|nan.|s\n"],
)  # fmt: skip
def test_a_damaged_file_gets_one_line(text):
    with pytest.raises(UserError) as error:
        table_of(text, "file")
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize("text", ["app,nodes,time_s\na,1,2\n", "", "# nothing\n", "PARAMETER,x\n1,2\n"])
def test_csv_stays_csv(text):
    assert table_of(text, "file") is None


def test_measured_runs_are_predicted_from_a_log_and_written_for_extra_p(tmp_path, capsys):
    out = tmp_path / "experiment.json"
    words = [str(LOG), "--evidence", "1,2", "--write-extrap", str(out), "--json"]
    assert main(words) == 0
    assert '"heat"' in capsys.readouterr().out
    experiment = json.loads(out.read_text())
    assert experiment == json.loads(experiment_text(
        [("heat", {"nodes": n, "ranks": p}, [t]) for n, p, t in ((1, 4, 3.0), (2, 8, 1.75), (4, 16, 1.125))]
    ))  # fmt: skip
    columns, again = read_table(out, "", where="file")
    assert columns == ("app", "nodes", "ranks", "time_s") and len(again) == 3


def test_profiles_that_are_written_for_thicket_are_read_again(tmp_path):
    runs = tmp_path / "runs.csv"
    runs.write_text("app,nodes,ranks,time_s,part_solve_s\nheat,1,4,3.0,2.0\nheat,2,8,1.75,1.25\nheat,4,16,1,0.5\n")
    folder = tmp_path / "profiles"
    assert main([str(runs), "--evidence", "1,2", "--write-caliper", str(folder)]) == 0
    made = [rows(file.read_text())[0] for file in sorted(folder.iterdir())]
    assert [(row["app"], row["nodes"], row["ranks"], row["time_s"], row["part_solve_s"]) for row in made] == [
        ("heat", "1", "4", "3.0", "2.0"),
        ("heat", "2", "8", "1.75", "1.25"),
        ("heat", "4", "16", "1.0", "0.5"),
    ]
    # What thicket's reader (hatchet 2026.2) needs beside the values.
    content = json.loads((folder / "run-0001.json").read_text())
    assert {"time", "Node order", "path"} <= set(content["columns"]) and content["jobsize"] == "4"
