"""Run and predict every platform of a folder, such as examples/platforms of SimGrid's source, or report its refusal.

The output is two tables in Markdown.  C++ files are compiled first.  Class S of three kernels runs on up to 8 hosts of
each platform, or on up to 4 cores of a platform with a single host.
"""

import argparse
import contextlib
import io
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from platforms.errors import UserError
from platforms.read.read import read_platform
from platforms.simgrid.installed import compiler_flags
from validation.run import main as validate

_RANKS, _MOST_PER_HOST = (8, 6, 5, 4, 3, 2, 1), 4  # 7 are too many for class S of LU
_SUFFIXES = (".xml", ".so", ".cpp")
_ROUNDING_PCT = 1e-9  # smaller errors are rounding errors


@dataclass(frozen=True)
class Outcome:
    """Outcome of a platform file."""

    file: str
    status: int
    hosts: str  # such as "4 in 2" clusters; empty if the file cannot be read
    ranks: int
    errors: dict[str, str]  # by predictor: mean absolute error in %, or "no answer"
    line: str  # message of a refusal
    wall_s: float

    def cells(self, predictors: list[str]) -> list[str]:
        """Return the cells of its row in the table of runs, or in the table of refusals."""
        if self.status == 0:
            return [self.file, self.hosts, str(self.ranks), *(self.errors[name] for name in predictors)]
        other = "" if self.status == 2 else f"status {self.status}: "
        return [self.file, other + self.line.replace("|", "\\|").replace("<", "&lt;")]


def outcome(path: Path, name: str, predictors: list[str]) -> Outcome:
    """Return the outcome of one platform."""
    hosts, ranks, per_host = "", 0, 1
    with contextlib.suppress(UserError):  # the command reports the error itself
        platform = read_platform(path)
        hosts = f"{len(platform.hosts)} in {len(platform.clusters)}"
        if len(platform.hosts) == 1:
            per_host = min(_MOST_PER_HOST, platform.hosts[0].cores)
        ranks = next(count for count in _RANKS if count <= per_host * len(platform.hosts))
    options = ["--ranks", str(ranks), "--ranks-per-host", str(per_host)] if ranks else []
    out, err, started = io.StringIO(), io.StringIO(), time.perf_counter()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = validate([
            "--platform", str(path), *options, "--class", "S", "--app", "cg,mg,lu", "--predictor", ",".join(predictors),
            "--json", "--no-store", "--jobs", "1",
        ])  # fmt: skip
    wall_s = time.perf_counter() - started
    lines = [line for line in err.getvalue().splitlines() if line.startswith("error: ")]
    errors = _errors(json.loads(out.getvalue())["results"], predictors) if status == 0 else {}
    line = (lines or ["no reason"])[0].removeprefix("error: ").replace(f"{path.parent}/", "").replace(path.name, name)
    if len(set(lines)) > 1:
        line += f" ({len(set(lines))} lines)"
    return Outcome(name, status, hosts, ranks, errors, line, wall_s)


def _errors(results: list[dict], predictors: list[str]) -> dict[str, str]:
    found = {}
    for name in predictors:
        rows = [row for row in results if row["predictor"] == name]
        errors = [row["abs_error_pct"] for row in rows if row["abs_error_pct"] is not None]
        cautious = any(row["flags"] for row in rows)
        found[name] = _rounded(mean(errors)) + " !" * cautious if errors else "no answer"
    return found


def _rounded(error_pct: float) -> str:
    return "0" if error_pct < _ROUNDING_PCT else f"{error_pct:.2g}" if error_pct < 10 else f"{error_pct:.0f}"


def _print_table(columns: list[str], numeric: int, rows: list[list[str]]) -> None:
    """Print a table whose last ``numeric`` columns are right-aligned."""
    print("| " + " | ".join(columns) + " |")
    print("|" + "---|" * (len(columns) - numeric) + "---:|" * numeric)
    for cells in rows:
        print("| " + " | ".join(cells) + " |")


def compiled(source: Path, folder: Path) -> Path:
    """Compile a platform in C++ and return its .so file.

    Raises:
        UserError: The compiler failed; the error has its first message.
    """
    library = folder / source.with_suffix(".so").name
    done = subprocess.run(
        ["g++", "-std=gnu++17", *compiler_flags(), "-O1", "-shared", "-fPIC", "-o", library, source, "-lsimgrid"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        complaint = next((line for line in done.stderr.splitlines() if " error: " in line), "the compiler failed")
        raise UserError(source.name, f"does not compile: {complaint.partition(' error: ')[2]}", "Take another SimGrid")
    return library


def outcomes(folder: Path, predictors: list[str]) -> Iterator[Outcome]:
    """Yield the outcomes of all platforms in the folder and its subfolders."""
    with tempfile.TemporaryDirectory() as made:
        for path in sorted(path for path in folder.rglob("*") if path.suffix in _SUFFIXES and path.is_file()):
            name = str(path.relative_to(folder))
            try:
                taken = compiled(path, Path(made)) if path.suffix == ".cpp" else path
            except UserError as err:
                yield Outcome(name, 2, "", 0, {}, str(err), 0.0)
                continue
            yield outcome(taken, name, predictors)


def main() -> int:
    """Run the command and return its exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--predictor", default="hcf,dpgraph:known,dpgraph", metavar="P1,P2,...")
    args = parser.parse_args()
    if not args.folder.is_dir():
        parser.error(f"{args.folder}: not a folder")
    predictors = args.predictor.split(",")
    ran, not_ran, bad = [], [], []
    for one in outcomes(args.folder, predictors):
        (ran if one.status == 0 else not_ran).append(one.cells(predictors))
        if one.status not in (0, 2):
            bad.append(one.file)
        print(f"{one.file}: status {one.status}, {one.wall_s:.1f} s", file=sys.stderr)
    names = [f"`{name}` %" for name in predictors]
    _print_table(["run", "hosts in clusters", "ranks", *names], 1 + len(names), ran)
    print()
    _print_table(["refused", "reason"], 0, not_ran)
    if bad:
        print(f"neither run nor refused: {', '.join(bad)}", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
