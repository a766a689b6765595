"""Platforms, applications and suites as files: copies, names in any script, removal with undo, tags, history."""

import re
import threading
from contextlib import suppress

import pytest

from platforms.errors import UserError
from validation.workbench.editing.drafts import Draft, Version
from validation.workbench.guard.accounts import Accounts
from validation.workbench.project import shelf as of_shelf
from validation.workbench.project.folder import checked_name
from validation.workbench.project.shelf import InUseError
from validation.workbench.project.uses import Use, uses_of

SUITE = (
    '# kept\nscenarios = ["../platforms/mine.toml", "grid4x2"]  # mine\nplatforms = ["../platforms/other.xml"]\n'
    'apps = ["mine.toml"]\n'
)
POINTS = 'applications = ["../applications/a.toml"]\nsystems = ["../platforms/mine.toml"]\n'


@pytest.fixture
def shelf(desk, project):
    """Files that name each other: suites a grid and an application, a system its hardware, and a table of times."""
    (project.platforms / "mine.toml").write_text('hardware = ["cpus.toml"]\n')
    (project.platforms / "cpus.toml").write_text("")
    (project.platforms / "other.xml").write_text("<platform/>")
    (project.applications / "a.toml").write_text("steps = []\n")
    (project.suites / "one.toml").write_text(SUITE)
    (project.suites / "points.toml").write_text(POINTS)
    return desk.shelf


def test_uses_are_found_where_a_file_is_named_and_not_where_its_name_stands_for_another(project, shelf):
    assert uses_of(project, "platforms", "mine.toml") == [Use("suites", "one.toml"), Use("suites", "points.toml")]
    assert uses_of(project, "platforms", "cpus.toml") == [Use("platforms", "mine.toml")]
    assert uses_of(project, "applications", "a.toml") == [Use("suites", "points.toml")]
    assert uses_of(project, "suites", "one.toml") == []
    project.measured.mkdir()
    (project.measured / "times.csv").write_text("app,platform,ranks,time_s\ncg,other,4,1.0\n")
    assert uses_of(project, "platforms", "other.xml") == [Use("suites", "one.toml"), Use("measured", "times.csv")]


def test_what_names_a_file_keeps_it_from_another_name_or_follows(project, shelf):
    with pytest.raises(InUseError, match="suite one, suite points"):
        shelf.rename("platforms", "mine.toml", "żółć")
    assert (project.platforms / "mine.toml").exists()
    name, followed = shelf.rename("platforms", "mine.toml", "żółć", although=True)
    assert name == "żółć.toml" and [use.name for use in followed] == ["one.toml", "points.toml"]
    # All else stays as it was, also the kernel that has the name of the file.
    assert (project.suites / "one.toml").read_text() == SUITE.replace("platforms/mine.toml", "platforms/żółć.toml")
    assert uses_of(project, "platforms", "żółć.toml") == [Use("suites", "one.toml"), Use("suites", "points.toml")]
    project.measured.mkdir()
    (project.measured / "times.csv").write_text("platform\nother\n")
    with pytest.raises(InUseError, match=r"measured/times\.csv"):  # which the workbench does not change
        shelf.rename("platforms", "other.xml", "new", although=True)


def test_a_removed_file_comes_back_with_its_tags_unless_its_name_is_taken(project, shelf):
    shelf.tag("platforms", "cpus.toml", "lab, 2026")
    with pytest.raises(InUseError, match=r"platforms/mine\.toml"):
        shelf.remove("platforms", "cpus.toml", "Ann")
    number = shelf.remove("platforms", "cpus.toml", "Ann", although=True)
    assert not (project.platforms / "cpus.toml").exists() and shelf.labels("platforms") == {}
    assert [(one.kind, one.name, one.who) for one in shelf.removed()] == [("platforms", "cpus.toml", "Ann")]
    (project.platforms / "cpus.toml").write_text("another")
    with pytest.raises(UserError, match="another file has this name now"):
        shelf.put_back(number)
    (project.platforms / "cpus.toml").unlink()
    assert shelf.put_back(number) == ("platforms", "cpus.toml")
    assert shelf.labels("platforms")["cpus.toml"].tags == ("lab", "2026")
    assert (project.platforms / "cpus.toml").read_text() == "" and shelf.removed() == []
    for unknown in (number, 0, 10**30):
        with pytest.raises(UserError, match="none that can be undone"):
            shelf.put_back(unknown)


def test_of_many_removed_files_the_latest_can_be_put_back(project, shelf, monkeypatch):
    monkeypatch.setattr(of_shelf, "MOST_REMOVED", 2)
    for name in ("a1", "a2", "a3"):
        (project.suites / f"{name}.toml").write_text(name)
        shelf.remove("suites", f"{name}.toml", "Ann")
    assert [one.name for one in shelf.removed()] == ["a3.toml", "a2.toml"]
    assert len(list((project.private / "removed").iterdir())) == 2


