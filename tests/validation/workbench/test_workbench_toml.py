"""Changes of TOML texts keep everything else: comments, order, blanks."""

import tomllib
from pathlib import Path

import pytest

from platforms.errors import UserError
from platforms.files.toml_places import places_of
from validation.workbench.editing.applications import EXAMPLE_FILES, ApplicationEdit, example, path_of, step_of
from validation.workbench.editing.systems import NEW, SystemEdit
from validation.workbench.editing.toml_edit import TomlEdit

ROOT = Path(__file__).parents[3]
FILES = sorted([*(ROOT / "examples").rglob("*.toml"), *(ROOT / "platforms" / "system" / "hardware").glob("*.toml")])
AWKWARD = '''\
# first
title = """
[not.a.header]
""" # after a text
rows = [ # of several lines
  "[x]", # with a comment
  { a.b = 1, "c d" = [1, [2]] },
]

[ "wan" . 'x' ] # spaced
when = 2026-01-02T03:04:05Z
pattern = 'a\\'

[[wan.lan]]
[[wan.lan]]
k = "a\\"]"
[wan.lan.sub]
z = """four""""
'''


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_value_of_the_examples_is_found_at_its_place(path):
    check_places(path.read_text("utf-8"))


def test_texts_lists_and_headers_that_look_like_others_are_told_apart():
    check_places(AWKWARD)
    check_places(AWKWARD.replace("\n", "\r\n"))
    assert [one.path for one in places_of(AWKWARD).sections] == [
        (), ("wan", "x"), ("wan", "lan", 0), ("wan", "lan", 1), ("wan", "lan", 1, "sub"),
    ]  # fmt: skip


def check_places(text):
    """The text at each place, read alone, is the value that the whole file has there."""
    whole, places = tomllib.loads(text), places_of(text)
    for path, (begin, end) in places.values.items():
        assert tomllib.loads(f"x = {text[begin:end]}")["x"] == value_at(whole, path), path
    for section in places.sections:
        value_at(whole, section.path)
    lines = text.split("\n")
    for path in places.values:
        if len(path) and isinstance(path[-1], str) and all(isinstance(step, str) for step in path[-1:]):
            assert places.line_of(path) <= len(lines)


def value_at(values, path):
    for step in path:
        values = values[step]
    return values


GALERA = (ROOT / "examples" / "systems" / "galera-plus.toml").read_text("utf-8")


def changed(text, change):
    edit = SystemEdit(text)
    change(edit, edit.part)
    return edit.result()


def test_a_changed_value_changes_one_line():
    made = changed(GALERA, lambda edit, part: edit.set_value(part("lan.node.0"), "count", 7))
    assert made == GALERA.replace("count = 192", "count = 7")


def test_a_new_value_comes_after_the_others_of_its_table():
    made = changed(GALERA, lambda edit, part: edit.set_value(part("lan.node.0"), "link.bandwidth_gbit_s", 3))
    before = "power = { idle_w = 78, full_w = 136.08, threads_w = 109, thread_w = 1.9, most_w = 151 }\n"
    assert made == GALERA.replace(before, f"{before}link = {{bandwidth_gbit_s = 3}}\n", 1)


def test_a_name_of_the_system_comes_after_the_first_comment():
    made = changed(GALERA, lambda edit, part: edit.set_value(part("system"), "name", "mine"))
    assert made == GALERA.replace("[lan]\n", 'name = "mine"\n\n[lan]\n')


def test_nodes_that_are_copied_and_removed_leave_the_text_as_it_was():
    copied = changed(GALERA, lambda edit, part: edit.copy([part("lan.node.0")])[0])
    assert tomllib.loads(copied)["lan"]["node"][1]["name"] == "galera2"
    assert changed(copied, lambda edit, part: edit.remove([part("lan.node.1")])) == GALERA


def test_two_shifts_leave_the_text_as_it_was():
    shifted = changed(GALERA, lambda edit, part: edit.shift(part("lan.node.0"), up=False))
    assert [node["name"] for node in tomllib.loads(shifted)["lan"]["node"]] == ["storage", "galera"]
    assert changed(shifted, lambda edit, part: edit.shift(part("lan.node.1"), up=True)) == GALERA
    assert changed(GALERA, lambda edit, part: edit.shift(part("lan.node.0"), up=True)) == GALERA


