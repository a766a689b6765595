"""The workbench in trouble: a full disk, a project folder that leads out of itself, and browsers that do half of it."""

import errno
import os
import socket
import sqlite3
import threading
import time
from http.client import HTTPConnection

import pytest
import uvicorn

from platforms.errors import UserError
from validation.workbench import server
from validation.workbench.application import application
from validation.workbench.cli import main
from validation.workbench.dispatch import dispatcher
from validation.workbench.editing import drafts
from validation.workbench.guard.tokens import Tokens
from validation.workbench.project.folder import Project, place_within
from validation.workbench.queue.states import Queue
from validation.workbench.queue.tables import Tables

FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
GRID = {
    "grid_name": "mine", "network": "gigabit", "shape": "mesh", "clusters": "1", "nodes_1": "8", "speed_1": "40",
    "cores_1": "1",
}  # fmt: skip
SUITE = {"user": "Ann", "platforms": "grid4x2", "apps": "ep", "classes": "S", "predictors": "hcf"}


def no_room(*_):
    raise FULL


@pytest.mark.parametrize("begin", ["/applications", "/systems/new"])
def test_a_full_disk_is_told_and_the_name_of_a_new_draft_stays_free(send, monkeypatch, begin):
    with monkeypatch.context() as full:
        full.setattr(drafts, "write_whole", no_room)
        answer = send(begin, {"file_name": "one"})
        assert answer.status_code == 507 and "No space left on device" in answer.text
    assert send(begin, {"file_name": "one"}).status_code == 303


def test_a_full_disk_is_told_where_the_queue_cannot_be_written(client, send, desk, cases, monkeypatch):
    desk.queue.add("one", "Ann", cases(1))

    def full(*_):
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(desk.dispatcher, "cancel", full)
    answer = send("/queue/1/cancel")
    assert answer.status_code == 507 and "database or disk is full. Make room" in answer.text
    assert client.get("/queue").status_code == 200


class Worker:
    """A worker that makes any run."""

    def __init__(self, row):
        self._row = row

    pid = None

    def said(self):
        return []

    def value(self, task):
        return {"most": 1}

    def ask(self, task, *, text, cases, hashes):
        for case in cases:
            yield {"case": case, "results": [self._row()], "reason": ""}

    def stop(self):
        pass


def test_runs_go_on_when_a_full_disk_has_room_again(project, tmp_path, cases, row, monkeypatch):
    queue = Queue(Tables(tmp_path / "queue.sqlite"))
    queue.add("one", "Ann", cases(3))
    fails = {"finish": 2, "take": 1, "give_back": 1, "waits": 1}
    lock = threading.Lock()

    def full_at_first(name, change):
        def made(*values):
            with lock:
                fails[name] -= 1
                if fails[name] >= 0:
                    raise sqlite3.OperationalError("database or disk is full")
            return change(*values)

        return made

    for name in fails:
        monkeypatch.setattr(queue, name, full_at_first(name, getattr(queue, name)))
    monkeypatch.setattr(dispatcher, "Worker", lambda project: Worker(row))
    monkeypatch.setattr(dispatcher, "_PAUSE_S", 0.02)
    made = dispatcher.Dispatcher(project, queue, lambda suite: "scenarios = []")
    made.start()
    end_s = time.monotonic() + 30
    while queue.suite(1).counts["done"] < 3:
        assert time.monotonic() < end_s
        time.sleep(0.01)
    made.stop()
    assert max(fails.values()) < 0  # each has failed


def test_a_store_that_cannot_be_written_is_refused_at_the_start(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["--port", "0", "--store", str(tmp_path / "file"), str(tmp_path / "mine")]) == 2
    assert "--store" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["lock", "secret"])
def test_a_private_folder_that_cannot_be_read_is_told_in_one_line(tmp_path, name, capsys):
    (tmp_path / "mine" / ".workbench" / name).mkdir(parents=True)
    assert main(["--port", "0", str(tmp_path / "mine")]) == 2
    line = capsys.readouterr().err
    assert ".workbench: Is a directory. " in line and line.count("\n") == 1


@pytest.fixture(params=["file", "nothing", "itself", "folder"])
def leads_out(request, tmp_path):
    """Return a function that puts a link that leads elsewhere, or no file, at a place."""
    outside = tmp_path / "outside.toml"

    def made(place):
        if request.param == "file":
            outside.write_text("# not of the project")
        if request.param == "folder":
            place.mkdir()
        else:
            place.symlink_to(place if request.param == "itself" else outside)

    yield made
    if request.param == "file":
        assert outside.read_text() == "# not of the project"
    else:
        assert not outside.exists()


def test_nothing_is_written_through_links_out_of_the_folder(send, project: Project, leads_out):
    for folder in (project.platforms, project.applications, project.suites):
        leads_out(folder / "mine.toml")
    leads_out(project.platforms / "mine.xml")
    for path, fields in (
        ("/platforms/new", GRID), ("/systems/new", {"file_name": "mine"}), ("/applications", {"file_name": "mine"}),
        ("/panel", {**SUITE, "suite_name": "mine"}),
    ):  # fmt: skip
        assert send(path, fields).status_code == 400, path
    assert send("/platforms/upload", files={"file": ("mine.xml", b"<platform/>")}).status_code == 400


