"""Answers to many tasks: taken from the store, or made by several processes at a time and kept at once.

After an interruption the same tasks go on from the answers that are kept.  Quick tasks are done in this process,
because others would have to be started first.
"""

import ctypes
import hashlib
import multiprocessing
import signal
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar

from apps.errors import SimulationError
from apps.store import Store
from apps.store.codec import DoesNotFit, as_fields, from_fields
from apps.store.identity import identity_hash
from platforms.errors import UserError
from platforms.terminal.progress import Progress, be_quiet

ALONE_S = 1.0  # wall time of this process before others are started
_PR_SET_PDEATHSIG = 1  # of prctl(2)

Task = TypeVar("Task")
Answer = TypeVar("Answer")
Failure: TypeAlias = UserError | SimulationError  # of a task; it does not stop the others
ROOT = Path(__file__).parents[2]
_ENDINGS = frozenset({".py", ".c", ".h", ".csv", ".toml", ".json"})


@dataclass(frozen=True)
class Kept(Generic[Answer]):
    """A place in the store for answers of one type, which is a dataclass."""

    kind: str  # one of apps.store.KINDS
    type: type[Answer]
    store: Store | None  # None: nothing is kept

    def get(self, identity: dict[str, Any]) -> Answer | None:
        """Return the answer with this identity, or None."""
        if self.store is None:
            return None
        key = identity_hash(identity)
        payload = self.store.get(self.kind, key)
        if payload is None:
            return None
        try:
            return from_fields(self.type, payload)
        except DoesNotFit as err:
            self.store.refuse(self.kind, key, str(err))
            return None

    def put(self, identity: dict[str, Any], answer: Answer, summary: str) -> None:
        """Keep an answer."""
        if self.store is not None:
            self.store.put(self.kind, identity_hash(identity), identity, as_fields(answer), summary=summary)


def answers(
    tasks: Sequence[Task],
    make: Callable[[Task], Answer],
    identities: Sequence[dict[str, Any]],
    kept: Kept[Answer],
    *,
    jobs: int,
    names: Sequence[str],
) -> list[Answer | Failure]:
    """Return the answer to each task, or the error that it raises: wrong input, or a simulation that failed.

    Args:
        tasks: The tasks; they can be pickled.
        make: A function of a module, which answers a task.
        identities: All that decides the answer to each task, as JSON values.
        kept: Place of the answers.
        jobs: Number of processes.
        names: The tasks in words, for the progress and the lists of the store.

    Raises:
        KeyboardInterrupt: With the number of answers that are kept.
        UserError: A process was killed.
    """
    by_task: dict[int, Answer | Failure] = {}
    for at, identity in enumerate(identities):
        known = kept.get(identity)
        if known is not None:
            by_task[at] = known
    missing = [at for at in range(len(tasks)) if at not in by_task]
    progress = Progress()
    new = 0
    try:
        with closing(_made([tasks[at] for at in missing], make, jobs)) as made:
            for number, answer in made:
                at = missing[number]
                by_task[at] = answer
                if not isinstance(answer, Failure):
                    kept.put(identities[at], answer, names[at])
                    new += 1
                progress(names[at], len(by_task), len(tasks))
    except KeyboardInterrupt as err:
        if kept.store is None or not new:
            raise
        raise KeyboardInterrupt(f"{len(by_task)} of {len(tasks)} are kept in the store") from err
    finally:
        progress.close()
    return [by_task[at] for at in range(len(tasks))]


def _made(
    tasks: Sequence[Task], make: Callable[[Task], Answer], jobs: int
) -> Generator[tuple[int, Answer | Failure], None, None]:
    """Yield the number and the answer of each task, in any order."""
    started_s, done = time.perf_counter(), 0
    while done < len(tasks) and (jobs == 1 or done == len(tasks) - 1 or time.perf_counter() - started_s < ALONE_S):
        yield done, _answer(make, tasks[done])
        done += 1
    if done == len(tasks):
        return
    others = set(multiprocessing.active_children())
    # Forked, so that a user's script needs no guard around its calls.
    pool = ProcessPoolExecutor(
        min(jobs, len(tasks) - done), multiprocessing.get_context("fork"), initializer=_end_with_parent
    )
    try:
        numbers = {pool.submit(_answer, make, tasks[at]): at for at in range(done, len(tasks))}
        for future in as_completed(numbers):
            yield numbers[future], future.result()
    except BrokenProcessPool:
        problem = "one of the processes was killed, perhaps for want of memory"
        raise UserError(f"--jobs {jobs}", problem, "Give fewer") from None
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
            process.join()


def _answer(make: Callable[[Task], Answer], task: Task) -> Answer | Failure:
    try:
        return make(task)
    except (UserError, SimulationError) as err:
        return err


def _end_with_parent() -> None:
    """Let this process end silently when it is interrupted, or when its parent ends; it shows no progress."""
    be_quiet()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


@cache
def sources_hash(*folders: str) -> str:
    """Return a hash of the names and contents of all sources in these folders of the project."""
    digest = hashlib.sha256()
    for folder in folders:
        place = ROOT / folder
        for path in [place] if place.is_file() else sorted(place.rglob("*")):
            if path.suffix in _ENDINGS and path.is_file():
                digest.update(f"{path.relative_to(ROOT)}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]
