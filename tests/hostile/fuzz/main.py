"""Coverage-guided fuzzing of a reader.

Usage: python tests/hostile/fuzz/main.py READER SECONDS [FOLDER]

The reader's module in ``readers`` gives the seeds and words from which inputs are made.  A finding is any exception
except the clear error, and any input that takes more than SLOW_S of CPU time.  Each finding is kept once in FOLDER
(default: fuzz-findings).  The exit status is 1 if there are findings.
"""

from __future__ import annotations

import faulthandler
import hashlib
import importlib
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

import atheris

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[2])]

FUZZING = "--fuzzing"  # first argument of the child process that runs the fuzzer
SLOW_S = 10.0
HANGING_S = 60
MEMORY_MB = 3000
MOST_BYTES = 16384  # of an input
INSTRUMENTED = ["platforms", "apps", "predictor", "validation", "readers", "tomllib"]


class Findings:
    """The findings, each kept once."""

    def __init__(self, folder: Path):
        self.folder, self.known = folder, set[str]()
        self.runs = 0

    def note(self, what: str, content: bytes, detail: str) -> None:
        name = hashlib.sha256(what.encode()).hexdigest()[:12]
        if name in self.known:
            return
        self.known.add(name)
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_bytes(content)
        (self.folder / f"{name}.txt").write_text(detail, "utf-8", "backslashreplace")
        print(f"finding {name}: {what}", file=sys.stderr, flush=True)


def place_of(err: BaseException) -> str:
    """Return the place in the project's own code that raised the exception."""
    frames = [frame for frame in traceback.extract_tb(err.__traceback__) if str(HERE.parents[2]) in frame.filename]
    last = frames[-1] if frames else traceback.extract_tb(err.__traceback__)[-1]
    return f"{type(err).__name__} at {Path(last.filename).name}:{last.name}: {last.line}"


def dictionary(words: tuple[str, ...], path: Path) -> Path:
    """Write the words as a dictionary for libFuzzer."""
    lines = ["".join(f"\\x{byte:02x}" for byte in word.encode()) for word in words if word]
    path.write_text("".join(f'"{line}"\n' for line in lines))
    return path


def main() -> int:
    """Run the fuzzer in a child process, which libFuzzer may end at any time; the findings are in the folder."""
    name, _, *rest = sys.argv[1:]
    folder = Path(rest[0] if rest else "fuzz-findings").absolute() / name
    shutil.rmtree(folder, ignore_errors=True)
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir=memory if os.access(memory, os.W_OK) else None) as scratch:
        words = [sys.executable, __file__, FUZZING, *sys.argv[1:]]
        status = subprocess.run(words, env={**os.environ, "TMPDIR": scratch}, check=False).returncode
    found = sorted(folder.glob("*.txt")) if folder.is_dir() else []
    print(f"{name}: {len(found)} findings{f', see {folder}' if found else ''}; libFuzzer ended with {status}")
    return 1 if found or status else 0


def fuzz(name: str, seconds: str, *rest: str) -> None:
    findings = Findings(Path(rest[0] if rest else "fuzz-findings").absolute() / name)
    warnings.simplefilter("ignore")
    logging.disable()
    faulthandler.enable()
    with atheris.instrument_imports(include=INSTRUMENTED, enable_loader_override=False):
        common: Any = importlib.import_module("readers.common")
        reader: Any = importlib.import_module(f"readers.{name}")
        errors: Any = importlib.import_module("platforms.errors")

    def once(content: bytes) -> None:
        findings.runs += 1
        started = time.process_time()
        try:
            reader.read(content)
        except errors.UserError as err:
            if not common.is_one_line(err):
                findings.note(f"not one line: {type(err).__name__}", content, str(err))
        except Exception as err:  # every other exception is a finding
            findings.note(place_of(err), content, traceback.format_exc())
        if time.process_time() - started > SLOW_S:
            findings.note("slow", content, f"{time.process_time() - started:.1f} s")

    with tempfile.TemporaryDirectory(prefix="fuzz-") as scratch:
        corpus = Path(scratch) / "corpus"
        corpus.mkdir()
        for seed in reader.SEEDS:
            shutil.copy(seed, corpus / hashlib.sha256(str(seed).encode()).hexdigest()[:16])
        options = [
            f"-max_total_time={seconds}", f"-timeout={HANGING_S}", f"-rss_limit_mb={MEMORY_MB}",
            f"-max_len={MOST_BYTES}", f"-dict={dictionary(reader.WORDS, Path(scratch) / 'words')}",
            f"-artifact_prefix={scratch}/", "-print_final_stats=1", "-verbosity=1",
        ]  # fmt: skip
        with common.fenced(Path(scratch)):
            atheris.Setup([sys.argv[0], *options, str(corpus)], once)
            atheris.Fuzz()


if __name__ == "__main__":
    if sys.argv[1] == FUZZING:
        fuzz(*sys.argv[2:])
    else:
        sys.exit(main())
