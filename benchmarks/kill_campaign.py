"""Kill a campaign (SIGKILL) at random moments, restart it until it is done, and compare it with an undisturbed one.

After every kill, no process of the campaign may be left, and the store must have kept all entries, complete ones only.
At the end, the results must be the same to the last bit, except wall times, and no temporary files may be left.
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from apps.store import Store

_MARK = "GRID_VALIDATOR_KILL_MARK"  # environment variable of all processes started here
_GONE_LIMIT_S = 20.0  # time for the processes of a killed campaign to end


class Campaign:
    """A small campaign in its own folder."""

    def __init__(self, folder: Path, apps: Sequence[str], predictors: Sequence[str]):
        self.store, self._scratch, self._out = folder / "store", folder / "tmp", folder / "out"
        self._scratch.mkdir(parents=True)
        self._file = folder / "campaign.toml"
        self._file.write_text(
            'scenarios = ["grid4x2", "grid4x4"]\nnetworks = ["gigabit", "metro"]\nclasses = ["S"]\n'
            f"apps = {list(apps)!r}\npredictors = {list(predictors)!r}\n"
        )
        self._mark = f"{folder}"

    def start(self) -> subprocess.Popen[str]:
        """Start the campaign."""
        command = [sys.executable, "-m", "gridval", "series", "campaign", str(self._file), "--jobs", "2"]
        return subprocess.Popen(
            [*command, "--store", str(self.store), "--out", str(self._out)],
            env={**os.environ, "TMPDIR": str(self._scratch), _MARK: self._mark},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def results(self) -> list[dict[str, str]]:
        """Return the rows without machine times."""
        with open(self._out / "results.csv", newline="") as file:
            return [{name: value for name, value in row.items() if "wall" not in name} for row in csv.DictReader(file)]

    def processes(self) -> list[int]:
        """Return the ids of the campaign's processes."""
        found, wanted = [], f"{_MARK}={self._mark}".encode()
        for entry in os.listdir("/proc"):
            try:
                if entry.isdecimal() and wanted in Path(f"/proc/{entry}/environ").read_bytes().split(b"\0"):
                    found.append(int(entry))
            except OSError:  # the process has ended
                continue
        return found

    def scratch(self) -> list[str]:
        """Return the temporary files and folders in both places."""
        places = (self._scratch.iterdir(), self.store.glob("tmp/*"), self.store.glob("claims/*"))
        return [path.name for place in places for path in place]


def contents(store: Path) -> dict[tuple[str, str], float]:
    """Return kind, key and creation time of every entry.

    Raises:
        ValueError: An entry is incomplete.
    """
    complaints: list[str] = []
    with Store(store, report=complaints.append) as opened:
        entries = opened.entries()
        for entry in entries:
            if entry.kind != "recording" and opened.get(entry.kind, entry.key) is None:
                complaints.append(f"{entry.kind} {entry.key} is gone")
            if entry.kind == "recording" and opened.get_bytes(entry.kind, entry.identity) is None:
                complaints.append(f"{entry.kind} {entry.key} is gone")
    if complaints:
        raise ValueError("; ".join(complaints))
    return {(entry.kind, entry.key): entry.created_s for entry in entries}


def gone(campaign: Campaign) -> bool:
    """Wait until all processes of the campaign have ended; return whether they did in time."""
    end_s = time.monotonic() + _GONE_LIMIT_S
    while campaign.processes():
        if time.monotonic() > end_s:
            return False
        time.sleep(0.02)
    return True


def kill(campaign: Campaign, after_s: float) -> str:
    """Run a campaign and kill it after a time; return "killed", or "finished" if it ended first.

    Raises:
        ValueError: The campaign failed, left processes or lost entries.
    """
    before = contents(campaign.store) if campaign.store.exists() else {}
    started = campaign.start()
    try:
        _, errors = started.communicate(timeout=after_s)
        if started.returncode != 0:
            raise ValueError(f"the campaign ended with status {started.returncode}: {errors}")
        outcome = "finished"
    except subprocess.TimeoutExpired:
        outcome = "killed"
    finally:
        started.kill()
        started.communicate()
    if not gone(campaign):
        raise ValueError(f"processes are left: {campaign.processes()}")
    after = contents(campaign.store) if campaign.store.exists() else {}
    lost = [key for key, made_s in before.items() if after.get(key) != made_s]
    if lost:
        raise ValueError(f"entries were lost, or made again: {lost}")
    return outcome


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--apps", default="cg,mg,lu")
    parser.add_argument("--predictors", default="hcf,dpgraph")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    args = build_parser().parse_args(argv)
    rng, wanted = random.Random(args.seed), (args.apps.split(","), args.predictors.split(","))
    with tempfile.TemporaryDirectory(prefix="kills-") as name:
        undisturbed = Campaign(Path(name) / "undisturbed", *wanted)
        started_s = time.monotonic()
        kill(undisturbed, 600)
        whole_s = time.monotonic() - started_s
        expected = undisturbed.results()
        entries = len(contents(undisturbed.store))
        print(f"undisturbed: {whole_s:.1f} s, {len(expected)} rows, {entries} entries", flush=True)
        kills, campaigns = 0, 0
        while kills < args.kills:
            campaign = Campaign(Path(name) / f"killed-{campaigns}", *wanted)
            campaigns += 1
            lives, began_s = 0, time.monotonic()
            while kills < args.kills and kill(campaign, rng.uniform(0, whole_s)) == "killed":
                kills, lives = kills + 1, lives + 1
            if not lives:  # the first campaign was slower: the machine was busy or had to compile
                whole_s = min(whole_s, time.monotonic() - began_s)
            if kill(campaign, 600) != "finished":
                raise ValueError("the campaign does not finish")
            if campaign.results() != expected:
                raise ValueError("the results differ")
            if campaign.scratch():
                raise ValueError(f"the campaign leaves {campaign.scratch()}")
            print(f"campaign {campaigns}: killed {lives} times, then finished with the same results", flush=True)
    print(f"{kills} kills in {campaigns} campaigns: nothing lost, no process and no file left, the same results")
    return 0


if __name__ == "__main__":
    sys.exit(main())
