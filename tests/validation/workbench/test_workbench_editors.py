"""The editors of systems and applications: drafts are never lost, errors are at their part, attacks get nothing."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from platforms.errors import UserError
from platforms.files.toml_places import places_of
from validation.workbench.editing.drafts import Draft, Version, begin, unsaved
from validation.workbench.editing.fields import Field, slots_text, typed
from validation.workbench.editing.layout import elements_of
from validation.workbench.editing.parts import mark_error, tree_of
from validation.workbench.editing.steps import mark_error as mark_step
from validation.workbench.editing.steps import programs_of
from validation.workbench.editing.systems import NEW
from validation.workbench.work import checking

ROOT = Path(__file__).parents[3]
FIGURE_1 = (ROOT / "examples" / "systems" / "merpsys.toml").read_text("utf-8")
MASTER_SLAVE = (ROOT / "examples" / "blocks" / "master-slave.toml").read_text("utf-8")


@pytest.fixture
def figure_1(project):
    (project.platforms / "one.toml").write_text(FIGURE_1)
    return "one.toml"


def test_undo_and_redo_lead_through_the_versions_of_a_draft(project, figure_1):
    draft = Draft(project, "platforms", figure_1)
    for text in ("a", "b", "c"):
        draft.change(Version(text), draft.stamp)
    draft.undo(draft.stamp)
    draft.undo(draft.stamp)
    again = Draft(project, "platforms", figure_1)  # as after a crash of the server
    assert again.version.text == "a" and again.can_undo and again.can_redo
    again.undo(again.stamp)
    assert again.version.text == FIGURE_1 and not again.can_undo
    again.redo(again.stamp)
    again.change(Version("d"), again.stamp)
    assert not again.can_redo and unsaved(project, "platforms") == [figure_1]


def test_old_versions_are_forgotten_and_nothing_else(project, figure_1, monkeypatch):
    monkeypatch.setattr("validation.workbench.editing.drafts.MOST_VERSIONS", 7)
    draft = Draft(project, "platforms", figure_1)
    for number in range(20):
        draft.change(Version(f"# {number}"), draft.stamp)
    kept = list((project.private / "drafts" / "platforms" / figure_1).glob("[0-9]*.json"))
    assert len(kept) == 7 + 1
    for _ in range(9):
        draft.undo(draft.stamp)
    assert draft.version.text == "# 12"


def test_a_draft_that_another_window_has_changed_is_not_overwritten(project, figure_1):
    one, other = (Draft(project, "platforms", figure_1) for _ in range(2))
    one.change(Version("one"), one.stamp)
    with pytest.raises(UserError, match="another window"):
        Draft(project, "platforms", figure_1).change(Version("other"), other.stamp)


def test_a_file_that_was_changed_in_the_folder_is_written_over_only_when_told(project, figure_1):
    draft = Draft(project, "platforms", figure_1)
    draft.change(Version(NEW), draft.stamp)
    (project.platforms / figure_1).write_text("# theirs\n")
    draft = Draft(project, "platforms", figure_1)
    assert draft.is_stale and draft.version.text == NEW
    with pytest.raises(UserError, match="changed in the folder"):
        draft.save(draft.stamp)
    draft.save(draft.stamp, over=True)
    assert (project.platforms / figure_1).read_text() == NEW and unsaved(project, "platforms") == []


def test_a_newer_file_replaces_a_draft_without_changes_of_its_own(project, figure_1):
    draft = Draft(project, "platforms", figure_1)
    draft.change(Version(NEW), draft.stamp)
    draft.save(draft.stamp)
    (project.platforms / figure_1).write_text(FIGURE_1)
    assert Draft(project, "platforms", figure_1).version.text == FIGURE_1


def test_the_name_of_a_draft_is_taken(project, figure_1):
    begin(project, "platforms", "new", NEW)
    for name in ("new", "one", "../x", "", "a/b"):
        with pytest.raises(UserError):
            begin(project, "platforms", name, NEW)


def test_a_damaged_draft_says_where_it_is(project, figure_1):
    draft = Draft(project, "platforms", figure_1)
    draft.change(Version(NEW), draft.stamp)
    (project.private / "drafts" / "platforms" / figure_1 / "1.json").write_text("{")
    with pytest.raises(UserError, match="damaged"):
        Draft(project, "platforms", figure_1)


@pytest.mark.parametrize(
    ("broken", "part"),
    [(("core-i7-2600k", "core-i8"), "lan.node.1"), (("count = 3200", "count = 'many'"), "lan.node.1"),
     (('name = "slave"', 'name = "a b"'), "lan.node.1"), (("gigabit-ethernet", "gigabit"), "lan"),
     (("slave1 = 4", "slave1 = -4"), "lan.node.1"), (("ssd-sata", "ssd"), "lan.node.0"),
     (("[lan]\n", "nmae = 'x'\n[lan]\n"), "system")],
)  # fmt: skip
def test_an_error_of_a_system_is_at_its_part(project, broken, part):
    text = FIGURE_1.replace(*broken)
    (found,) = checking.check_system(project.folder, "one.toml", text, {}, "fastest")
    tree = tree_of(tomllib.loads(text))
    assert mark_error(tree, tuple(found["wrong"][0][3]), "wrong").id == part
    assert found["wrong"][0][0].startswith("one.toml") and str(project.folder) not in str(found)
    drawn = elements_of(tree, {})
    assert any("wrong" in one["classes"] for one in drawn) or part == "system"


@pytest.mark.parametrize(
    ("broken", "line", "place"),
    [(('receive_from = "master"', 'receive_from = "mastr"'), 26, "1.1"),
     (("operations = 2e10", "operations = 'x'"), None, ""),
     (('compute = "merge * slave1"', 'compute = "merge *"'), 18, "1.3")],
)  # fmt: skip
def test_an_error_of_an_application_is_at_its_line_and_step(project, broken, line, place):
    text = MASTER_SLAVE.replace(*broken)
    (found,) = checking.check_application(project.folder, "app.toml", text)
    programs = programs_of(tomllib.loads(text), places_of(text))
    assert mark_step(programs, tuple(found["wrong"][0][3]), "wrong") == line
    assert [step.place for one in programs for step in one.all_steps() if step.error] == ([place] if place else [])
    if line:
        assert broken[1].partition(" = ")[2] in text.split("\n")[line - 1]


def test_a_list_is_shown_as_a_user_types_it():
    text = "[variables]\ncost = [2e8, 'n // 2', 3]\nn = 4\n[labels.p]\ncount = 'len(cost)'\nprogram = []\n"
    (found,) = checking.check_application(Path(), "app.toml", text)
    assert found["labels"] == {"p": 3}
    assert found["variables"] == {"cost": "[200000000, n // 2, 3]", "n": "4"}


def test_a_wan_whose_last_lan_was_removed_asks_for_one(project):
    (found,) = checking.check_system(project.folder, "one.toml", '[wan]\nnetwork = "wan-metro"\n', {}, "fastest")
    assert found["wrong"] == [["one.toml, wan", "a WAN without levels", "Add a LAN", ["wan"]]]


def test_an_error_in_named_steps_is_at_the_step_that_is_wrong_and_not_at_its_call():
    text = (ROOT / "examples" / "blocks" / "stencil.toml").read_text("utf-8").replace('wait = "edge"', 'wait = "edgy"')
    (found,) = checking.check_application(Path(), "app.toml", text)
    programs = programs_of(tomllib.loads(text), places_of(text))
    line = mark_step(programs, tuple(found["wrong"][0][3]), "wrong")
    assert text.split("\n")[line - 1].strip() == '{ wait = "edgy" },'


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [("number", "12", 12), ("number", "2.5", 2.5), ("number", "many", "many"), ("number", " ", None),
     ("slots", "master 1, slave: 12; *=2", {"master": 1, "slave": 12, "*": 2}), ("slots", "none", {}),
     ("slots", "master", "master"), ("text", " a ", "a")],
)  # fmt: skip
def test_what_is_typed_into_a_field_is_a_value(kind, text, value):
    assert typed(Field("key", "Key", kind), text) == value
    if kind == "slots" and isinstance(value, dict):
        assert typed(Field("key", "Key", kind), slots_text(value)) == value


def test_all_12800_processes_of_figure_1_have_a_place(client, figure_1):
    text = client.get("/systems/one.toml?n:master=1&n:slave1=12800").text
    assert "12,800 slave1 placed" in text and "3,201 nodes" in text
    assert "12801 processes, but 12800 free slots" in client.get("/systems/one.toml?n:slave1=12801").text


def test_an_edit_without_scripts_is_kept_saved_and_downloaded(client, change, project, figure_1):
    moved = change("/systems/one.toml", "set", part="lan.node.1", **{"set:count": "3201", "set:name": "slave"})
    assert moved.status_code == 303 and moved.headers["location"] == "/systems/one.toml?part=lan.node.1"
    wanted = FIGURE_1.replace("count = 3200", "count = 3201")
    assert (project.platforms / "one.toml").read_text() == FIGURE_1
    assert "one.toml" in client.get("/platforms").text and "Drafts" in client.get("/platforms").text
    assert client.get("/systems/one.toml/draft.toml").text == wanted
    assert 'radical="0-3200"' in client.get("/systems/one.toml/draft.xml").text
    assert change("/systems/one.toml", "save").status_code == 303
    assert (project.platforms / "one.toml").read_text() == wanted
    change("/systems/one.toml", "undo")
    assert client.get("/systems/one.toml/draft.toml").text == FIGURE_1


def test_a_wrong_system_is_kept_as_a_draft_and_not_saved(client, change, project, figure_1):
    change("/systems/one.toml", "set", part="lan.node.1", **{"set:count": "many"})
    answer = change("/systems/one.toml", "save")
    assert answer.status_code == 400 and "is not a whole number" in answer.text
    assert (project.platforms / "one.toml").read_text() == FIGURE_1
    assert 'value="many"' in client.get("/systems/one.toml?part=lan.node.1").text


def test_text_that_a_browser_sends_keeps_the_line_ends_of_the_file(client, change, project):
    (project.platforms / "dos.toml").write_bytes(NEW.replace("\n", "\r\n").encode())
    change("/systems/dos.toml", "text", text=NEW.replace("count = 1", "count = 2"))
    wanted = NEW.replace("count = 1", "count = 2").replace("\n", "\r\n")
    assert client.get("/systems/dos.toml/draft.toml").content == wanted.encode()
    change("/systems/dos.toml", "text", text=wanted)
    assert "/draft" in client.get("/systems/dos.toml").text
    assert client.get("/systems/dos.toml/draft.toml").content == wanted.encode()


def test_positions_are_kept_beside_the_file_and_undone(client, change, project, figure_1):
    change("/systems/one.toml", "positions", positions=json.dumps({"lan": [10, 20]}))
    assert Draft(project, "platforms", "one.toml").version.positions == {"lan": (10.0, 20.0)}
    change("/systems/one.toml", "undo")
    assert Draft(project, "platforms", "one.toml").version.positions == {}
    assert (project.platforms / "one.toml").read_text() == FIGURE_1


def test_the_master_slave_application_of_12800_processes_is_evaluated(client, change, send, project, figure_1):
    assert send("/applications", {"file_name": "ms", "example": "master-slave"}).status_code == 303
    text = client.get("/applications/ms.toml/run?system=one.toml&n:slave1=12800").text
    assert "100.3264 s" in text and "6,817,7" in text  # as docs/blocks/applications.md has it for this system
    assert "gridval blocks run applications/ms.toml --system=platforms/one.toml" in text
    fewer = client.get("/applications/ms.toml/run?system=one.toml&n:slave1=64&v:rounds=1").text
    assert "--count=slave1=64 --set=rounds=1" in fewer
    change("/applications/ms.toml", "delete", part="labels.master.program.0.do.2")
    change("/applications/ms.toml", "save")
    assert (project.applications / "ms.toml").read_text() == MASTER_SLAVE.replace(
        '        { compute = "merge * slave1" },\n', ""
    )


def test_searching_the_hardware_finds_words_of_names_and_titles(client):
    text = client.get("/hardware?kind=gpus&words=tesla k40").text
    assert "tesla-k40" in text and "tesla-p100" not in text
    assert "no entry contains it" in client.get("/hardware?words=abacus").text
    assert client.get("/hardware?kind=disk").status_code == 200


def test_the_editors_have_no_inline_script_or_style_and_name_no_other_host(client, send, figure_1):
    send("/applications", {"file_name": "ms", "example": "master-slave"})
    for path in ("/systems/new", "/systems/one.toml", "/hardware", "/applications", "/applications/ms.toml",
                 "/applications/ms.toml/run"):  # fmt: skip
        text = client.get(path).text
        assert re.search(r"<style|\sstyle=|\son\w+=|<script(?! src=)|https?://", text) is None, path


@pytest.mark.parametrize("name", ["..%2F..%2Fx.toml", "%2Fetc%2Fpasswd", "x.xml", "secret.toml", "a%00.toml", ".toml"])
def test_files_outside_of_the_folders_have_no_editor(client, project, tmp_path, name):
    (tmp_path / "secret.toml").write_text("key = 'not for pages'")
    for folder in (project.platforms, project.applications):
        (folder / "secret.toml").symlink_to(tmp_path / "secret.toml")
    for kind in ("systems", "applications"):
        for end in ("", "/draft.toml", "/run"):
            answer = client.get(f"/{kind}/{name}{end}")
            assert answer.status_code in (400, 404) and "not for pages" not in answer.text


@pytest.mark.parametrize("file", ["/etc/passwd", "../suites/x.toml", "../../secret.toml", "link.toml"])
def test_hardware_files_outside_of_the_folder_of_platforms_are_not_read(
    client, change, project, tmp_path, figure_1, file
):
    (tmp_path / "secret.toml").write_text("[cpus.unseen-by-others]\ncores = 1")
    (project.platforms / "link.toml").symlink_to(tmp_path / "secret.toml")
    change("/systems/one.toml", "text", text=f'hardware = ["{file}"]\n{FIGURE_1}')
    text = client.get("/systems/one.toml").text
    assert "not a file in the folder platforms" in text and "unseen-by-others" not in text
    assert change("/systems/one.toml", "save").status_code == 400


def test_hardware_files_of_the_project_are_read(client, change, project, figure_1):
    (project.platforms / "ours.toml").write_text(
        "[cpus.toy]\ncores = 2\nclock_ghz = 1\ndouble_per_cycle = 2\nsingle_per_cycle = 4\nidle_w = 3\nfull_w = 9\n"
        'source = "made up"\n'
    )
    change("/systems/one.toml", "text", text='hardware = ["ours.toml"]\n' + FIGURE_1.replace("core-i7-2600k", "toy"))
    assert "No errors." in client.get("/systems/one.toml").text


@pytest.mark.parametrize(
    "fields",
    [{"op": "drop"}, {"op": "add-user", "part": "lan"}, {"op": "copy", "part": "../x"}, {"op": "copy", "part": "lan"},
     {"op": "connect", "part": "lan.node.0", "target": "lan.node.1"}, {"op": "positions", "positions": "[1"},
     {"op": "positions", "positions": '{"a": [1e999, 0]}'}, {"op": "positions", "positions": "[" * 9999},
     {"op": "text", "text": "#" * (300 << 10)}],
    ids=lambda fields: f"{fields['op']} {str(fields)[:40]}",
)  # fmt: skip
def test_operations_that_make_no_sense_change_nothing(change, project, figure_1, fields):
    answer = change("/systems/one.toml", **fields)
    assert answer.status_code in (400, 413) and "error" in answer.text
    assert Draft(project, "platforms", figure_1).version.text == FIGURE_1


@pytest.mark.parametrize(
    "text", ["[" * 5000, "a" + ".b" * 5000 + " = 1", "[lan]\n" + "x = " + "{a=" * 500, "\0", "x = 1\n" * 2]
)
def test_hostile_texts_are_drafts_with_an_error_and_no_more(client, change, figure_1, text):
    for address in ("/systems/one.toml",):
        assert change(address, "text", text=text).status_code == 303
        page = client.get(address)
        assert page.status_code == 200 and 'class="error"' in page.text
        assert change(address, "add-node", part="lan").status_code == 400


def test_what_users_type_is_text_on_the_editors(client, change, figure_1):
    change("/systems/one.toml", "text", text='name = "<script>alert(1)</script>"\n</textarea><img src=x>\n')
    change("/systems/one.toml", "text", text=FIGURE_1.replace('"slave"', "'\"><img src=x>'"))
    text = client.get("/systems/one.toml?part=lan.node.1&n:%3Cb%3E=1").text
    assert "<script>alert" not in text and "<img" not in text and "<b>" not in text


@pytest.mark.parametrize("name", ["/etc/passwd", "../x.toml", "nowhere", "calibration.json"])
def test_an_application_runs_on_systems_of_the_list_alone(client, send, name):
    send("/applications", {"file_name": "ms", "example": "master-slave"})
    assert client.get("/applications/ms.toml/run", params={"system": name}).status_code == 400
    answer = client.get("/applications/ms.toml/run", params={"system": "grid4x2", "model": "/etc/passwd"})
    assert answer.status_code == 400 and "is not known" in answer.text


def test_a_part_that_is_written_within_a_value_says_so_at_its_place(client, change, project):
    text = 'name = "x"\n[lan]\nnetwork = "gigabit-ethernet"\nnode = [{ cpu = "xeon-e5-2670" }]\n'
    (project.platforms / "one.toml").write_text(text)
    page = client.get("/systems/one.toml?part=lan.node.0").text
    assert "within a value on line 4" in page and 'value="op-copy"' not in page and 'id="op-delete"' not in page
    assert re.search(r'<input id="set-cpu"[^>]* disabled>', page)
    assert "within a value" not in client.get("/systems/one.toml?part=lan").text
    assert change("/systems/one.toml", "copy", part="lan.node.0").status_code == 400


def test_a_step_that_is_a_table_of_its_own_says_so_at_its_place(client, project):
    (project.applications / "one.toml").write_text("[labels.p]\ncount = 2\n[[labels.p.program]]\ncompute = 1\n")
    page = client.get("/applications/one.toml?part=labels.p.program.0").text
    assert "a table of its own" in page and 'id="step"' not in page and 'id="op-add"' not in page
    assert "a table of its own" not in client.get("/applications/one.toml").text
