"""The predictors' C code: its structures are those of Python, bad arrays are refused, and Ctrl-C ends an evaluation."""

import ctypes
import graphlib
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from platforms.errors import UserError
from platforms.files.caching import cache_folder
from predictor.dpgraph import fluid, instructions
from predictor.dpgraph.instructions import (
    MESSAGE,
    RECV,
    SEND,
    SLEEP,
    WAIT_RECEIVED,
    WAIT_SENT,
    Choices,
    Instructions,
    Loop,
    Messages,
    Paths,
)
from predictor.native import library
from predictor.native.layout import Layout
from predictor.native.library import Library
from predictor.structural import contention as sharing
from predictor.structural import measured, recurrence, schedule

ROOT = Path(__file__).parents[3]
GRAPH_H = ROOT / "predictor" / "dpgraph" / "native" / "graph.h"
STRUCTURAL_H = ROOT / "predictor" / "structural" / "native" / "structural.h"
TYPES = {"double": "f8", "int64_t": "i8", "int32_t": "i4", "uint8_t": "u1", "bool": "?"}


def test_the_c_files_include_each_other_in_no_circle():
    included = {}
    for file in (ROOT / "predictor").glob("**/native/*.[ch]"):
        own = file.with_suffix("").resolve()
        for name in re.findall(r'#include "([^"]+)"', file.read_text()):
            other = (file.parent / name).with_suffix("").resolve()
            included.setdefault(own, set()).update({other} - {own})
    assert len(list(graphlib.TopologicalSorter(included).static_order())) > 20  # it refuses circles


def without_comments(header):
    return re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.DOTALL)


def structure(header, name):
    """The fields of a C structure, in order, as (name, type of its items, whether it is a pointer)."""
    (body,) = re.findall(rf"typedef struct \{{([^}}]*)\}} {name};", without_comments(header))
    found = []
    for declaration in filter(None, map(str.strip, body.split(";"))):
        kind, names = re.fullmatch(r"(?:const )?(\w+) (.*)", declaration, re.DOTALL).groups()
        for one in names.split(","):
            found.append((one.strip(" *\n"), kind, "*" in one))
    return found


def constants(header):
    """The values of the enumerations of a header, and of its #defines that are numbers."""
    text = without_comments(header)
    found = {name: float(value) for name, value in re.findall(r"#define (\w+) \(?(-?[\d.e-]+)\)?\s", text)}
    for body in re.findall(r"enum \{([^}]*)\}", text):
        value = -1
        for one in body.split(","):
            name, _, given = one.partition("=")
            number, _, shift = given.partition("<<")
            value = int(number) << int(shift or 0) if given else value + 1
            found[name.strip()] = value
    return found