def test_a_copy_has_the_tags_and_is_not_in_the_archive(project, shelf):
    shelf.tag("suites", "one.toml", " b,a , b,, ")
    shelf.archive("suites", "one.toml", archived=True)
    assert shelf.duplicate("suites", "one.toml", "नमस्ते") == "नमस्ते.toml"
    labels = shelf.labels("suites")
    assert labels["नमस्ते.toml"].tags == ("b", "a") and not labels["नमस्ते.toml"].archived
    assert labels["one.toml"].archived
    assert (project.suites / "नमस्ते.toml").read_text() == SUITE


@pytest.mark.parametrize(
    "name",
    ["../x", "a/b", "a\\b", "..", ".", "", " ", ".hidden", "-x", "a.b", "a\0b", "a\nb", "a\u202eb", "a\u200bb",
     "x" * 61,
     "\ud800", "con:", "a b", "ż" * 60 + "x", "𐍈" * 59],
)  # fmt: skip
def test_no_name_leads_elsewhere_or_hides_what_it_is(project, shelf, name):
    before = sorted(path.name for path in project.folder.rglob("*"))
    for action in (shelf.duplicate, shelf.rename):
        with pytest.raises(UserError):
            action("suites", "one.toml", name)
        with pytest.raises(UserError):
            action("suites", name, "new")
    assert sorted(path.name for path in project.folder.rglob("*")) == before


def test_equal_names_in_any_form_of_unicode_are_one_name():
    assert checked_name("z\u0307o\u0301łc\u0301", "name") == "żółć"


def test_links_that_lead_elsewhere_are_no_files(project, shelf, tmp_path):
    (tmp_path / "secret.toml").write_text("x = 1")
    (project.suites / "link.toml").symlink_to(tmp_path / "secret.toml")
    assert "link.toml" not in [item.name for item in shelf.items("suites")]
    for act in (lambda: shelf.duplicate("suites", "link.toml", "new"), lambda: shelf.remove("suites", "link.toml", "A"),
                lambda: shelf.rename("suites", "one.toml", "link"), lambda: shelf.items("../private")):  # fmt: skip
        with pytest.raises(UserError):
            act()
    assert (tmp_path / "secret.toml").exists() and (project.suites / "one.toml").exists()


def test_a_draft_that_is_not_saved_keeps_its_file_where_it_is_and_a_saved_one_goes_with_it(project, shelf):
    draft = Draft(project, "applications", "a.toml")
    draft.change(Version("steps = [1]\n", {}), draft.stamp)
    for act in (lambda: shelf.remove("applications", "a.toml", "Ann", although=True),
                lambda: shelf.rename("applications", "a.toml", "b", although=True)):  # fmt: skip
        with pytest.raises(UserError, match="its draft has changes that are not saved"):
            act()
    draft.save(draft.stamp)
    assert shelf.rename("applications", "a.toml", "b", although=True)[0] == "b.toml"
    assert Draft(project, "applications", "b.toml").can_undo
    assert not (project.private / "drafts" / "applications" / "a.toml").exists()


def test_of_two_who_take_one_name_at_a_time_one_is_refused(project, shelf):
    made, refused = [], []

    def copy():
        try:
            made.append(shelf.duplicate("suites", "one.toml", "same"))
        except UserError:
            refused.append(1)

    threads = [threading.Thread(target=copy) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(made), len(refused)) == (1, 7)


@pytest.mark.parametrize("tags", [",".join(map(str, range(13))), "x" * 31, "a\u202eb", "a\x07"])
def test_tags_are_few_short_and_shown_as_they_are(shelf, tags):
    with pytest.raises(UserError):
        shelf.tag("suites", "one.toml", tags)


def test_the_page_of_a_file_says_what_uses_it_and_asks_before_that_breaks(client, send, shelf, project, desk, cases):
    page = client.get("/files/platforms/mine.toml").text
    assert "suite one" in page and "suite points" in page
    refused = send("/files/platforms/mine.toml/remove")
    assert refused.status_code == 400 and "it is used by suite one, suite points" in refused.text
    assert 'name="although" value="1" required> Remove it although it is used' in refused.text
    number = desk.queue.add("one", "Ann", cases(2))
    (project.private / "queued" / f"{number}.toml").write_text(SUITE)
    asked = send("/files/platforms/mine.toml/rename", {"to": "new"})
    assert asked.status_code == 400 and "2 runs of one that will fail" in asked.text and 'value="new"' in asked.text
    moved = send("/files/platforms/mine.toml/rename", {"to": "żółć", "although": "1"})
    assert moved.headers["location"].endswith("/files/platforms/%C5%BC%C3%B3%C5%82%C4%87.toml")
    assert "żółć.toml" in client.get(moved.headers["location"]).text
    assert client.get("/platforms/żółć.toml/file.toml").headers["content-disposition"] == (
        "attachment; filename*=UTF-8''%C5%BC%C3%B3%C5%82%C4%87.toml"
    )