def test_a_second_lan_makes_a_wan_and_every_comment_stays():
    made = changed(GALERA, lambda edit, part: edit.add(part("lan"), "lan"))
    assert comments(made) == comments(GALERA)
    values = tomllib.loads(made)
    old = tomllib.loads(GALERA)
    assert values["wan"]["lan"][0] == {**old["lan"], "name": "lan1"} and values["options"] == old["options"]
    assert [lan["name"] for lan in values["wan"]["lan"]] == ["lan1", "lan2"]


def comments(text):
    return sorted(line.partition("#")[2] for line in text.split("\n") if "#" in line)


TWO = NEW.replace("[lan]", "[wan]\n\n[[wan.lan]] # one\nname = 'a'").replace("lan.node", "wan.lan.node").replace(
    "[wan]\n", "[wan]\nnetwork = 'wan-metro'\n") + (
    '\n# the second\n[[wan.lan]]\nname = "b"\nnetwork = "qpi"\n\n[[wan.lan.node]]\nname = "m"\ncpu = "xeon-e5-2670"\n'
    '[wan.lan.node.power] # own\nidle_w = 1\nfull_w = 2\n')  # fmt: skip


def test_nodes_are_connected_with_another_lan():
    made = changed(TWO, lambda edit, part: edit.connect([part("wan.lan.1.node.0")], part("wan.lan.0")))
    first, second = tomllib.loads(made)["wan"]["lan"]
    assert [node["name"] for node in first["node"]] == ["node", "m"] and "node" not in second
    assert first["node"][1]["power"] == {"idle_w": 1, "full_w": 2}
    assert comments(made) == comments(TWO)


def test_two_levels_of_a_mesh_get_a_link_which_follows_their_names():
    mesh = changed(TWO, lambda edit, part: edit.set_value(part("wan"), "shape", "mesh"))
    joined = changed(mesh, lambda edit, part: edit.connect([part("wan.lan.1")], part("wan.lan.0")))
    assert tomllib.loads(joined)["wan"]["links"] == [{"between": ["b", "a"], "network": "wan-metro"}]
    renamed = changed(joined, lambda edit, part: edit.set_value(part("wan.lan.0"), "name", "c"))
    assert tomllib.loads(renamed)["wan"]["links"][0]["between"] == ["b", "c"]


def test_a_gpu_beside_the_only_cpu_makes_units_and_a_bus():
    made = changed(GALERA, lambda edit, part: edit.add(part("lan.node.0"), "gpu"))
    node = tomllib.loads(made)["lan"]["node"][0]
    moved = {key: tomllib.loads(GALERA)["lan"]["node"][0][key] for key in ("power", "operation_ns")}
    assert node == {
        "name": "galera", "count": 192, "bus": "pcie3-x16",
        "unit": [{"cpu": "xeon-l5640", "sockets": 2, **moved}, {"gpu": "tesla-k40"}],
    }  # fmt: skip


def test_further_units_of_a_kind_have_names_of_their_own():
    made = changed(NEW, lambda edit, part: edit.add(part("lan.node.0"), "cpu"))
    made = changed(made, lambda edit, part: edit.add(part("lan.node.0"), "cpu"))
    node = tomllib.loads(made)["lan"]["node"][0]
    assert [unit.get("name", "cpu") for unit in node["unit"]] == ["cpu", "cpu2", "cpu3"] and "bus" in node


def test_a_table_with_a_header_becomes_a_value_when_it_is_changed():
    made = changed(TWO, lambda edit, part: edit.set_value(part("wan.lan.1.node.0"), "power.idle_w", 0))
    assert tomllib.loads(made)["wan"]["lan"][1]["node"][0]["power"] == {"idle_w": 0, "full_w": 2}


