"""Systems with many groups in the editor: what is folded, and answers that have only what changed."""

import json
import re

import pytest

pytest.importorskip("starlette", reason="the extra workbench is not installed")

import tomllib

from tests.validation.workbench.conftest import HERE
from validation.workbench.editing.changes import PageState, PageStates, differences, splice
from validation.workbench.editing.folding import RANGE, Folds, shown
from validation.workbench.editing.parts import tree_of
from validation.workbench.editing.reading import values_after_change
from validation.workbench.editing.systems import SystemEdit


def text_of(lans, each):
    """Return a system of so many LANs with so many groups of four nodes each."""
    lines = ["[wan]", 'network = "wan-metro"']
    for lan in range(lans):
        lines += ["", "[[wan.lan]]", f'name = "lan{lan}"', 'network = "gigabit-ethernet"']
        for node in range(each):
            lines += ["", "[[wan.lan.node]]", f'name = "n{lan}x{node}"', "count = 4", 'cpu = "xeon-e5-2670"']
    return "\n".join([*lines, ""])


LARGE = text_of(30, 50)


def folded(text, **chosen):
    view = shown(tree_of(tomllib.loads(text)), Folds(**chosen))
    return {one.part.id: one.is_folded for one in view.all_shown() if one.part.kind == "lan"}


def test_all_lans_of_a_large_system_are_folded_but_the_one_with_the_chosen_part():
    assert sum(folded(LARGE).values()) == 30
    lans = folded(LARGE, chosen="wan.lan.3.node.4")
    assert [name for name, is_folded in lans.items() if not is_folded] == ["wan.lan.3"]
    lans = folded(LARGE, chosen="wan.lan.3", unfolded=("wan.lan.7",), folded=("wan.lan.3",))
    assert [name for name, is_folded in lans.items() if not is_folded] == ["wan.lan.7"]
    assert not any(folded(text_of(3, 20)).values())
    assert folded(text_of(3, 20), folded=("wan.lan.1",)) == {
        "wan.lan.0": False, "wan.lan.1": True, "wan.lan.2": False,
    }  # fmt: skip


def test_a_lan_of_many_groups_shows_the_range_that_has_the_chosen_one():
    view = shown(tree_of(tomllib.loads(text_of(2, 120))), Folds(chosen="wan.lan.1.node.70"))
    (lan,) = [one for one in view.all_shown() if one.part.id == "wan.lan.1"]
    names = [one.summary if one.range_parts else one.part.name for one in lan.inner]
    assert names[0] == "n1x0 to n1x49: 50 groups, 200 nodes"
    assert names[1 : RANGE + 1] == [f"n1x{number}" for number in range(50, 100)]
    assert names[RANGE + 1 :] == ["n1x100 to n1x119: 20 groups, 80 nodes"]


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [("abcd", "abXcd", (2, 0, "X")), ("abcd", "ad", (1, 2, "")), ("aaa", "aa", (2, 1, "")), ("", "x", (0, 0, "x")),
     ("\U0001f600a", "\U0001f600b", (2, 1, "b"))],
)  # fmt: skip
def test_a_splice_says_what_changed_in_the_units_of_a_browser(old, new, wanted):
    assert splice(old, new) == wanted
    at, gone, came = wanted
    units = old.encode("utf-16-le")
    assert units[: 2 * at] + came.encode("utf-16-le") + units[2 * (at + gone) :] == new.encode("utf-16-le")


def test_a_page_that_missed_an_answer_gets_the_changes_since_the_one_that_it_has():
    states = PageStates()
    texts = [PageState({"bar": word}, {word: {"id": word}}) for word in ("one", "two", "three", "four")]
    first = states.begin(texts[0])
    second, changed = states.step(first, texts[1])
    assert changed == differences(texts[0], texts[1]) and changed["elements"]["gone"] == ["one"]
    third, changed = states.step(first, texts[2])
    assert changed == differences(texts[0], texts[2]) and len({first, second, third}) == 3
    _, whole = states.step("never-0", texts[3])
    assert whole["texts"] == {"bar": (0, None, "four")} and whole["elements"]["all"]


