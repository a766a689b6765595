"""The feed and the messages when a suite ends: who reads them, and what a hostile receiver can do."""

import json
import re
import threading
import xml.etree.ElementTree as ET
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from platforms.errors import UserError
from tests import waiting
from validation.workbench.dispatch import webhooks as of_webhooks
from validation.workbench.dispatch.webhooks import Webhooks, checked_webhook
from validation.workbench.queue.states import Queue
from validation.workbench.queue.tables import Tables

ATOM = "{http://www.w3.org/2005/Atom}"


@pytest.fixture
def ended(desk, cases, row):
    """A suite whose only run is done."""

    def made(name="one", owner="Ann"):
        number = desk.queue.add(name, owner, cases(1))
        for run in desk.queue.take(1).runs.values():
            desk.queue.finish(run, [row()])
        return number

    return made


def link_of(answer):
    return re.search(r"http://127.0.0.1:8765(/feed/[\w-]+\.atom)", answer.text)[1]


def test_the_feed_is_atom_that_whoever_has_its_link_reads_and_nothing_else(client, send, person, ended):
    ended("żółć", "</name><script>")
    link = link_of(send("/feed"))
    reader, _ = person("viewer", "Vi")
    reader.cookies.clear()
    answer = reader.get(link)
    assert answer.status_code == 200 and answer.headers["content-type"].startswith("application/atom+xml")
    root = ET.fromstring(answer.content)
    (entry,) = root.findall(f"{ATOM}entry")
    assert entry.find(f"{ATOM}title").text == "żółć of </name><script>: done"
    assert entry.find(f"{ATOM}link").get("href") == "http://127.0.0.1:8765/queue/1"
    for element in (root, entry):  # what RFC 4287 asks for
        assert element.find(f"{ATOM}id").text.startswith("urn:uuid:")
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", element.find(f"{ATOM}updated").text)
    assert reader.get("/queue", headers={"accept": "text/html"}).status_code == 303  # no session was begun
    key = link.removeprefix("/feed/").removesuffix(".atom")
    assert reader.get(f"/share/{key}").status_code == 404
    assert reader.get("/feed/guessed.atom").status_code == 404
    send("/access/take-back", {"number": "1"})
    assert reader.get(link).status_code == 404


def test_a_viewer_and_the_reader_of_a_suite_make_no_link_of_the_feed(client, person, ended):
    ended()
    viewer, post = person("viewer", "Vi")
    assert post("/feed").status_code == 403 and 'action="/feed"' not in viewer.get("/queue").text
    key = client.app.state.accounts.make_link("suite", 1, "Ann")
    viewer.cookies.clear()
    viewer.get(f"/share/{key}")
    assert viewer.get(f"/feed/{key}.atom").status_code == 404
    assert viewer.post("/feed", headers={"origin": "http://127.0.0.1:8765"}).status_code == 403


@pytest.mark.parametrize(
    "address",
    ["ftp://example.org/x", "file:///etc/passwd", "example.org", "http://", "http://a:b@example.org/", "http://x/ y",
     "http://example.org:99999/", "http://[::1", "http://example.org/ż", "http://example.org/\r\nHost: x"],
)  # fmt: skip
def test_an_address_for_messages_is_plain_http(address):
    with pytest.raises(UserError) as err:
        checked_webhook(address)
    assert err.value.where == "--webhook"


def test_an_error_about_an_address_does_not_show_its_path_which_may_be_a_secret():
    with pytest.raises(UserError) as err:
        checked_webhook("ftp://example.org/secret")
    assert "secret" not in str(err.value)


@pytest.fixture
def receiver():
    """Return a server that keeps what it gets, and answers with the statuses that it is given."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self.server.got.append((self.path, self.headers, self.rfile.read(int(self.headers["content-length"]))))
            status = self.server.statuses.pop(0) if self.server.statuses else 204
            self.send_response(status)
            if status == 302:
                self.send_header("location", f"http://127.0.0.1:{self.server.server_port}/elsewhere")
            self.end_headers()

        do_GET = do_POST

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    server.got, server.statuses = [], []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def hooked(tmp_path, receiver, monkeypatch):
    """Return a queue whose ends are sent to the receiver, with the webhooks."""
    monkeypatch.setattr(of_webhooks, "_WAITS_S", (0.01, 0.01))
    queue = Queue(Tables(tmp_path / "queue.sqlite"))
    made = Webhooks([f"http://127.0.0.1:{receiver.server_port}/hook?key=secret"], queue)
    made.start()
    yield queue, made
    made.stop()


def end_one(queue, cases):
    queue.cancel(queue.add("one", "Ann", cases(2)))


def test_a_suite_that_ends_is_told_to_the_address_once_and_without_secrets(hooked, receiver, cases):
    queue, made = hooked
    end_one(queue, cases)
    assert waiting.until(lambda: made.latest()[0].at_s is not None, 20)
    ((path, headers, body),) = receiver.got
    message = json.loads(body)
    assert path == "/hook?key=secret" and headers["content-type"] == "application/json"
    assert message["number"] == 1 and message["state"] == "cancelled" and message["counts"] == {"cancelled": 2}
    assert set(message) == {"event", "number", "name", "owner", "state", "counts", "ended", "page"}
    assert not {"cookie", "authorization"} & {name.lower() for name in headers}
    assert made.latest()[0].problem == "" and made.latest()[0].host == "127.0.0.1"


def test_a_redirect_is_not_followed_and_a_failure_is_tried_three_times(hooked, receiver, cases):
    queue, made = hooked
    receiver.statuses += [302, 503, 500, 502]
    end_one(queue, cases)
    assert waiting.until(lambda: "302, which is not followed" in made.latest()[0].problem, 20)
    assert [path for path, _, _ in receiver.got] == ["/hook?key=secret"]
    end_one(queue, cases)
    assert waiting.until(lambda: made.latest()[0].problem == "status 502", 20)
    assert len(receiver.got) == 4
    end_one(queue, cases)
    assert waiting.until(lambda: made.latest()[0].problem == "", 20) and len(receiver.got) == 5


def test_a_receiver_that_never_ends_its_answer_is_left(tmp_path, cases, monkeypatch):
    import socket

    monkeypatch.setattr(of_webhooks, "_TIMEOUT_S", 0.3)
    monkeypatch.setattr(of_webhooks, "_WAITS_S", ())
    listening = socket.create_server(("127.0.0.1", 0))
    over = threading.Event()

    def drip():
        connection, _ = listening.accept()
        with connection:
            while not over.wait(0.05):
                try:
                    connection.send(b"H")
                except OSError:
                    return

    threading.Thread(target=drip, daemon=True).start()
    queue = Queue(Tables(tmp_path / "queue.sqlite"))
    made = Webhooks([f"http://127.0.0.1:{listening.getsockname()[1]}/"], queue)
    made.start()
    end_one(queue, cases)
    assert waiting.until(lambda: made.latest()[0].problem, 20)
    over.set()
    made.stop()
    listening.close()


def test_the_page_of_access_shows_hosts_alone(client, desk):
    desk.webhooks._hooks.append(of_webhooks._Hook(checked_webhook("http://127.0.0.1:9/secret"), threading.Event()))
    text = client.get("/access").text
    assert "127.0.0.1: none yet" in text and "/secret" not in text
