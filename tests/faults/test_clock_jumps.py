"""The system's clock may jump: only lists of the store use it; limits and orders do not."""

import re
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from apps.calibrate.machine.kernels import kept_of
from apps.calibrate.machine.rows import MachineTime
from apps.child.process import run_bounded
from apps.programs.problem import problem
from apps.runs.runner import Runner
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from apps.store import Store
from apps.store.cli import chosen
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise

ROOT = Path(__file__).parents[2]
# These use the clock to tell when an entry was made, which entries are old, and which files of versions without locks,
# when a machine was measured, when the workbench shows that a suite was queued and for how long it has run, when its
# sessions and links end, when a place began, a message was sent, a file was removed or a view saved, and
# who did what, and whether an interrupted calibration is too long ago to go on from it.
MAY_ASK = {
    "apps/calibrate/machine/kernels.py",
    "apps/measuring/engine.py",
    "apps/store/store.py",
    "apps/store/cli.py",
    "apps/store/payloads.py",
    "validation/workbench/dispatch/places.py",
    "validation/workbench/dispatch/webhooks.py",
    "validation/workbench/guard/accounts.py",
    "validation/workbench/project/shelf.py",
    "validation/workbench/queue/states.py",
    "validation/workbench/queue/views.py",
    "validation/workbench/web/answers.py",
}
ASKS = re.compile(r"\btime\.time(_ns)?\(|\b(datetime|date)\.(now|utcnow|today)\(")
CENTURY_S = 100 * 365 * 86400.0


def test_only_the_store_asks_for_the_time_of_day():
    asking = {
        str(path.relative_to(ROOT))
        for package in ("platforms", "apps", "predictor", "validation")
        for path in (ROOT / package).rglob("*.py")
        if ASKS.search(path.read_text("utf-8"))
    }
    assert asking <= MAY_ASK


def test_an_interrupted_calibration_is_not_gone_on_from_after_the_clock_was_put_back_or_forth(tmp_path, monkeypatch):
    monkeypatch.setattr("apps.calibrate.machine.kernels.cache_folder", lambda: tmp_path)
    kept = kept_of(SimpleNamespace(folder=None, content_hash="0" * 64))
    row = MachineTime("kernel-alone", 0, "node-1", "cg", 10**9, 2.0, 0.0)
    kept.add_kernels([row])
    true_time = time.time
    assert kept.kernel_rows() == (row,)
    for jump_s in (CENTURY_S, -CENTURY_S):
        monkeypatch.setattr(time, "time", lambda by=jump_s: true_time() + by)
        assert kept.kernel_rows() == ()


@pytest.mark.parametrize("jump_s", [CENTURY_S, -CENTURY_S])
def test_a_clock_that_jumps_while_runs_go_on_changes_nothing(tmp_path, monkeypatch, jump_s):
    platform = materialise(named_grid("grid4x2"))
    specs = [RunSpec(Target(problem(app, "S"), platform, block(platform, 4)), iterations=4) for app in ("mg", "cg")]
    true_time = time.time
    with Store(tmp_path) as store, Runner(jobs=1, store=store) as runner:
        before = runner.record(specs[0])
        monkeypatch.setattr(time, "time", lambda: true_time() + jump_s)
        runner.record(specs[1])
        assert len(store.entries()) == 2
        assert run_bounded(["sleep", "0.1"], folder=tmp_path, time_limit_s=60).timed_out is False
    monkeypatch.undo()
    with Store(tmp_path) as store, Runner(jobs=1, store=store) as runner:  # where one record is from another time
        assert runner.record(specs[0]) == before
        assert store.get_record(runner.record(specs[1]).identity) is not None
        old = chosen(store.entries(), older_than="1")
        assert len(old) == (0 if jump_s > 0 else 1)