def test_disks_are_added_changed_and_removed():
    made = changed(NEW, lambda edit, part: edit.add(part("lan.node.0"), "disk"))
    made = changed(made, lambda edit, part: edit.set_value(part("lan.node.0.disks.0"), "disk", "hdd-7200"))
    assert tomllib.loads(made)["lan"]["node"][0]["disks"] == ["hdd-7200"]
    assert changed(made, lambda edit, part: edit.remove([part("lan.node.0.disks.0")])) == NEW


@pytest.mark.parametrize("inline", ["lan = { network = 'qpi', node = [{ name = 'n', cpu = 'x' }] }\n",
                                    "[lan]\nnode = [{ name = 'n', cpu = 'x' }]\n",
                                    "[lan.node]\ncpu = 'x'\n"])  # fmt: skip
def test_parts_that_are_written_within_a_value_are_left_to_the_text(inline):
    for change in (lambda e, p: e.copy([p("lan.node.0")])[0], lambda e, p: e.add(p("lan"), "node")):
        with pytest.raises(UserError, match=r"Change the text|no such part"):
            changed(inline, change)


def test_a_change_that_the_text_would_not_show_is_refused():
    edit = TomlEdit("[a]\nb.c = 1\n")
    edit.values["a"]["b"]["c"] = 2
    with pytest.raises(UserError, match="Change the text"):
        edit.result()


STEPS = """\
[labels.a]
count = 2
program = [
    # first
    { compute = 1 },   # one
    { repeat = 2, do = [
        { compute = 2 },
        { compute = 3 }   # no comma
    ] }
]
[labels.b]
count = 1
program = [{ compute = 4 }, { if = "index == 0", then = [], else = [{ compute = 5 }] }]
"""


def step_changed(text, change):
    edit = ApplicationEdit(text)
    change(edit)
    return edit.result()


@pytest.mark.parametrize("path", ["labels.a.program.0", "labels.a.program.1.do.1", "labels.b.program.0",
                                  "labels.b.program.1.else.0"])  # fmt: skip
def test_steps_that_are_copied_and_removed_leave_the_steps_as_they_were(path):
    copied = step_changed(STEPS, lambda edit: edit.copy(path_of(path)))
    *above, number = path_of(path)
    removed = step_changed(copied, lambda edit: edit.remove((*above, number + 1)))
    assert tomllib.loads(removed) == tomllib.loads(STEPS)
    assert set(comments(STEPS)) <= set(comments(copied))


@pytest.mark.parametrize("path", ["labels.a.program.0", "labels.a.program.1.do.0", "labels.b.program.0"])
def test_two_shifts_of_a_step_leave_the_steps_as_they_were(path):
    *above, number = path_of(path)
    shifted = step_changed(STEPS, lambda edit: edit.shift((*above, number), up=False))
    before, after = (value_at(tomllib.loads(text), above) for text in (STEPS, shifted))
    assert after[number : number + 2] == before[number : number + 2][::-1]
    back = step_changed(shifted, lambda edit: edit.shift((*above, number + 1), up=True))
    assert tomllib.loads(back) == tomllib.loads(STEPS) and comments(back) == comments(STEPS)


def test_steps_are_added_to_lists_of_any_form():
    for path, count in (("labels.b.program.1.then", 1), ("labels.a.program.1.do", 3), ("labels.b.program.0", 3)):
        made = tomllib.loads(step_changed(STEPS, lambda edit, path=path: edit.add(path_of(path), "send")))
        steps = value_at(made, path_of(path.removesuffix(".0")))
        assert len(steps) == count and {"send_to": "a", "bytes": 1024} in steps


def test_another_step_is_written_at_the_place_of_one():
    made = step_changed(STEPS, lambda edit: edit.replace(path_of("labels.a.program.0"), "{ barrier = true }"))
    assert made == STEPS.replace("{ compute = 1 }", "{ barrier = true }")


@pytest.mark.parametrize("text", ["", "{ a = 1 }, { b = 2 }", "{ a = ", "1]\nx = [2", "{ a = 1 } ]#"])
def test_what_is_not_one_step_is_refused(text):
    with pytest.raises(UserError):
        step_of(text)


def test_the_examples_to_start_from_are_those_of_the_project():
    for name in EXAMPLE_FILES:
        assert example(name) == (ROOT / "examples" / "blocks" / f"{name}.toml").read_text("utf-8")
