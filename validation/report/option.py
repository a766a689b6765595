"""Option --report FILE.html."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from apps.results.cautions import Cautions
from validation.report.gather import Invocation
from validation.report.reporter import OPTION, Reporter


def add_report_argument(parser: argparse.ArgumentParser) -> None:
    """Add the option --report, which ``reporter_from_arguments`` reads."""
    parser.add_argument(
        OPTION, metavar="FILE.html",
        help="write an HTML page with tables, figures, settings, versions, costs and the commands to repeat the runs; "
        "it needs no network (docs/validation/report.md)",
    )  # fmt: skip


def reporter_from_arguments(
    args: argparse.Namespace,
    *,
    words: Sequence[str],
    module: str,
    file: tuple[str, str] | None = None,
    cautions: Cautions | None = None,
) -> Reporter:
    """Return a reporter that writes the file of the option, or nothing without the option.

    Args:
        args: The parsed options.
        words: The words of the command line after the module.
        module: The module of the command.
        file: Name and text of a campaign file.
        cautions: The cautions about the runs.

    Raises:
        UserError: The page cannot be written.
    """
    invocation = Invocation(
        command=("python", "-m", module, *words),
        file=file,
        truth=getattr(args, "truth", None),
        energy=args.energy,
        platform_words=platform_words(args),
    )
    return Reporter(args.report, invocation, cautions)


def platform_words(args: argparse.Namespace) -> tuple[str, ...]:
    """Return the options of platforms.generate that describe the only platform; empty if there are several."""
    if getattr(args, "scenario", None) in (None, "all"):
        return ()
    words = []
    for option in ("scenario", "network", "factors", "speeds", "frequency"):
        if getattr(args, option) is not None:
            words += [f"--{option}", getattr(args, option)]
    for path in args.hardware or ():
        words += ["--hardware", path]
    return tuple(words)
