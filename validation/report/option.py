"""Option --report FILE.html."""

from __future__ import annotations

from dataclasses import dataclass

from apps.results.cautions import Cautions
from platforms.command.request import Request, option
from platforms.command.values import words_of
from platforms.options import ScenarioOptions
from validation.report.gather import Invocation
from validation.report.reporter import Reporter


@dataclass(frozen=True, kw_only=True)
class ReportOption(Request):
    """The option --report, which ``reporter_from_request`` reads."""

    report: str | None = option(
        None,
        "FILE.html",
        "write an HTML page with tables, figures, settings, versions, costs and the commands to repeat the runs; it "
        "needs no network (docs/validation/campaigns.md)",
    )


def reporter_from_request(
    request: ReportOption,
    *,
    verb: str,
    truth: str | None = None,
    energy: bool = False,
    file: tuple[str, str] | None = None,
    cautions: Cautions | None = None,
) -> Reporter:
    """Return a reporter that writes the file of the option, or nothing without the option.

    Args:
        request: What was asked.
        verb: The command's name after ``gridval``.
        truth: File of measured times.
        energy: Show energies.
        file: Name and text of a campaign file.
        cautions: The cautions about the runs.

    Raises:
        UserError: The page cannot be written.
    """
    invocation = Invocation(
        command=("gridval", *verb.split(), *words_of(request)),
        file=file,
        truth=truth,
        energy=energy,
        platform_words=platform_words(request),
    )
    return Reporter(request.report, invocation, cautions)


def platform_words(request: Request) -> tuple[str, ...]:
    """Return the options of ``gridval platform make`` that describe the only platform; empty if there are several."""
    if not isinstance(request, ScenarioOptions) or request.scenario in (None, "all"):
        return ()
    return tuple(words_of(request, ScenarioOptions))
