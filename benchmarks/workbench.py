"""Speed and memory of the workbench's server, which runs as a process of its own on a project with many results.

The project has a queue of 10,000 runs with 20,000 results and a SimGrid platform of 1,500 hosts.  Shown are wall
seconds of requests to the server as a browser would send them, the smallest and largest of several, and in brackets
processor seconds of the server and its workers, which other work on the machine disturbs less; then many requests while
event streams are open, and the largest memory of the server's process, without the workers.
"""

import argparse
import http.client
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from validation.workbench.project.folder import open_project
from validation.workbench.queue.states import Queue
from validation.workbench.queue.suites import DONE, QueuedCase
from validation.workbench.queue.tables import Tables

RUNS, HOSTS, CLUSTERS = 10_000, 1_500, 5
# 5 classes on 5 networks with 2 mappings on each of 200 numbers of ranks.
LARGE = {
    "platforms": ["two-hundred.toml"], "apps": ["ep"], "classes": ["S", "W", "A", "B", "C"], "predictors": ["hcf"],
    "mappings": ["block", "cyclic"], "ranks": "1-200",
    "networks": ["gigabit", "metro", "continental", "infiniband", "fast-ethernet"],
}  # fmt: skip
# 100 numbers of slaves with 100 numbers of operations each.
LARGE_OF_AN_APPLICATION = {
    "applications": "master-slave.toml", "systems": "merpsys.toml", "n:slave1": "1-100",
    "v:operations": ", ".join(f"{number}e9" for number in range(1, 101)),
}  # fmt: skip
# The same number on a SimGrid file, with 1,000 numbers of ranks.
LARGE_XML = {
    "platforms": ["large.xml"], "apps": ["ep"], "classes": ["S", "W", "A", "B", "C"], "predictors": ["hcf"],
    "mappings": ["block", "cyclic"], "ranks": "1-1000",
}  # fmt: skip
# SimGrid needs minutes to load it.
HUGE = """<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd"><platform version="4.1">
<cluster id="c" prefix="n" suffix="" radical="0-599999" speed="1Gf" bw="1GBps" lat="1us"/></platform>"""
SUITE = 'scenarios = ["grid3x9"]\n'


def platform_xml() -> str:
    """Return a platform of HOSTS hosts in CLUSTERS clusters, each joined to each."""
    names = [f"c{number}" for number in range(CLUSTERS)]
    parts = [
        '<?xml version="1.0"?>',
        '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">',
        '<platform version="4.1">',
        '<zone id="all" routing="Full">',
    ]
    parts += [
        f'<cluster id="{name}" prefix="{name}-" suffix="" radical="0-{HOSTS // CLUSTERS - 1}" speed="40Gf" '
        'bw="125MBps" lat="50us"/>'
        for name in names
    ]
    parts.append('<link id="wan" bandwidth="1.25GBps" latency="5ms"/>')
    for place, one in enumerate(names):
        for other in names[place + 1 :]:
            ends = f'src="{one}" dst="{other}" gw_src="{one}-{one}_router" gw_dst="{other}-{other}_router"'
            parts.append(f'<zoneRoute {ends}><link_ctn id="wan"/></zoneRoute>')
    return "\n".join([*parts, "</zone>", "</platform>", ""])


