"""Say what is installed, what is missing, and how to get it."""

from __future__ import annotations

import json
import textwrap
from dataclasses import asdict, dataclass

from platforms.command.command import Command
from platforms.command.common import JsonOption
from platforms.command.request import option
from validation.doctor.examine import Finding, examine, examine_machine

_WIDTH = 80


@dataclass(frozen=True, kw_only=True)
class DoctorRequest(JsonOption):
    """Request of ``gridval doctor``."""

    machine: str | None = option(
        None,
        "FILE.toml",
        "examine this real machine instead: launcher, compilers, hosts, placement, clocks (docs/programs/machines.md)",
    )


def _run(request: DoctorRequest) -> int:
    findings = examine() if request.machine is None else examine_machine(request.machine)
    missing = [finding for finding in findings if finding.needed and not finding.found]
    if request.json:
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


COMMAND = Command(
    "doctor",
    DoctorRequest,
    _run,
    __doc__,
    epilog="Exit status: 0 everything that is needed is there; 1 something needed is missing; 2 bad input.",
)
main = COMMAND.main
