"""--report FILE.html: the page with everything in it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from validation.report.gather import OPTION, Asked, Reporter


def add_report_argument(parser: argparse.ArgumentParser) -> None:
    """--report, as reporter_from_arguments reads it."""
    parser.add_argument(
        OPTION, metavar="FILE.html",
        help="write a page with tables, figures, settings, versions, costs and the commands to repeat it; it needs no "
        "network (docs/validation/report.md)",
    )  # fmt: skip


def reporter_from_arguments(
    args: argparse.Namespace,
    *,
    words: Sequence[str],
    module: str,
    file: tuple[str, str] | None = None,
) -> Reporter:
    """Writes what the option names, and nothing without it.

    ``module`` and ``words``: as the command was called.  ``file``: as in Asked.  Raises UserError for
    a place where no page can be written.
    """
    asked = Asked(
        command=("python", "-m", module, *words),
        file=file,
        truth=getattr(args, "truth", None),
        energy=args.energy,
        platform_words=platform_words(args),
    )
    return Reporter(args.report, asked)


def platform_words(args: argparse.Namespace) -> tuple[str, ...]:
    """The words that describe the one platform, as platforms.generate takes them."""
    if getattr(args, "scenario", None) in (None, "all"):
        return ()
    words = []
    for option in ("scenario", "network", "speeds", "frequency"):
        if getattr(args, option) is not None:
            words += [f"--{option}", getattr(args, option)]
    for path in args.hardware or ():
        words += ["--hardware", path]
    return tuple(words)
