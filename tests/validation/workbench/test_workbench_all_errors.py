"""The editors tell all errors of a draft, each at its line and part, and none that only follows from another one."""

import copy
import random
import tomllib
from pathlib import Path

import pytest
import tomlkit

from platforms.errors import Place, UserError
from validation.workbench.work import checking
from validation.workbench.work.all_errors import MOST_ERRORS, SystemMender, all_errors

ROOT = Path(__file__).resolve().parents[3]
STENCIL = (ROOT / "examples" / "blocks" / "stencil.toml").read_text("utf-8")
FIGURE_1 = (ROOT / "examples" / "systems" / "merpsys.toml").read_text("utf-8")
SYSTEM = """\
nmae = 3
[wan]
network = "wan-metroo"
[[wan.lan]]
network = "gigabit-ethernet"
[[wan.lan.node]]
count = "many"
cpu = "xeon-e5-2670"
[[wan.lan.node]]
cpu = "nono"
slots = { a = -1 }
[[wan.lan.node]]
name = "a b"
cpu = "xeon-e5-2670"
sokets = 2
power = { idle_w = 5 }
[[wan.lan]]
network = "gigabitt"
[[wan.lan.node]]
cpu = "xeon-e5-2670"
disks = ["nodisk", "ssd-sata"]
"""


LIMIT = "validation.workbench.work.all_errors._TIME_S"


@pytest.fixture(autouse=True)
def unhurried(monkeypatch):
    """Let the search take the time that it needs, so that a busy machine finds the same errors."""
    monkeypatch.setattr(LIMIT, float("inf"))


def told_of_application(text):
    return next(checking.check_application(Path(), "a.toml", text))["wrong"]


def lines(answer):
    """Return the lines of the errors of a page."""
    return [int(one) for one in answer.text.partition('data-lines="')[2].partition('"')[0].split()]


def test_all_errors_of_an_application_are_told_at_their_lines(client, project):
    text = STENCIL.replace("{ compute = ", "{ nope = 1, compute = ")
    text = text.replace("bytes = ", "byts = ").replace("n = 8000", "n = true").replace('wait = "edge"', 'wait = "edgy"')
    (project.applications / "one.toml").write_text(text)
    wanted = [
        number for number, line in enumerate(text.split("\n"), 1)
        if any(word in line for word in ("nope", "byts", "edgy", "n = true"))
    ]  # fmt: skip
    assert len(wanted) == 6
    answer = client.get("/applications/one.toml")
    assert lines(answer) == wanted and "6 errors; the others" in answer.text
    assert answer.text.count('<span class="bad">Error:') == 5  # the sixth is a variable, which is no step


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ('{ send_to = "p", byts = 8, request = "r" }, { wait = "r" }', ["has no key 'byts'"]),
        ('{ send_to = "p", bytes = 8, request = "r" }, { wait = "r", x = 1 }', ["has no key 'x'"]),
        ('{ repeat = "oops", as = "k", do = [{ compute = "k + why" }] }', ["no name 'oops'", "no name 'why'"]),
        ('{ if = "oops", then = [{ compute = "why" }] }', ["no name 'oops'", "no name 'why'"]),
        ('{ compute = "cost[1] + f(2)" }', ["no name 'ja'", "no name 'nein'"]),
        ('{ call = "s", a = 1 }, 7', ["7 is not a step", "no name 'where'"]),
        ('{ call = "s" }', ["steps s without 'a'", "no name 'where'"]),
    ],
)
def test_what_follows_from_another_error_is_not_told(program, said):
    text = (
        f'[labels.p]\ncount = 2\nprogram = [{program}]\n[steps.s]\nparameters = ["a"]\ndo = [{{ compute = "where" }}]\n'
    )
    if "where" not in "".join(said):
        text = text.partition("[steps")[0]
    if "cost" in program:
        text += '[variables]\ncost = ["ja", 2]\n[functions]\n"f(n)" = "nein + n"\n'
    found = told_of_application(text)
    assert sorted(problem for _, problem, *_ in found) == sorted(
        problem for want in said for _, problem, *_ in found if want in problem
    )
    assert len(found) == len(said)