def fill(folder: Path, store: Path) -> None:
    """Write a project with RUNS runs that are done and two results for each."""
    project = open_project(folder, str(store))
    queue = Queue(Tables(project.private / "queue.sqlite"))
    cases = [
        QueuedCase(number, f"grid{number % 40}", "gigabit", ("cg", "lu", "mg")[number % 3], "SWAB"[number % 4],
             2 ** (number % 9), "block", "reference", "hash")
        for number in range(RUNS)
    ]  # fmt: skip
    (project.private / "queued" / "1.toml").write_text(SUITE)
    suite = queue.add("many", "Ann", cases)
    fields = {f"field_{number}": 0.123456789 * number for number in range(35)}  # as many as real results have
    while job := queue.take(500):
        for case, run in job.runs.items():
            time_s = 1 + case / 100
            queue.finish(run, [
                {"efficiency": 0.04, "predictor": name, "predicted_s": time_s * share, "simulated_s": time_s,
                 "error_pct": 100 * (share - 1), "abs_error_pct": 100 * abs(share - 1), "evidence_share": 0.2,
                 "flags": "", "truth": "simulation", "energy_simulated_j": 50 * time_s, "energy_predicted_j": 55.0,
                 "scenario": f"grid{case % 40}", "app": "cg", "class": "S", "ranks": 8,
                 **fields}
                for name, share in (("hcf", 1.1), ("structural", 1.01))
            ])  # fmt: skip
    assert queue.suite(suite).counts[DONE] == RUNS
    queue.tables.close()
    (project.platforms / "large.xml").write_text(platform_xml())
    clusters = "[[clusters]]\nnodes = 50\nspeed_gflops = 40\n" * 4
    root = Path(__file__).parents[1]
    shutil.copy(root / "examples" / "blocks" / "master-slave.toml", project.applications)
    shutil.copy(root / "examples" / "systems" / "merpsys.toml", project.platforms)
    (project.platforms / "two-hundred.toml").write_text(f'network = "gigabit"\n{clusters}')


class Browser:
    """Sends requests over one connection."""

    def __init__(self, link: str):
        self._host, self._cookies = urlsplit(link).netloc, {}
        self._connection = http.client.HTTPConnection(self._host, timeout=120)
        self.ask(link.removeprefix(f"http://{self._host}"))

    def ask(
        self, path: str, fields: dict | None = None, *, body: str | None = None,
        kind: str = "application/x-www-form-urlencoded",
    ) -> str:  # fmt: skip
        """Send a request and return the answer's text, or the place that it leads to."""
        headers = {"cookie": "; ".join(f"{name}={value}" for name, value in self._cookies.items())}
        if fields is not None:
            body = urlencode(fields, doseq=True)
        if body is not None:
            headers |= {"origin": f"http://{self._host}", "content-type": kind}
        self._connection.request("GET" if body is None else "POST", path, body, headers)
        answer = self._connection.getresponse()
        text = answer.read().decode("utf-8", "replace")
        if answer.status >= 400:
            raise SystemExit(f"{path}: {answer.status} {text[:300]}")
        for name, value in answer.getheaders():
            if name == "set-cookie":
                key, _, rest = value.partition("=")
                self._cookies[key] = rest.partition(";")[0]
        return answer.getheader("location") or text

    def reconnect(self) -> None:
        """Begin another connection at the next request: the server closes one that is idle for 5 s."""
        self._connection.close()

    def upload(self, token: str, text: str) -> None:
        """Send a platform file."""
        line = "--bound\r\nContent-Disposition: form-data; name="
        body = f'{line}"form_token"\r\n\r\n{token}\r\n{line}"file"; filename="huge.xml"\r\n\r\n{text}\r\n--bound--\r\n'
        self.ask("/platforms/upload", body=body, kind="multipart/form-data; boundary=bound")

    def stream(self, end: threading.Event) -> None:
        """Read an event stream until it ends."""
        cookies = "; ".join(f"{name}={value}" for name, value in self._cookies.items())
        self._connection.request("GET", "/queue/events", headers={"cookie": cookies})
        answer = self._connection.getresponse()
        with suppress(OSError):  # the server has ended
            while not end.is_set() and answer.readline():
                pass


def show(pid: int, title: str, asked: str, action, times: int = 1) -> None:
    """Print a line with the smallest and largest times of an action: of the wall, and of the server's processors."""
    took_s, used_s = [], []
    for _ in range(times):
        started, before_s = time.perf_counter(), processor_s(pid)
        action()
        took_s.append(time.perf_counter() - started)
        used_s.append(processor_s(pid) - before_s)
    print(f"| {title} | {asked} | {ends(took_s)} ({ends(used_s)}) |", flush=True)


