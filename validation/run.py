"""Command line: predict, simulate, compare."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from apps.catalog import app_names, problem
from apps.options import (
    add_runner_arguments,
    add_settings_arguments,
    exit_status,
    runner_from_arguments,
    settings_from_arguments,
)
from apps.spec import Target
from platforms.errors import UserError
from platforms.options import (
    add_placement_arguments,
    add_platform_arguments,
    placement_from_arguments,
    platform_from_arguments,
)
from platforms.scenario import SCENARIOS
from predictor.predict import names
from predictor.registry import PREDICTORS, predictor

if TYPE_CHECKING:
    import pandas as pd

    from platforms.platform import Platform
    from validation.compare import Failure


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m validation.run",
        description="Predict the run times of MPI kernels on a grid from a cheap probe, simulate the full runs with "
        "SimGrid, and say how wrong each prediction is and what it cost.",
        epilog="Exit status: 0 done, 1 a simulation failed, 2 bad input.",
    )
    add_platform_arguments(parser)
    parser.add_argument(
        "--app", default="cg,mg,lu", metavar="A1,A2,...", help=f"of {', '.join(app_names())} (default: cg,mg,lu)"
    )
    parser.add_argument("--class", dest="preset", default="B", metavar="C", help="problem class (default: B)")
    parser.add_argument("--ranks", type=int, metavar="P", help="ranks of the full run (default: as many as fit)")
    add_placement_arguments(parser)
    parser.add_argument(
        "--predictor", default=",".join(PREDICTORS), metavar="P1,P2,...",
        help=f"of {', '.join(PREDICTORS)} (default: all of them)",
    )  # fmt: skip
    add_settings_arguments(parser)
    add_runner_arguments(parser)
    parser.add_argument("--out", metavar="DIR", help="write results.csv, summary.csv and a figure per app there")
    parser.add_argument("--json", action="store_true", help="print results and summary as one JSON object, no table")
    return parser


def _platforms(args: argparse.Namespace) -> list[Platform]:
    if args.scenario != "all":
        return [platform_from_arguments(args)]
    if args.speeds is not None:
        raise UserError("--speeds", "does not go with --scenario all", "Name one scenario")
    one_by_one = (argparse.Namespace(**{**vars(args), "scenario": name}) for name in SCENARIOS)
    return [platform_from_arguments(one) for one in one_by_one]


def _mapping_name(args: argparse.Namespace) -> str:
    return args.mapping or ("hostfile" if args.hostfile else "block")


def _run(args: argparse.Namespace) -> int:
    models = [predictor(name) for name in names(args.predictor)]
    problems = [problem(app, args.preset) for app in names(args.app)]
    settings = settings_from_arguments(args)
    folder = _output_folder(args.out)
    targets = [
        Target(asked, platform, placement_from_arguments(args, platform, args.ranks))
        for platform in _platforms(args)
        for asked in problems
    ]
    for target in targets:
        settings.spec(target)  # says what does not fit before anything runs
    import pandas as pd

    from validation.compare import COLUMNS, Failure, validate
    from validation.metrics import summarise

    rows, failures = [], []
    try:
        with runner_from_arguments(args) as runner:
            for outcome in validate(targets, models, settings, mapping=_mapping_name(args), runner=runner):
                if isinstance(outcome, Failure):
                    failures.append(outcome)
                    print(f"error: {outcome.error}", file=sys.stderr)
                else:
                    rows.append(outcome.to_json())
    finally:  # an interrupt too leaves what is finished
        results = pd.DataFrame(rows, columns=list(COLUMNS))
        summary = summarise(results)
        if rows and folder is not None:
            _write(results, summary, folder)
        if args.json:
            print(json.dumps({"results": _records(results), "summary": _records(summary)}))
        elif rows:
            _print(results, summary)
    return _status(failures)


def _output_folder(text: str | None) -> Path | None:
    if text is None:
        return None
    folder = Path(text)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "results.csv").touch()
    except OSError as err:
        raise UserError(f"--out {text}", f"cannot be written: {err.strerror}", "Choose another folder") from err
    return folder


def _write(results: pd.DataFrame, summary: pd.DataFrame, folder: Path) -> None:
    from validation.plots import write_figures

    results.to_csv(folder / "results.csv", index=False)
    summary.to_csv(folder / "summary.csv", index=False)
    write_figures(results, folder)


def _records(table: pd.DataFrame) -> list[dict]:
    rows = table.astype(object).where(table.notna(), None)  # JSON has no NaN
    return rows.to_dict("records")


def _print(results: pd.DataFrame, summary: pd.DataFrame) -> None:
    from validation.metrics import published_errors
    from validation.tables import results_text, summary_text

    print(results_text(results))
    print()
    print(summary_text(summary, published_errors(results)))
    cautious = results["flags"] != ""
    if cautious.any():
        example = results["flags"][cautious].iloc[0]
        print(f"\n! {cautious.sum()} of {len(results)} predictions carry a caution, such as: {example}")


def _status(failures: Sequence[Failure]) -> int:
    if any(not failure.bad_input for failure in failures):
        return 1
    return 2 if failures else 0


def main(argv: Sequence[str] | None = None) -> int:
    args = build_parser().parse_args(argv)
    return exit_status(lambda: _run(args))


if __name__ == "__main__":
    sys.exit(main())
