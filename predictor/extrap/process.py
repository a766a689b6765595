"""Extra-P in another process, which is started at its first use and kept, because starting it takes seconds."""

from __future__ import annotations

import atexit
import json
import os
import re
import selectors
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from platforms.errors import UserError
from predictor.base import OutOfRange

VERSION = "4.2.5"  # the version in requirements.txt, with which the tests are run
VARIABLE = "EXTRAP_PYTHON"
TIME_LIMIT_S = 300.0  # for one answer; on an idle machine it takes milliseconds, and a second at the start
_NUMBER = re.compile(r"[0-9]+\.[0-9]+(e[+-]?[0-9]+)?")  # a coefficient; exponents are whole numbers or fractions
_WORKER = Path(__file__).with_name("worker.py")
DEFAULT_PYTHON = Path(__file__).parents[2] / ".venv-extrap" / "bin" / "python"


@dataclass(frozen=True)
class Modelled:
    """Extra-P's model of a series."""

    function: str  # the model, in Extra-P's notation
    terms: tuple[tuple[str, float], ...]  # the model's terms and their values at the requested number of ranks
    smape_pct: float  # symmetric mean absolute percentage error of the measurements from the model
    warnings: tuple[str, ...]
    version: str  # of Extra-P

    @property
    def value(self) -> float:
        """Value of the model at the requested number of ranks."""
        return sum(value for _, value in self.terms)

    @property
    def text(self) -> str:
        """The function, with four digits of each coefficient."""
        return _NUMBER.sub(lambda number: f"{float(number[0]):.4g}", self.function)


def python() -> Path | None:
    """Return the Python interpreter that has Extra-P; None if it is not installed.

    Raises:
        UserError: The environment variable EXTRAP_PYTHON does not name a program.
    """
    named = os.environ.get(VARIABLE)
    if not named:
        return DEFAULT_PYTHON if DEFAULT_PYTHON.exists() else None
    if not os.access(named, os.X_OK) or Path(named).is_dir():
        remedy = f"Name the python of an environment with extrap=={VERSION}, or unset it and run `make extrap`"
        raise UserError(f"{VARIABLE}={named}", "no such program", remedy)
    return Path(named).absolute()


def not_installed(predictor: str) -> OutOfRange:
    """Return the error of a predictor that needs Extra-P where it is not installed."""
    problem = f"Extra-P is not installed in {DEFAULT_PYTHON.parents[1]}"
    return OutOfRange(predictor, problem, f"Run `make extrap`, or name another environment's python in {VARIABLE}")


def model(ranks: Sequence[int], values: Sequence[float], at: int, *, negative_exponents: bool) -> Modelled:
    """Return Extra-P's model of values over numbers of ranks, with its terms evaluated at ``at`` ranks.

    Raises:
        OutOfRange: Extra-P is not installed, does not start or fails.
    """
    where = python()
    if where is None:
        raise not_installed("Extra-P")
    series = {"ranks": list(ranks), "values": list(values), "at": at, "negative_exponents": negative_exponents}
    worker = _worker(where)
    answer = worker.ask(series)
    if "error" in answer:
        raise _failed(where, answer["error"])
    terms = tuple((text, value) for text, value in answer["terms"])
    return Modelled(answer["function"], terms, answer["smape_pct"], tuple(answer["warnings"]), worker.version)


@cache
def _worker(where: Path) -> _Worker:
    worker = _Worker(where)
    atexit.register(worker.close)
    return worker


class _Worker:
    """The Extra-P process, which reads one line per series and writes one line per answer."""

    def __init__(self, where: Path):
        self._where = where
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (open as long as the process runs)
        try:
            self._process = subprocess.Popen(
                [str(where), "-I", str(_WORKER)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                start_new_session=True,  # only the command gets an interrupt, and then closes this process
            )
        except OSError as err:
            raise _failed(where, f"cannot be started: {err.strerror}") from None
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("the process has no pipes")
        self._questions, self._answers = self._process.stdin, self._process.stdout
        self._ready = selectors.DefaultSelector()
        self._ready.register(self._answers, selectors.EVENT_READ)
        self.version = str(self._answer().get("version"))

    def ask(self, series: dict[str, Any]) -> dict[str, Any]:
        """Send a series and return the answer (worker.py); raise OutOfRange if the process has failed."""
        try:
            self._questions.write(json.dumps(series).encode() + b"\n")
            self._questions.flush()
        except OSError:
            raise self._ended() from None
        return self._answer()

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        self._log.close()

    def _answer(self) -> dict[str, Any]:
        if not self._ready.select(TIME_LIMIT_S):
            self._process.kill()
            raise _failed(self._where, f"no answer in {TIME_LIMIT_S:.0f} s")
        line = self._answers.readline()
        try:
            answer = json.loads(line)
        except ValueError:
            raise self._ended() from None
        if not isinstance(answer, dict):
            raise _failed(self._where, f"no JSON object: {line.decode(errors='replace').strip()[:200]}")
        return answer

    def _ended(self) -> OutOfRange:
        """Return the error of a process that has ended, with the last line that it wrote."""
        self._process.kill()
        self._process.wait()
        self._log.seek(0)
        said = self._log.read().decode(errors="replace").strip().splitlines()
        return _failed(self._where, said[-1] if said else "it ended without a message")


def _failed(where: Path, problem: str) -> OutOfRange:
    return OutOfRange(f"Extra-P, {where}", problem, f"Reinstall it with `make extrap`, or set {VARIABLE}")