def ends(values: list[float]) -> str:
    """Return the smallest and the largest of several times."""
    low, high = f"{min(values):.2f}", f"{max(values):.2f}"
    return low if low == high else f"{low} to {high}"


def of_process(pid: int, key: str) -> str:
    """Return a value of the process's state."""
    return re.search(rf"{key}:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1]


def processor_s(pid: int) -> float:
    """Return the processor time of a process and its children so far, s."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    children = [one for path in Path(f"/proc/{pid}/task").glob("*/children") for one in path.read_text().split()]
    return sum(map(int, words[11:15])) / 100 + sum(map(processor_s, map(int, children)))


def measure(pid: int, link: str, requests: int, streams: int) -> None:
    """Print all lines of the table."""
    browser = Browser(link)
    show(pid, "first page", "0.5 s", lambda: browser.ask("/platforms"))
    show(pid, "the same again", "0.5 s", lambda: browser.ask("/platforms"), 5)
    show(pid, "platform of 1,500 hosts: its page, for the first time", "", lambda: browser.ask("/platforms/large.xml"))
    show(pid, "its picture, for the first time", "2 s", lambda: browser.ask("/platforms/large.xml/picture.svg"))
    show(pid, "20,000 results, first page", "no pause", lambda: browser.ask("/results"), 5)
    show(pid, "filtered by kernel and predictor", "no pause", lambda: browser.ask("/results?app=lu&predictor=hcf"), 5)
    show(pid, "sorted by error, last page", "no pause", lambda: browser.ask("/results?sort=-error_pct&page=200"), 5)
    show(pid, "searched for three words", "no pause", lambda: browser.ask("/results?q=cg+W+hcf"), 5)
    field = "/results?column=app&column=energy_simulated_j&sort=-energy_simulated_j"
    show(pid, "sorted by a field of the details", "no pause", lambda: browser.ask(field), 5)
    show(pid, "figure of 5,000 results", "", lambda: browser.ask("/results/figure?show=time&over=ranks"), 3)
    show(pid, "the same as PNG", "", lambda: browser.ask("/results/figure.png?show=time&over=ranks"), 3)
    show(pid, "front of time and energy", "", lambda: browser.ask("/results/front"), 3)
    show(
        pid,
        "comparison of 20,000 results with themselves",
        "",
        lambda: browser.ask("/results/compare?first=1&second=1"),
        3,
    )
    show(pid, "20,000 results as CSV", "", lambda: browser.ask("/results.csv"))
    token = re.search(r'name="form_token" value="(\w+)"', browser.ask("/platforms"))[1]
    sent = {"form_token": token, "suite_name": "large", "user": "Ann"}
    suite = {**sent, **LARGE}
    show(pid, "suite of 10,000 runs queued, counted once more before", "2 s", lambda: browser.ask("/panel", suite))
    browser.ask("/queue/2/cancel", sent)
    suite = {**sent, **LARGE_XML, "suite_name": "xml"}
    show(pid, "the same on a SimGrid file, for the first time", "2 s", lambda: browser.ask("/panel", suite))
    browser.ask("/queue/3/cancel", sent)
    suite = {**sent, **LARGE_OF_AN_APPLICATION, "suite_name": "points"}
    title = "suite of 10,000 runs of an application queued, checked once more before"
    show(pid, title, "2 s", lambda: browser.ask("/panel/applications", suite))
    browser.ask("/queue/4/cancel", sent)
    many_users(pid, link, 50, 6)
    many_requests(pid, link, requests, streams)
    print(f"| largest memory of the server | 200 MB | {int(of_process(pid, 'VmHWM')) / 1000:.0f} MB |")


def many_users(pid: int, link: str, users: int, pages: int) -> None:
    """Print how long pages take that many users ask for, each with an event stream and about a page in 5 s.

    Meanwhile one more sends 45 platforms of 600,000 hosts at a time; then the same without.
    """
    end = threading.Event()
    readers = [threading.Thread(target=Browser(link).stream, args=(end,), daemon=True) for _ in range(users)]
    for reader in readers:
        reader.start()
    browsers = [Browser(link) for _ in range(users)]
    for attacked in (False, True):
        over = threading.Event()
        attackers = [threading.Thread(target=attack, args=(link, over), daemon=True) for _ in range(45 * attacked)]
        for attacker in attackers:
            attacker.start()
        time.sleep(2.0 * attacked)
        with ThreadPoolExecutor(users) as pool:
            took_s = sorted(one for each in pool.map(partial(asked_pages, pages=pages), browsers) for one in each)
        over.set()
        for attacker in attackers:
            attacker.join()
        median, most, last = (took_s[int(share * (len(took_s) - 1))] for share in (0.5, 0.95, 1.0))
        what = f"pages of {users} users{', while 45 uploads are sent at a time' if attacked else ''}"
        print(
            f"| {what}: median, 95th percentile, largest | 0.5 s | {median:.3f}, {most:.2f}, {last:.2f} |", flush=True
        )
    end.set()


def asked_pages(browser: Browser, pages: int) -> list[float]:
    """Return the times of pages that a user asks for, about one in 5 s."""
    took_s = []
    for _ in range(pages):
        time.sleep(random.uniform(2.5, 7.5))
        path = random.choice(("/platforms", "/queue", "/results/1", "/results", "/static/style.css", "/queue/1"))
        browser.reconnect()
        started = time.perf_counter()
        browser.ask(path)
        took_s.append(time.perf_counter() - started)
    return took_s


def attack(link: str, over: threading.Event) -> None:
    """Send a platform that takes minutes to load, again and again."""
    browser = Browser(link)
    token = re.search(r'name="form_token" value="(\w+)"', browser.ask("/platforms"))[1]
    while not over.is_set():
        browser.reconnect()
        with suppress(SystemExit, OSError):  # it is refused, or waits for the others of its kind
            browser.upload(token, HUGE)
        time.sleep(1.0)


def many_requests(pid: int, link: str, requests: int, streams: int) -> None:
    """Print the time of many requests while event streams are open."""
    end = threading.Event()
    readers = [threading.Thread(target=Browser(link).stream, args=(end,), daemon=True) for _ in range(streams)]
    for reader in readers:
        reader.start()
    paths = ("/platforms", "/queue", "/results/1", "/panel")
    before_s, started = processor_s(pid), time.perf_counter()

    def some(worker: int) -> None:
        browser = Browser(link)
        for number in range(worker, requests, 8):
            browser.ask(paths[number % len(paths)])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(some, range(8)))
    took_s, used_s = time.perf_counter() - started, processor_s(pid) - before_s
    said = f"{took_s:.0f} ({used_s:.0f})"
    print(f"| {requests:,} requests while {streams} event streams are open | all answered | {said} |", flush=True)
    end.set()


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=10_000, help="requests in a row (default: 10000)")
    parser.add_argument("--streams", type=int, default=50, help="open event streams (default: 50)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryFile("w+") as said:
        folder, store = Path(name) / "project", Path(name) / "store"
        fill(folder, store)
        words = [sys.executable, "-m", "gridval", "workbench", "--port", "0", "--jobs", "1", "--store", str(store)]
        server = subprocess.Popen([*words, str(folder)], stdout=subprocess.PIPE, stderr=said, text=True)
        try:
            link = re.search(r"http://\S+", server.stdout.readline())[0]
            time.sleep(2)  # its reader starts beside it
            print("| what | asked for | measured, s |")
            print("| --- | --- | ---: |")
            measure(server.pid, link, args.requests, args.streams)
        finally:
            server.terminate()
            server.wait()
            said.seek(0)
            text = said.read()
            if not text.startswith("interrupted"):  # which it says at its end
                print(text, file=sys.stderr, end="")


if __name__ == "__main__":
    main()
