"""Platforms and suites of a workbench are files, which it writes without losing what is in them."""

import tomllib

import pytest

from platforms.errors import UserError
from platforms.grids.scenario import read_grid
from validation.workbench.project.folder import checked_name, open_project
from validation.workbench.project.platform_files import grid_text, keep_grid, listed
from validation.workbench.project.ranges import numbers_of
from validation.workbench.project.suite_files import SuiteForm, read_form, save, text_of_form

GRID = {
    "network": "infiniband", "shape": "star", "wan_bandwidth": "2.5", "wan_latency": "", "clusters": "2",
    "nodes_1": "8", "speed_1": "40", "cores_1": "1", "nodes_2": "4", "speed_2": "62.5", "cores_2": "16",
}  # fmt: skip
SUITE = """# Why: the referee asked for it.
apps = ["cg"]      # the one that matters
iterations = "full"

scenarios = ["grid4x2"]   # small
ranks = [2, 4]
"""


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("", []), ("8", [8]), ("8, 4,8", [8, 4]), ("1-4", [1, 2, 3, 4]), ("16-64:16", [16, 32, 48, 64]),
     ("100-800*2", [100, 200, 400, 800]), ("5-5", [5]), ("3-10:4, 1", [3, 7, 1])],
)  # fmt: skip
def test_lists_and_ranges_of_numbers(text, numbers):
    assert numbers_of(text, "ranks") == numbers


@pytest.mark.parametrize("text", ["x", "0", "-4", "4-2", "1-9*1", "1-9:0", "1.5", "1-99999", "8;9", "\u0664", "1e3"])
def test_other_numbers_are_refused(text):
    with pytest.raises(UserError, match="ranks: "):
        numbers_of(text, "ranks")


@pytest.mark.parametrize("name", ["", "..", "a/b", "a.b", ".hidden", "-x", "a b", "x" * 61, "a\n"])
def test_names_that_are_no_plain_file_names_are_refused(name):
    if name == "a\n":
        assert checked_name(name, "name") == "a"
    else:
        with pytest.raises(UserError):
            checked_name(name, "name")


def test_a_grid_from_the_form_is_the_scenario_that_it_describes(project):
    name = keep_grid(project, "mine", grid_text(GRID))
    grid = read_grid(project.platforms / name)
    assert [(c.nodes, c.speed_flops, c.cores) for c in grid.clusters] == [(8, 40e9, 1), (4, 62.5e9, 16)]
    assert (grid.network, grid.wan_shape) == ("infiniband", "star")
    assert {link.wire.bandwidth_Bps for link in grid.wan_links} == {2.5e9 / 8}
    assert listed(project)[0].name == "mine.toml"
    with pytest.raises(UserError, match="has one of this name"):
        keep_grid(project, "mine", grid_text(GRID))


@pytest.mark.parametrize(
    "change",
    [{"nodes_2": ""}, {"nodes_1": "1.5"}, {"speed_1": "fast"}, {"speed_1": "-1"}, {"speed_2": "nan"}, {"network": "x"},
     {"shape": "ring"}, {"wan_latency": "0"}, {"cores_1": "inf"}],
)  # fmt: skip
def test_a_wrong_value_in_the_form_is_told_in_one_line(change):
    with pytest.raises(UserError) as told:
        grid_text(GRID | change)
    assert "\n" not in str(told.value)


def test_a_suite_is_changed_without_losing_comments_order_or_other_keys(project):
    save(project, "mine", SUITE)
    form = read_form(project, "mine")
    assert (form.platforms, form.lists["apps"], form.counts["ranks"], form.others) == (
        ("grid4x2",), ("cg",), "2, 4", ("iterations",),
    )  # fmt: skip
    assert text_of_form(project, form) == SUITE
    changed = text_of_form(project, SuiteForm("mine", form.platforms, {"apps": ("cg",)}, {"ranks": "2-8*2"}))
    assert changed == SUITE.replace("[2, 4]", "[2, 4, 8]")


def test_platform_files_are_named_as_the_commands_find_them_from_the_suite(project):
    keep_grid(project, "mine", grid_text(GRID))
    (project.platforms / "site.xml").write_text("<platform/>")
    form = SuiteForm("new", ("mine.toml", "site.xml", "grid4x2"), {"predictors": ("hcf",)})
    written = tomllib.loads(text_of_form(project, form))
    assert written == {
        "scenarios": ["../platforms/mine.toml", "grid4x2"], "platforms": ["../platforms/site.xml"],
        "predictors": ["hcf"],
    }  # fmt: skip
    save(project, "new", text_of_form(project, form))
    assert read_form(project, "new").platforms == ("mine.toml", "grid4x2", "site.xml")


def test_the_secret_of_a_project_stays_and_is_nobody_elses(project):
    assert project.secret() == project.secret() and len(project.secret()) == 64
    assert (project.private / "secret").stat().st_mode & 0o777 == 0o600


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="not a project folder"):
        open_project(tmp_path / "file")
