"""Extra-P in another process: started when it is first asked, and kept, because starting takes seconds."""

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

VERSION = "4.2.5"  # of requirements.txt, for which the tests hold
VARIABLE = "EXTRAP_PYTHON"
_TIME_LIMIT_S = 300.0  # for one answer; on an idle machine it takes milliseconds, and a second at the start
_NUMBER = re.compile(r"[0-9]+\.[0-9]+(e[+-]?[0-9]+)?")  # of coefficients; exponents are whole numbers or fractions
_WORKER = Path(__file__).with_name("worker.py")
_DEFAULT = Path(__file__).parents[2] / ".venv-extrap" / "bin" / "python"


@dataclass(frozen=True)
class Modelled:
    """What Extra-P says of a series."""

    function: str  # its model, as it writes it
    terms: tuple[tuple[str, float], ...]  # the model's terms and their values where it was asked for
    smape_pct: float  # symmetric mean absolute percentage error of the measurements from the model
    warnings: tuple[str, ...]
    version: str  # of the Extra-P that says so

    @property
    def value(self) -> float:
        return sum(value for _, value in self.terms)

    @property
    def text(self) -> str:
        """The function with four digits."""
        return _NUMBER.sub(lambda number: f"{float(number[0]):.4g}", self.function)


def python() -> Path | None:
    """The Python that has Extra-P; None where it is not installed.

    Raises UserError where the environment variable EXTRAP_PYTHON names none.
    """
    named = os.environ.get(VARIABLE)
    if not named:
        return _DEFAULT if _DEFAULT.exists() else None
    if not os.access(named, os.X_OK) or Path(named).is_dir():
        remedy = f"Name the python of an environment with extrap=={VERSION}, or unset it and run `make extrap`"
        raise UserError(f"{VARIABLE}={named}", "no such program", remedy)
    return Path(named).absolute()


def not_installed(predictor: str) -> OutOfRange:
    """The answer of who cannot do without it."""
    problem = f"Extra-P is not installed in {_DEFAULT.parents[1]}"
    return OutOfRange(predictor, problem, f"Run `make extrap`, or name another environment's python in {VARIABLE}")


def model(ranks: Sequence[int], values: Sequence[float], at: int, *, negative_exponents: bool) -> Modelled:
    """Extra-P's model of values over numbers of ranks, and what it says for ``at`` ranks.

    Raises OutOfRange where Extra-P is not installed, does not start or fails.
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
    """The process: a line in, a line out."""

    def __init__(self, where: Path):
        self._where = where
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (as long as the process)
        try:
            self._process = subprocess.Popen(
                [str(where), "-I", str(_WORKER)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                start_new_session=True,  # an interrupt is for the command that asked, which then closes it
            )
        except OSError as err:
            raise _failed(where, f"cannot be started: {err.strerror}") from None
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("a process without the pipes that were asked for")
        self._questions, self._answers = self._process.stdin, self._process.stdout
        self._ready = selectors.DefaultSelector()
        self._ready.register(self._answers, selectors.EVENT_READ)
        self.version = str(self._answer().get("version"))

    def ask(self, series: dict[str, Any]) -> dict[str, Any]:
        try:
            self._questions.write(json.dumps(series).encode() + b"\n")
            self._questions.flush()
        except OSError:
            raise self._ended() from None
        return self._answer()

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._log.close()

    def _answer(self) -> dict[str, Any]:
        if not self._ready.select(_TIME_LIMIT_S):
            self._process.kill()
            raise _failed(self._where, f"no answer in {_TIME_LIMIT_S:.0f} s")
        line = self._answers.readline()
        try:
            answer = json.loads(line)
        except ValueError:
            raise self._ended() from None
        if not isinstance(answer, dict):
            raise _failed(self._where, f"an answer that is none: {line.decode(errors='replace').strip()[:200]}")
        return answer

    def _ended(self) -> OutOfRange:
        """The last thing it said."""
        self._process.kill()
        self._process.wait()
        self._log.seek(0)
        said = self._log.read().decode(errors="replace").strip().splitlines()
        return _failed(self._where, said[-1] if said else "it ended without a word")


def _failed(where: Path, problem: str) -> OutOfRange:
    return OutOfRange(f"Extra-P, {where}", problem, f"Install it anew with `make extrap`, or set {VARIABLE}")
