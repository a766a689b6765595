"""Check predictors: same answers, honest costs, refusals in one line, no sight of the truth.

Every registered predictor, or one of your own, is asked about small targets, and about the same targets on platforms
whose names, order and units have changed (predictor/conformance).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from apps.options.dry_run import add_dry_run_argument, print_plan
from apps.options.exit_status import exit_status
from apps.options.runner import add_runner_arguments, runner_from_request
from platforms.command.parser import CommandParser
from platforms.terminal.width import add_wide_argument
from predictor.conformance.judge import FAILS, judge
from predictor.conformance.planning import plan
from predictor.conformance.report import as_json, text_lines
from predictor.plugins import FORM
from predictor.registry import ALL, predictors

FAILED = 3
_STATUSES = (
    "Exit status: 0 every check passes or is excused with a reason; 1 output could not be written; 2 bad input; "
    f"{FAILED} a check fails; 130 interrupted; 141 nobody reads the output any more."
)


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = CommandParser(prog="python -m predictor.check", description=__doc__.partition("\n")[0], epilog=_STATUSES)
    parser.add_argument(
        "names", nargs="*", default=[ALL], metavar="NAME",
        help=f"a registered predictor, or {FORM} for one of your own (default: {ALL})",
    )  # fmt: skip
    add_wide_argument(parser)
    parser.add_argument("--json", action="store_true", help="print the verdicts as one JSON object")
    add_runner_arguments(parser)
    add_dry_run_argument(parser)
    return parser


def _run(args: argparse.Namespace) -> int:
    chosen = predictors(args.names)
    if args.dry_run:
        return print_plan(args, plan(chosen))
    with runner_from_request(args) as runner:
        verdicts = [verdict for one in chosen for verdict in judge(one, runner)]
    if args.json:
        print(json.dumps({"verdicts": [as_json(one) for one in verdicts]}))
    else:
        print("\n".join(text_lines(verdicts, wide=args.wide)))
    return FAILED if any(one.outcome == FAILS for one in verdicts) else 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    return exit_status(lambda: _run(build_parser().parse_args(argv)))


if __name__ == "__main__":
    sys.exit(main())