def test_the_values_of_a_changed_text_are_those_that_the_whole_text_has():
    for text in (LARGE, 'a = 1\n[b.c]\nd = 2\n[b]\ne = "x"\n[[f]]\n[f.g]\nh = [1]\n[[f]]\ni.j = 3\n[f.i.k]\nl = 4\n'):
        assert values_after_change(text) == tomllib.loads(text)
    edit = SystemEdit(LARGE)
    edit.copy([edit.part("wan.lan.3"), edit.part("wan.lan.4.node.0")])
    values = tomllib.loads(edit.result())
    names = [node["name"] for lan in values["wan"]["lan"] for node in lan["node"]]
    assert len(values["wan"]["lan"]) == 31 and len(set(names)) == len(names) == 1551


def test_several_parts_are_changed_copied_moved_and_removed_at_once():
    edit = SystemEdit(text_of(3, 3))
    chosen = [edit.part(f"wan.lan.{lan}.node.1") for lan in (0, 2)]
    edit.set_values(chosen, "count", 9)
    nodes = [[node["count"] for node in lan["node"]] for lan in tomllib.loads(edit.result())["wan"]["lan"]]
    assert nodes == [[4, 9, 4], [4, 4, 4], [4, 9, 4]]
    edit = SystemEdit(text_of(3, 3))
    paths = edit.copy([edit.part(f"wan.lan.0.node.{node}") for node in (0, 1)])
    names = [node["name"] for node in tomllib.loads(edit.result())["wan"]["lan"][0]["node"]]
    assert [names[path[-1]] for path in paths] == ["n0x4", "n0x3"]
    assert [names.index("n0x0"), names.index("n0x1"), names.index("n0x2")] == [0, 2, 4]
    edit = SystemEdit(text_of(3, 3))
    edit.connect([edit.part("wan.lan.0.node.0"), edit.part("wan.lan.0.node.2")], edit.part("wan.lan.2"))
    lans = [{node["name"] for node in lan["node"]} for lan in tomllib.loads(edit.result())["wan"]["lan"]]
    assert lans == [{"n0x1"}, {"n1x0", "n1x1", "n1x2"}, {"n2x0", "n2x1", "n2x2", "n0x0", "n0x2"}]
    edit = SystemEdit(text_of(3, 3))
    edit.remove([edit.part(name) for name in ("wan.lan.0", "wan.lan.0.node.1", "wan.lan.2.node.1")])
    lans = [[node["name"] for node in lan["node"]] for lan in tomllib.loads(edit.result())["wan"]["lan"]]
    assert lans == [["n1x0", "n1x1", "n1x2"], ["n2x0", "n2x2"]]


def test_an_edit_of_a_large_system_is_answered_with_its_change_alone(client, project):
    (project.platforms / "large.toml").write_text(LARGE)
    page = client.get("/systems/large.toml?part=wan.lan.3.node.4").text
    token, view = (
        re.search(pattern, page)[1] for pattern in (r'name="form_token" value="(\w+)"', r'data-view="(.+?)"')
    )

    def sent(view, seen, **fields):
        data = {"form_token": token, "seen": seen, "part": "wan.lan.3.node.4", **fields}
        headers = {"origin": HERE, "x-editor": view}
        return client.post("/systems/large.toml", data=data, headers=headers)

    first = sent(view, 0, op="set", **{"set:count": "5"}).json()
    answer = sent(first["view"], first["stamp"], op="set", **{"set:count": "6"})
    changed = answer.json()
    assert len(answer.content) < 2000 and not changed["checked"] and changed["part"] == "wan.lan.3.node.4"
    at, gone, came = changed["texts"]["text"]
    before = LARGE.split('name = "n3x4"\ncount = ')[0] + 'name = "n3x4"\ncount = '
    assert (at, gone, came) == (len(before), 1, "6")
    assert [one["data"]["label"] for one in changed["elements"]["set"]] == ["n3x4 \N{MULTIPLICATION SIGN} 6"]
    checked = client.get("/systems/large.toml?check=1&part=wan.lan.3.node.4", headers={"x-editor": changed["view"]})
    assert checked.json()["checked"] and "No errors" in json.dumps(checked.json()["texts"])