def test_lists_leave_out_the_archive_and_choose_by_tag(client, send, shelf):
    send("/files/platforms/cpus.toml/tag", {"tags": "<b>lab</b>"})
    send("/files/platforms/other.xml/archive")
    text = client.get("/platforms").text
    assert "&lt;b&gt;lab&lt;/b&gt;" in text and "/platforms/other.xml" not in text and "archive (1)" in text
    assert "/platforms/other.xml" in client.get("/platforms?archived=1").text
    tagged = client.get("/platforms?tag=%3Cb%3Elab%3C/b%3E").text
    assert "/platforms/cpus.toml" in tagged and "/platforms/mine.toml" not in tagged
    assert "other.xml" not in client.get("/panel").text
    assert "other.xml" in client.get("/panel?platforms=other.xml").text
    for kind, name in (("suites", "one.toml"), ("applications", "a.toml")):
        assert f"/files/{kind}/{name}" in client.get(f"/{kind}").text
        send(f"/files/{kind}/{name}/archive")
        assert f"/files/{kind}/{name}" not in client.get(f"/{kind}").text
    send("/files/suites/one.toml/unarchive")
    assert "/files/suites/one.toml" in client.get("/suites").text


def test_the_history_says_who_did_what_without_addresses_and_puts_back(client, send, shelf, person, project):
    _, post = person("editor", "Ann")
    assert post("/files/suites/one.toml/remove").headers["location"] == "/suites"
    viewer, post_viewer = person("viewer", "Vi")
    text = viewer.get("/history").text
    assert "removed suites/one.toml (removal 1)" in text and '<td data-title="who">Ann</td>' in text
    assert "logged in" not in text and "127.0.0.1" not in text and "/history/1/undo" not in text
    assert post_viewer("/history/1/undo").status_code == 403
    assert post_viewer("/files/suites/points.toml/remove").status_code == 403
    assert "<h2>Change</h2>" not in viewer.get("/files/suites/points.toml").text
    assert post("/history/1/undo").headers["location"] == "/files/suites/one.toml"
    assert (project.suites / "one.toml").read_text() == SUITE
    assert "put back suites/one.toml (removal 1)" in client.get("/history").text
    assert post("/history/1/undo").status_code == 400


@pytest.mark.parametrize(
    "path",
    ["/files/secrets/one.toml", "/files/suites/..%2f..%2fx.toml", "/files/suites/%2e%2e", "/files/.workbench/secret",
     "/files/suites/one.toml%00", "/files/suites/one"],
)  # fmt: skip
def test_pages_of_files_lead_nowhere_else(client, send, shelf, path):
    assert client.get(path).status_code in (400, 404)
    assert send(f"{path}/remove").status_code in (400, 404)
    assert send("/files/suites/one.toml/explode").status_code == 400


def test_the_audit_list_of_an_earlier_version_stays_and_is_no_history(tmp_path):
    import sqlite3

    with sqlite3.connect(tmp_path / "accounts.sqlite") as connection:
        connection.execute("CREATE TABLE audit (id INTEGER PRIMARY KEY, at_s REAL NOT NULL, who TEXT NOT NULL,"
                           " address TEXT NOT NULL, what TEXT NOT NULL)")  # fmt: skip
        connection.execute("INSERT INTO audit VALUES (1, 0, 'Ann', '127.0.0.1', 'logged in')")
    for _ in range(2):
        accounts = Accounts(tmp_path / "accounts.sqlite")
        assert accounts.count_audited() == 1 and accounts.changes() == []
        accounts.close()


def test_names_of_any_script_go_through_panel_queue_and_downloads(client, send, desk, project):
    made = send("/platforms/new", {
        "grid_name": "सर्वर", "network": "gigabit", "shape": "mesh", "clusters": "1", "nodes_1": "2", "speed_1": "40",
        "cores_1": "1",
    })  # fmt: skip
    assert made.status_code == 303 and (project.platforms / "सर्वर.toml").exists()
    sent = send("/panel", {"suite_name": "żółć", "user": "Ann", "platforms": "सर्वर.toml", "apps": "ep", "ranks": "2"})
    number = re.search(r"/queue/(\d+)", sent.headers["location"])[1]
    assert "żółć" in client.get(f"/queue/{number}").text
    named = client.get(f"/queue/{number}/suite.toml").headers["content-disposition"]
    assert named == "attachment; filename*=UTF-8''%C5%BC%C3%B3%C5%82%C4%87.toml"
    assert '"../platforms/सर्वर.toml"' in client.get(f"/queue/{number}/suite.toml").text
    with suppress(UserError):
        desk.remove(int(number))