@pytest.mark.parametrize(
    ("header", "name", "layout"),
    [
        (GRAPH_H, "Input", fluid.INPUT),
        (STRUCTURAL_H, "Schedule", sharing.SCHEDULE),
        (STRUCTURAL_H, "Paths", sharing.PATHS),
        (STRUCTURAL_H, "Placements", sharing.PLACEMENTS),
        (STRUCTURAL_H, "Shares", sharing.SHARES),
        (STRUCTURAL_H, "Runs", recurrence.RUNS),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_structures_of_c_and_python_are_the_same(header, name, layout):
    wanted = [(one, "int64_t", False) for one in layout.counts]
    for one, (kind, _) in layout.arrays.items():
        c_type = "Message" if kind == MESSAGE else {np.dtype(code): c for c, code in TYPES.items()}[kind]
        wanted.append((one, c_type, True))
    assert structure(header, name) == wanted


def test_the_message_of_c_is_that_of_python():
    fields = [(name, np.dtype(TYPES[kind])) for name, kind, _ in structure(GRAPH_H, "Message")]
    assert fields == [(name, MESSAGE[name]) for name in MESSAGE.names]
    assert MESSAGE.isalignedstruct and MESSAGE.itemsize == 32


def test_the_constants_of_c_are_those_of_python():
    graph, structural = constants(GRAPH_H), constants(STRUCTURAL_H)
    names = "COMPUTE SEND RECV WAIT_SENT WAIT_RECEIVED PROBE MARK SLEEP POLL BACK".split()
    assert [graph[name] for name in names] == [getattr(instructions, name) for name in names]
    styles, sides = "POLL_EACH POLL_ANY POLL_FOR POLL_AGAIN".split(), "SIDE_SENT SIDE_RECEIVED SIDE_FOUND".split()
    names = [name.partition("_")[2] for name in (*styles, *sides)]
    assert [graph[name] for name in (*styles, *sides)] == [getattr(instructions, name) for name in names]
    roles = {"NONE": "CLOSED", "SEND": "SENDS", "REPLY": "REPLIES", "RECEIVE": "RECEIVES", "ANY": "RECEIVES_ANY"}
    assert [graph[f"ROLE_{name}"] for name in roles] == [getattr(instructions, name) for name in roles.values()]
    assert constants(GRAPH_H.with_name("state.h"))["PRECISION_S"] == fluid.PRECISION_S
    assert graph["MORE"] == fluid._MORE
    for found in (graph, structural):
        assert (found["NO_MEMORY"], found["BAD_INPUT"]) == (library.NO_MEMORY, library.BAD_INPUT)
    for module, names in (
        (schedule, "COMPUTE EXCHANGE SWEEP"),
        (measured, "BUFFERED EAGER SYNCHRONOUS"),
        (sharing, "MOST_SHARED"),
    ):
        assert [structural[name] for name in names.split()] == [getattr(module, name) for name in names.split()]


def test_a_number_that_differed_would_be_found(tmp_path):
    changed = tmp_path / "graph.h"
    changed.write_text(GRAPH_H.read_text().replace("enum { COMPUTE, SEND,", "enum { SEND, COMPUTE,"))
    assert constants(changed)["SEND"] != instructions.SEND


# --- arrays ---


LAYOUT = Layout("ranks steps", {"at": ("i8", "ranks+1"), "flops": ("f8", "steps ranks")}, written=frozenset(["flops"]))


def test_the_counts_follow_from_the_arrays():
    made = LAYOUT.filled(at=np.zeros(3, np.int64), flops=np.zeros((5, 2)))
    assert (made.ranks, made.steps) == (2, 5)


def test_arrays_of_another_type_shape_or_order_are_refused():
    at, flops = np.zeros(3, np.int64), np.zeros((5, 2))
    with pytest.raises(TypeError, match="at has items of type int32, not int64"):
        LAYOUT.filled(at=at.astype(np.int32), flops=flops)
    with pytest.raises(ValueError, match=r"flops has the shape \(5, 3\)"):
        LAYOUT.filled(at=at, flops=np.zeros((5, 3)))
    with pytest.raises(ValueError, match=r"at has the shape \(0,\)"):
        LAYOUT.filled(at=at[:0], flops=flops)
    with pytest.raises(ValueError, match="flops is not contiguous"):
        LAYOUT.filled(at=at, flops=np.zeros((2, 5)).T)
    flops.flags.writeable = False
    with pytest.raises(ValueError, match="flops is not contiguous, or not writable"):
        LAYOUT.filled(at=at, flops=flops)
    with pytest.raises(TypeError, match="arrays at, not at, flops"):
        LAYOUT.filled(at=at)


def one_message(**changed):
    """The arrays of rank 0, which sends a message of 300 bytes over a link of 100 bytes/s to rank 1."""
    arrays = {
        "code": np.array([SEND, WAIT_SENT, RECV, WAIT_RECEIVED], np.uint8),
        "argument": np.zeros(4, np.int32),
        "first": np.array([0, 2, 4]),
        "kind": np.zeros(1, np.int32),
        "path": 0,
        "loop": None,
        "link": np.zeros(1, np.int32),
        "bound_Bps": np.full(1, 1e9),
        "marks_s": np.empty((2, 1)),
        **changed,
    }
    messages = np.zeros(1, MESSAGE)
    messages["amount_bytes"], messages["factor"], messages["path"] = 300, 1, arrays["path"]
    code = arrays["code"]
    return fluid.evaluate(
        Instructions(code, arrays["argument"], np.zeros(len(code)), arrays["first"]),
        Messages(messages, arrays["kind"]),
        Paths(arrays["bound_Bps"], np.ones(1), np.array([0, 1]), arrays["link"], np.ones(1), np.full(1, 100.0)),
        np.zeros(2),
        arrays["marks_s"],
        arrays["loop"],
    )


def open_message(**changed):
    """Rank 0 sends message 0 of 300 bytes, which rank 1 receives from any as number 1 and answers with message 2.

    The answer is received by name, as number 3; 4 and 5 are like it, on the two pairs.
    """
    role = [instructions.SENDS, instructions.RECEIVES_ANY, instructions.REPLIES, instructions.RECEIVES, 0, 0]
    choices = Choices(
        role=np.array(role, np.uint8),
        pair_of=np.array([0, -1, -1, 1, -1, -1], np.int32),
        asked=np.array([0, -1, 0, 0, 0, 0], np.int32),
        pair=np.array([1, 2]),  # 0 to 1, and 1 to 0
        reply_first=np.array([4]),
        label=np.zeros(2, np.int32),
        took=np.full(6, -1, np.int32),
    )._replace(**{name: value for name, value in changed.items() if name != "code"})
    messages = np.zeros(2, MESSAGE)
    messages["amount_bytes"], messages["factor"] = [300, 500], 1
    code = changed.get("code", [SEND, WAIT_SENT, RECV, WAIT_RECEIVED, RECV, WAIT_RECEIVED, SEND, WAIT_SENT])
    end_s = fluid.evaluate(
        Instructions(
            np.array(code, np.uint8), np.array([0, 0, 3, 3, 1, 1, 2, 2], np.int32), np.zeros(8), np.array([0, 4, 8])
        ),
        Messages(messages, np.array([0, 0, 0, 0, 0, 1], np.int32)),
        Paths(np.full(1, 1e9), np.ones(1), np.array([0, 1]), np.zeros(1, np.int32), np.ones(1), np.full(1, 100.0)),
        np.zeros(2),
        np.empty((2, 1)),
        choices=choices,
    )
    return end_s.tolist(), choices.took.tolist()


def test_open_messages_meet_their_receives():
    assert open_message() == ([8, 8], [-1, 0, -1, 2, -1, -1])  # 300 bytes there and 500 back, at 100 bytes/s


@pytest.mark.parametrize(
    "changed",
    [
        {"role": np.array([1, 4, 2, 3, 0, 9], np.uint8)},  # no such role
        {"pair_of": np.array([2, -1, -1, 1, -1, -1], np.int32)},  # no such pair
        {"pair_of": np.array([0, -1, -1, -1, -1, -1], np.int32)},
        {"pair": np.array([1, 4])},  # of no rank
        {"pair": np.array([2, 1])},  # not in order
        {"pair": np.array([1, 3])},  # the reply has no receiver
        {"reply_first": np.array([5])},  # behind the last message
        {"asked": np.array([0, -1, -1, 0, 0, 0], np.int32)},
        {"label": np.array([0, -1], np.int32)},
        {"label": np.array([0, 2], np.int32)},
        {"label": np.zeros(1, np.int32)},  # not of all ranks
        {"code": [SEND, WAIT_SENT, RECV, WAIT_RECEIVED, SLEEP, SLEEP, SEND, WAIT_SENT]},  # replies to nobody
    ],
)
def test_open_messages_that_would_lead_outside_the_arrays_are_refused(changed):
    with pytest.raises(ValueError, match="refuses its arguments"):
        open_message(**changed)


def looped(first, last, copies=2, fixed=0):
    return Loop(np.array(first), np.array(last), copies, fixed)


def test_the_one_message_takes_three_seconds():
    assert one_message().tolist() == [3, 3]


@pytest.mark.parametrize("copies", [0, 1, 7, 1000])
def test_each_copy_of_a_loop_sends_its_own_message(copies):
    assert one_message(loop=looped([0, 2], [2, 4], copies)).tolist() == [3 * copies] * 2


@pytest.mark.parametrize(
    "changed",
    [
        {"argument": np.array([0, 0, 1, 0], np.int32)},  # no such message
        {"argument": np.array([0, -1, 0, 0], np.int32)},
        {"code": np.array([SEND, WAIT_SENT, 8, WAIT_RECEIVED], np.uint8)},  # no such instruction
        {"code": np.array([SEND, SEND, RECV, WAIT_RECEIVED], np.uint8)},  # sent twice
        {"code": np.array([RECV, WAIT_SENT, RECV, WAIT_RECEIVED], np.uint8)},  # received twice
        {"code": np.array([instructions.MARK] * 2 + [RECV] * 2, np.uint8)},  # more marks than there is room for
        {"first": np.array([0, 3, 2])},
        {"first": np.array([0, 2, 3])},  # an instruction of no rank
        {"path": 1},
        {"path": -1},
        {"link": np.ones(1, np.int32)},
        {"kind": np.ones(1, np.int32)},  # no such kind
        {"kind": -np.ones(1, np.int32)},
        {"loop": looped([0, 2], [2, 5])},  # behind the end of its rank
        {"loop": looped([0, 1], [2, 4])},  # begins before its rank
        {"loop": looped([1, 2], [0, 4])},
        {"loop": looped([0, 2], [2, 4], copies=-1)},
        {"loop": looped([0, 2], [2, 4], fixed=2)},
        {"loop": looped([0, 2], [2, 4], fixed=-1)},
        {"loop": looped([0, 2], [2, 4], fixed=1)},  # a message from outside the loop
        {"loop": looped([0, 2], [1, 4])},  # a message of the loop outside of it
        {"loop": looped([0, 2], [2, 4]), "code": np.array([SEND, WAIT_SENT, RECV, RECV], np.uint8)},  # no wait for it
        {"bound_Bps": np.full(1, np.nan)},
    ],
)
def test_what_would_lead_outside_the_arrays_is_refused(changed):
    with pytest.raises(ValueError, match="refuses its arguments"):
        one_message(**changed)


def steps_of_one_exchange():
    return schedule.flattened([[], [schedule.Exchange.of([(0, 1, 300)])], [], [], []], 2)


def paths_of_two_hosts(steps):
    return sharing.Paths(
        *(np.zeros(2, np.int32), np.zeros((1, 1), np.int32), np.zeros(1, np.int32)),
        *(np.ones((1, len(steps.size_bytes))), np.ones((1, len(steps.size_bytes)))),
        *(np.ones(1), np.ones(1), np.ones(8), np.zeros(1), np.ones(1, bool)),
    )


@pytest.mark.parametrize(
    "change",
    [
        lambda steps, paths, hosts: (steps._replace(source=steps.source + 2), paths, hosts),
        lambda steps, paths, hosts: (steps._replace(size=steps.size - 5), paths, hosts),
        lambda steps, paths, hosts: (steps._replace(item=steps.item + 1), paths, hosts),
        lambda steps, paths, hosts: (steps._replace(first=steps.first[::-1].copy()), paths, hosts),
        lambda steps, paths, hosts: (steps, paths._replace(cluster=paths.cluster + 1), hosts),
        lambda steps, paths, hosts: (steps, paths._replace(row=paths.row - 1), hosts),
        lambda steps, paths, hosts: (steps, paths._replace(capacity_Bps=np.ones(9)), hosts),
        lambda steps, paths, hosts: (steps, paths, hosts + 1),
    ],
)
def test_placements_and_schedules_outside_their_arrays_are_refused(change):
    steps = steps_of_one_exchange()
    good = (steps, paths_of_two_hosts(steps), np.array([[0, 1]], np.int32))
    protocol = np.zeros(len(steps.size_bytes), np.uint8)
    sharing.share(*good, protocol)
    with pytest.raises(ValueError, match="refuses its arguments"):
        sharing.share(*change(*good), protocol)


def test_the_parts_of_the_placements_are_all_of_them():
    for placements, messages in itertools.product((0, 1, 7, 1000), (0, 1, 1 << 16, 1 << 30)):
        found = [i for part in sharing.parts(placements, messages) for i in part]
        assert found == list(range(placements))
    assert len(sharing.parts(8, 1 << 30)) == 8


# --- interrupts, caches, and compilers ---


MANY_FLOWS = """
import sys
import numpy as np
from predictor.dpgraph import fluid
from predictor.dpgraph.instructions import MESSAGE, RECV, SEND, Instructions, Messages, Paths
n = 30000  # flows of one link: each end changes the rates of all others, which takes minutes in all
messages = np.zeros(n, MESSAGE)
messages["amount_bytes"], messages["factor"], messages["eager"] = np.arange(1, n + 1) * 1e6, 1, 1
code = np.repeat(np.array([SEND, RECV], np.uint8), n)
argument = np.tile(np.arange(n, dtype=np.int32), 2)
paths = Paths(np.ones(1) * 1e9, np.ones(1), np.array([0, 1]), np.zeros(1, np.int32), np.ones(1), np.ones(1))
print("begins", flush=True)
try:
    fluid.evaluate(Instructions(code, argument, np.zeros(2 * n), np.array([0, n, 2 * n])),
                   Messages(messages, np.arange(n, dtype=np.int32)), paths, np.zeros(2), np.empty((2, 1)))
except KeyboardInterrupt:
    sys.exit(7)
"""


def test_ctrl_c_ends_a_long_evaluation():
    with subprocess.Popen([sys.executable, "-c", MANY_FLOWS], cwd=ROOT, stdout=subprocess.PIPE) as child:
        child.stdout.readline()
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        assert child.wait(20) == 7


ONE_GRAPH = "from predictor.dpgraph import fluid; print(fluid.LIBRARY.compiled()); fluid.LIBRARY.call('graph_close', 0)"


def environment(cache, **more):
    return {**os.environ, "GRID_VALIDATOR_CACHE": str(cache), **more}


@pytest.mark.checkout  # the wheel brings it compiled
def test_processes_that_compile_at_once_get_the_same_whole_library(tmp_path):
    command = [sys.executable, "-c", ONE_GRAPH]
    started = [
        subprocess.Popen(command, cwd=ROOT, env=environment(tmp_path), stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    printed = {child.communicate(timeout=120)[0].strip() for child in started}
    assert [child.returncode for child in started] == [0, 0]
    assert len(printed) == 1 and [str(path) for path in (tmp_path / "compiled").iterdir()] == list(printed)


def read_only(tmp_path):
    """A read-only copy of the packages, and a command prefix that forbids it to root as well."""
    copy = tmp_path / "checkout"
    for package in ("platforms", "apps", "predictor", "validation"):
        shutil.copytree(ROOT / package, copy / package, ignore=shutil.ignore_patterns("__pycache__"))
    for path in (copy, *copy.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    if os.geteuid() != 0:
        return copy, []
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        pytest.skip("nothing is forbidden to root, and setpriv is missing")
    return copy, [setpriv, "--bounding-set=-dac_override,-dac_read_search,-fowner"]


def cache_without_libraries(folder):
    """A cache folder with all that is compiled in the user's own, except the predictors' libraries: it saves time."""
    kept = cache_folder() / "compiled"
    if kept.is_dir():
        shutil.copytree(
            kept,
            folder / "compiled",
            ignore=shutil.ignore_patterns("graph-*", "structural-*", "grid-validator-scratch-*", ".*"),
        )
    return folder


# The command of the copy: ``-m gridval`` would be that of the checkout which is installed.
STARTS = "import sys; from validation.entrance.main import main; sys.exit(main())"


@pytest.mark.slow
def test_read_only_packages_and_home_do_with_a_cache_folder(tmp_path):
    copy, prefix = read_only(tmp_path)
    home, cache = tmp_path / "home", cache_without_libraries(tmp_path / "cache")
    home.mkdir(mode=0o555)
    command = [*prefix, sys.executable, "-c", STARTS, "predict", "--scenario", "grid4x2", "--app", "cg",
               "--class", "S", "--predictor", "structural,dpgraph"]  # fmt: skip
    where = {"HOME": str(home), "PYTHONPATH": str(copy)}
    try:
        lacking = {key: value for key, value in {**os.environ, **where}.items() if not key.endswith("_CACHE")}
        lacking.pop("XDG_CACHE_HOME", None)
        done = subprocess.run(command, cwd=copy, env=lacking, capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (2, ""), done.stderr
        assert "Set GRID_VALIDATOR_CACHE to a writable folder" in done.stderr and "Traceback" not in done.stderr
        done = subprocess.run(command, cwd=copy, env=environment(cache, **where), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert "structural" in done.stdout and "dpgraph" in done.stdout
        assert not list(copy.rglob("__pycache__"))
        assert {path.name.partition("-")[0] for path in (cache / "compiled").iterdir()} >= {"graph", "structural"}
    finally:
        for path in (copy, *copy.rglob("*")):
            if path.is_dir():
                path.chmod(0o755)


def test_a_library_that_cannot_be_loaded_is_told_in_one_line(monkeypatch):
    def refuse(path):
        raise OSError(f"{path}: failed to map segment from shared object")

    monkeypatch.setattr(ctypes, "CDLL", refuse)
    library._loaded.cache_clear()
    try:
        with pytest.raises(UserError, match=r"failed to map.*Set GRID_VALIDATOR_CACHE to a writable folder"):
            fluid.LIBRARY.call("graph_close", 0)
    finally:
        library._loaded.cache_clear()


def test_c_files_that_do_not_compile_are_told_in_one_line(tmp_path, monkeypatch):
    monkeypatch.setenv("GRID_VALIDATOR_CACHE", str(tmp_path / "cache"))
    (tmp_path / "bad.c").write_text("int bad(void) { return missing; }\n")
    with pytest.raises(UserError, match=r"compiling bad: .*missing"):
        Library("bad", tmp_path).call("bad")


def test_a_function_without_memory_is_a_memory_error(tmp_path, monkeypatch):
    monkeypatch.setenv("GRID_VALIDATOR_CACHE", str(tmp_path / "cache"))
    (tmp_path / "poor.c").write_text("int poor(void) { return -1; }\n")
    with pytest.raises(MemoryError, match="poor of poor"):
        Library("poor", tmp_path).call("poor")