def test_a_draft_is_not_saved_through_a_link_that_was_made_since(send, project, tmp_path):
    send("/applications", {"file_name": "mine"})
    (project.applications / "mine.toml").symlink_to(tmp_path / "outside.toml")
    assert send("/applications/mine.toml", {"op": "save", "seen": 1}).status_code == 400
    assert not (tmp_path / "outside.toml").exists()


def test_a_link_within_the_folder_is_written_through(project):
    (project.suites / "a.toml").write_text("")
    (project.suites / "b.toml").symlink_to("a.toml")
    assert place_within(project.suites, "b.toml") == project.suites / "b.toml"


@pytest.mark.parametrize("profile", ["../../secret", "/etc/passwd", "sub/x", "link", "none", "&#47;etc/passwd"])
def test_an_uploaded_platform_reads_no_files_but_profiles_beside_it(send, project, tmp_path, profile):
    (tmp_path / "secret").write_text("0 1\n")
    (project.platforms / "sub").mkdir()
    (project.platforms / "sub" / "x").write_text("0 1\n")
    (project.platforms / "link").symlink_to(tmp_path / "secret")
    text = f'<platform version="4.1"><zone id="w"><host id="a" speed="1Gf" speed_file="{profile}"/></zone></platform>'
    answer = send("/platforms/upload", files={"file": ("one.xml", text.encode())})
    assert answer.status_code == 400 and "not a file in the folder platforms" in answer.text


def test_an_upload_finds_its_profiles_and_errors_tell_no_path_of_the_server(send, desk, project, monkeypatch):
    (project.platforms / "busy.profile").write_text("0 1\n")
    text = '<platform version="4.1"><host id="a" speed="1Gf" speed_file="busy.profile"/></platform>'
    assert send("/platforms/upload", files={"file": ("one.xml", text.encode())}).status_code == 303
    assert sorted(path.name for path in project.platforms.iterdir()) == ["busy.profile", "one.xml"]

    def refused(*, name, **_):
        raise UserError(name, f"Parse error at {name}:1 in {project.folder}/platforms", "Correct it")

    monkeypatch.setattr(desk, "show", refused)
    answer = send("/platforms/upload", files={"file": ("two.xml", text.encode())})
    assert "two.xml: Parse error at two.xml:1 in platforms. Correct it." in answer.text
    assert sorted(path.name for path in project.platforms.iterdir()) == ["busy.profile", "one.xml"]


def test_there_are_not_more_drafts_than_lists_can_read(send, project, monkeypatch):
    monkeypatch.setattr(drafts, "MOST_DRAFTS", 2)
    assert [send("/applications", {"file_name": name}).status_code for name in "abc"] == [303, 303, 400]
    assert send("/systems/new", {"file_name": "a"}).status_code == 303  # another kind
    send("/applications/a.toml", {"op": "save", "seen": 1})  # a saved one does not count
    assert send("/applications", {"file_name": "c"}).status_code == 303


def test_the_head_of_an_event_stream_ends(client):
    answer = client.head("/queue/events")
    assert answer.status_code == 200 and answer.content == b""


def test_a_request_whose_headers_never_end_is_closed_and_a_connection_in_use_is_not(desk, project, monkeypatch):
    monkeypatch.setattr(server, "HEADERS_S", 1.0)
    made = application(desk, Tokens(project.secret()))
    cookies = f"workbench_{{}}={made.state.accounts.begin('owner', 'here')}"
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        config = uvicorn.Config(made, log_level="warning", http=server._Protocol)
        one = uvicorn.Server(config)
        thread = threading.Thread(target=one.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            half, silent, whole = (socket.create_connection(listening.getsockname(), timeout=20) for _ in range(3))
            half.sendall(b"GET /queue HTTP/1.1\r\nHost: 127")
            cookie = cookies.format(listening.getsockname()[1])
            whole.sendall(f"GET /queue/events HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {cookie}\r\n\r\n".encode())
            assert half.recv(100) == b"" and silent.recv(100) == b""  # closed
            assert whole.recv(100).startswith(b"HTTP/1.1 200")
            time.sleep(2.0)
            desk.queue.changes.add()
            assert b"data: " in whole.recv(10_000)  # a stream stays open
            busy = HTTPConnection(*listening.getsockname(), timeout=20)
            busy.connect()
            busy.auto_open = 0  # an error if it is closed
            end_s = time.monotonic() + 2.5
            while time.monotonic() < end_s:  # idle at nearly every moment that is looked at
                busy.request("HEAD", "/static/nothing")
                assert busy.getresponse().read() == b""
                time.sleep(0.02)
            busy.close()
        finally:
            desk.closing = one.should_exit = True
            thread.join()
            for each in (half, silent, whole):
                each.close()