def test_all_errors_of_a_system_are_told_at_their_parts(client, project):
    (project.platforms / "one.toml").write_text(SYSTEM)
    answer = client.get("/systems/one.toml")
    said = ("nmae", "wan-metroo", "many", "nono", "-1 slots", "a b", "sokets", "full_w", "gigabitt", "nodisk")
    assert f"{len(said)} errors; the others" in answer.text
    for word in said:
        assert word in answer.text.partition('id="message"')[2].partition("</div>")[0]
    parts = answer.text.partition('id="parts"')[2].partition('id="canvas-data"')[0]
    assert parts.count('class="bad"') == 7  # the system, the WAN, three groups of nodes, a LAN, and a group in it
    heads = [number for number, line in enumerate(SYSTEM.split("\n"), 1) if line.startswith("[")]
    assert lines(answer) == [head for head in heads if head != 4]  # the first LAN alone has none of its own


def test_a_sound_file_has_no_errors_and_saving_a_wrong_one_says_how_many_there_are(client, send, project):
    assert told_of_application(STENCIL) == []
    (project.applications / "one.toml").write_text(STENCIL)
    assert "No errors." in client.get("/applications/one.toml").text
    send(
        "/applications/one.toml",
        {"op": "text", "seen": 0, "text": STENCIL.replace("bytes", "byts").replace("8 *", "/")},
    )
    answer = send("/applications/one.toml", {"op": "save", "seen": 1})
    assert answer.status_code == 400 and "errors in all)" in answer.text
    assert (project.applications / "one.toml").read_text() == STENCIL


def test_the_search_for_errors_is_bounded():
    steps = ",\n".join('{ compute = "nope" }' for _ in range(200))
    assert len(told_of_application(f"[labels.p]\ncount = 1\nprogram = [\n{steps}\n]\n")) == MOST_ERRORS


def test_the_search_for_errors_ends_after_its_time(monkeypatch):
    monkeypatch.setattr(LIMIT, -1.0)
    assert len(told_of_application('[labels.p]\ncount = 1\nprogram = [{ compute = "a" }, { compute = "b" }]\n')) == 1


def test_an_error_that_stays_whatever_is_replaced_ends_the_search():
    lan = Place("a.toml, lan", None, ("lan",))

    def wrong():
        raise UserError(lan, "always wrong", "Nothing helps")

    mender = SystemMender({"lan": {"node": [{"cpu": "x"}]}})
    found = all_errors(UserError(lan, "at first", "Nothing helps"), wrong, mender)
    assert [problem for _, problem, *_ in found] == ["at first", "always wrong"]


ODD = [1, -1, "x", "", True, [], ["a", 2], {}, {"a": 1}, "index +", "a b", [{}], [[1]], {"do": 1}]


def places(value, path=()):
    """Yield the paths of everything in values of a file."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from places(one, (*path, key))


@pytest.mark.parametrize("seed", range(60))
def test_whatever_is_wrong_the_search_ends_with_errors_of_the_file(seed):
    drawn = random.Random(seed)
    is_system = seed % 2 == 1
    values = tomllib.loads(FIGURE_1 if is_system else STENCIL)
    for _ in range(5):
        path = drawn.choice([path for path in places(values) if path])
        above = values
        for key in path[:-1]:
            above = above[key]
        above[path[-1]] = copy.deepcopy(drawn.choice(ODD))
    text = tomlkit.dumps(values)
    check = checking.check_system(ROOT, "a.toml", text, {}, "fastest") if is_system else None
    found = next(check or checking.check_application(ROOT, "a.toml", text))["wrong"]
    assert len(found) <= MOST_ERRORS and all(where.startswith("a.toml") for where, *_ in found)
