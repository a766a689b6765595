"""Say what is installed, what is missing, and how to get it."""

from __future__ import annotations

import argparse
import json
import textwrap
from collections.abc import Sequence
from dataclasses import asdict

from platforms.command.parser import CommandParser
from platforms.command.status import exit_status
from validation.doctor.examine import Finding, examine, examine_machine

_WIDTH = 80


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = CommandParser(
        prog="python -m validation.doctor",
        description=__doc__,
        epilog="Exit status: 0 everything that is needed is there; 1 something needed is missing; 2 bad input.",
    )
    parser.add_argument(
        "--machine", metavar="FILE.toml",
        help="examine this real machine instead: launcher, compilers, hosts, placement, clocks "
        "(docs/programs/machines.md)",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    return parser


def _run(args: argparse.Namespace) -> int:
    findings = examine() if args.machine is None else examine_machine(args.machine)
    missing = [finding for finding in findings if finding.needed and not finding.found]
    if args.json:
        print(json.dumps({"findings": [asdict(finding) for finding in findings]}))
    else:
        print("\n".join(line for finding in findings for line in _lines(finding)))
        names = ", ".join(finding.name for finding in missing)
        print(f"\nMissing: {names}." if missing else "\nEverything that is needed is there.")
    return 1 if missing else 0


def _lines(finding: Finding) -> list[str]:
    state = "ok" if finding.found else "MISSING" if finding.needed else "absent"
    lines = textwrap.wrap(
        f"{state:8} {finding.name}: {finding.text.removeprefix('absent; ')}",
        _WIDTH, subsequent_indent=" " * 9, break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    return [*lines, *([f"{'':9}{finding.remedy}"] if finding.remedy else [])]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    return exit_status(lambda: _run(build_parser().parse_args(argv)))
