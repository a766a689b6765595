"""One person keeps nobody else from working: uploads that take long, streams of events, half requests."""

import re
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import httpx
import pytest
import uvicorn

from platforms.errors import UserError
from tests import waiting
from validation.workbench import server
from validation.workbench.application import application
from validation.workbench.dispatch import desk as desk_module
from validation.workbench.dispatch import readers as readers_module
from validation.workbench.dispatch.desk import Desk
from validation.workbench.dispatch.readers import Readers
from validation.workbench.guard.limits import MOST_SENT_BYTES, MOST_STREAMS_EACH, Limits, Refused
from validation.workbench.guard.tokens import Tokens
from validation.workbench.web.lanes import Lanes

# 600,000 hosts in some 240 bytes: SimGrid needs minutes to load them.
LARGE = b"""<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
<cluster id="c" prefix="n" suffix="" radical="0-599999" speed="1Gf" bw="1GBps" lat="1us"/>
</platform>
"""
LIMIT_S = 120


@contextmanager
def served(desk):
    """Serve a desk with the protocol of the command, and yield its application and its address."""
    made = application(desk, Tokens(desk.project.secret()))
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(1000)
        one = uvicorn.Server(uvicorn.Config(made, log_level="error", http=server._Protocol))
        thread = threading.Thread(target=one.run, kwargs={"sockets": [listening]})
        thread.start()
        assert waiting.until(lambda: one.started)
        try:
            yield made, listening.getsockname()
        finally:
            desk.closing = one.should_exit = one.force_exit = True
            thread.join()


def browser_of(made, place):
    """Return a browser of another person."""
    session = made.state.accounts.begin("owner", "here")
    url = f"http://127.0.0.1:{place[1]}"
    return httpx.Client(base_url=url, cookies={f"workbench_{place[1]}": session}, timeout=LIMIT_S)


def upload(browser, token, number):
    origin = {"origin": str(browser.base_url).rstrip("/")}
    files = {"file": (f"large{number}.xml", LARGE)}
    return browser.post("/platforms/upload", data={"form_token": token}, files=files, headers=origin)


def answers_meanwhile(made, place, paths):
    """Send 45 uploads of one person at once, ask for pages of others and of the same, and return all statuses."""
    attacker, other = browser_of(made, place), browser_of(made, place)
    token = re.search(r'name="form_token" value="(\w+)"', attacker.get("/platforms").text)[1]
    with ThreadPoolExecutor(45) as pool:
        sent = [pool.submit(upload, attacker, token, number) for number in range(45)]
        assert waiting.until(
            lambda: sum(one.done() for one in sent) >= 15, LIMIT_S
        )  # those that are too many are refused
        statuses = [other.get(path).status_code for path in paths] + [attacker.get("/queue").status_code]
        left = sum(not one.done() for one in sent)
        yield statuses, left
        answers = [one.result() for one in sent]
    yield answers


def test_uploads_that_are_read_keep_no_page_waiting(desk, monkeypatch):
    reading, at_once, most = threading.Event(), [0], [0]

    def check(path):
        at_once[0] += 1
        most[0] = max(most[0], at_once[0])
        reading.wait(LIMIT_S)
        at_once[0] -= 1

    monkeypatch.setattr(desk, "check_upload", check)
    with served(desk) as (made, place):
        steps = answers_meanwhile(made, place, ["/queue", "/static/style.css", "/platforms", "/platforms/grid4x2"])
        statuses, left = next(steps)
        reading.set()
        answers = next(steps)
    assert statuses == [200] * 5 and left >= 2  # pages were answered while uploads were being read
    assert most[0] == 2  # at a time, of one person
    assert {answer.status_code for answer in answers} == {303, 429}


@pytest.mark.slow
def test_a_platform_of_600000_hosts_is_refused_after_the_limit_and_others_work_meanwhile(project):
    with served(Desk(project)) as (made, place):
        steps = answers_meanwhile(made, place, ["/queue", "/static/style.css", "/platforms/grid4x2"])
        statuses, left = next(steps)
        answers = next(steps)
    assert statuses == [200] * 4 and left >= 2
    refused = [answer for answer in answers if answer.status_code == 400]
    assert refused and all("limit 5 s" in answer.text for answer in refused)
    assert not list(project.platforms.iterdir())


class Still:
    """A worker that answers a slow question only after ``go`` is set."""

    made = 0

    def __init__(self, project):
        type(self).made += 1
        self.name, self.ended = f"worker {type(self).made}", False
        self.begun, self.go = threading.Event(), threading.Event()

    def start(self):
        pass

    def stop(self, patience_s=0.0):
        self.ended = True

    def value(self, task, *, time_limit_s, **values):
        if task == "slow":
            self.begun.set()
            self.go.wait(LIMIT_S)
        return {"worker": self}


def test_each_person_has_a_reader_and_the_one_that_nobody_uses_ends_first(project, monkeypatch):
    monkeypatch.setattr(readers_module, "Worker", Still)
    monkeypatch.setattr(readers_module, "_PROCESSES", 2)
    readers = Readers(project)
    readers.start()
    ann = readers.value("ann", "quick", 1.0)["worker"]
    assert readers.value("ann", "quick", 1.0)["worker"] is ann
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(readers.value, "ann", "slow", 1.0)
        assert ann.begun.wait(LIMIT_S)
        bob = readers.value("bob", "quick", 1.0)["worker"]  # at once, while that of ann works
        assert bob is not ann and not slow.done()
        eve = readers.value("eve", "quick", 1.0)["worker"]  # instead of that of bob
        assert waiting.until(lambda: bob.ended) and not ann.ended and eve is not ann
        ann.go.set()
    readers.stop()
    assert ann.ended and eve.ended


def test_of_one_person_few_things_wait_for_workers_in_threads():
    import anyio

    lanes, working, most, go = Lanes(), [0], [0], threading.Event()

    def work():
        working[0] += 1
        most[0] = max(most[0], working[0])
        go.wait(LIMIT_S)

    async def main():
        async with anyio.create_task_group() as group:
            for _ in range(30):
                group.start_soon(lanes.run, "ann", work)
            assert await lanes.run("bob", lambda: "at once") == "at once"
            assert most[0] <= 2
            go.set()

    anyio.run(main)
    assert working[0] == 30


def test_streams_and_half_requests_leave_pages_to_others(desk, monkeypatch):
    with served(desk) as (made, place), ExitStack() as open_now:

        def connect(text):
            made_now = open_now.enter_context(socket.create_connection(place, timeout=LIMIT_S))
            made_now.sendall(text.encode())
            return made_now

        def stream(session):
            cookie = f"Cookie: workbench_{place[1]}={session}\r\n"
            return connect(f"GET /queue/events HTTP/1.1\r\nHost: 127.0.0.1\r\n{cookie}\r\n")

        sessions = [made.state.accounts.begin("owner", "here") for _ in range(25)]
        streams = [stream(sessions[number % 25]) for number in range(299)]
        assert all(one.recv(15).startswith(b"HTTP/1.1 200") for one in streams)
        last = [stream(sessions[0]) for _ in range(2)]
        assert 299 / 25 <= MOST_STREAMS_EACH < 14 and last[1].recv(15)[9:12] == b"429"
        monkeypatch.setattr(server, "MOST_WAITING", 200)
        for _ in range(320):
            connect("GET /queue HTTP/1.1\r\nHost: 127")
        browser = browser_of(made, place)
        for path in ("/queue", "/static/style.css", "/platforms"):
            assert browser.get(path).status_code == 200
        assert len(server._Protocol._waiting) <= server.MOST_WAITING


def test_half_sent_forms_of_one_person_are_few(desk):
    with served(desk) as (made, place), ExitStack() as open_now:
        session = made.state.accounts.begin("owner", "here")
        head = (
            f"POST /panel HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://127.0.0.1\r\nContent-Length: 100\r\n"
            f"Content-Type: application/x-www-form-urlencoded\r\nCookie: workbench_{place[1]}={session}\r\n\r\nhalf"
        )
        sent = [open_now.enter_context(socket.create_connection(place, timeout=LIMIT_S)) for _ in range(9)]
        for one in sent:
            one.sendall(head.encode())
            time.sleep(0.01)
        refused = [one.recv(15)[9:12] for one in sent[6:]]
        assert refused == [b"429"] * 3
        assert browser_of(made, place).get("/queue").status_code == 200


def test_a_user_queues_so_many_runs_and_no_more(desk, cases, monkeypatch):
    desk.start()
    monkeypatch.setattr(desk_module, "MOST_WAITING", 10)
    desk.queue.add("first", "Ann", cases(8))
    with pytest.raises(UserError, match="8 runs of Ann wait, and 3 more are over 10"):
        desk.add("second", "Ann", 'scenarios = ["grid4x2"]')
    assert desk.add("second", "Bob", 'scenarios = ["grid4x2"]') == 2


def test_a_person_sends_so_many_bytes_within_an_hour_and_no_more():
    limits = Limits()
    limits.send("ann", MOST_SENT_BYTES)
    with pytest.raises(Refused, match="bytes sent"):
        limits.send("ann", 1)
    limits.send("bob", 1)


def test_a_body_in_very_many_pieces_is_counted_and_takes_no_memory():
    limits = Limits()
    for _ in range(10_000):
        limits.send("ann", 1)
    # By hand: within an hour amounts are kept for each minute; the pieces may fall into two of them.
    assert len(limits._sent["bytes sent", "ann"]) <= 2
    limits.send("ann", MOST_SENT_BYTES - 10_000)
    with pytest.raises(Refused):
        limits.send("ann", 1)
