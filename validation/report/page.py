"""The report as a self-contained HTML page."""

from __future__ import annotations

import base64
import hashlib
import shlex
from importlib.resources import files
from typing import Any

import pandas as pd

from validation.comparison.metrics import summarise
from validation.presentation.tables import truth_name
from validation.report import errors, pictures
from validation.report.answers import answers_table, coverage_table, iterations_sentences
from validation.report.facts import GLOSSARY, platform_pictures, settings_facts, version_facts
from validation.report.gather import Gathered
from validation.report.lede import lede, title
from validation.report.pictures import Picture
from validation.report.runs import platform_files, repeated
from validation.report.sections import Progress, Section, providers

_TEMPLATES = "validation.report", "templates"


def page(gathered: Gathered, *, progress: Progress) -> str:
    """Return the HTML of a report; this records timelines, unless the validation was interrupted."""
    # Imported here because it is slow to import.
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(*_TEMPLATES), autoescape=True, trim_blocks=True, lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )  # fmt: skip
    return environment.get_template("page.html.j2").render(**_context(gathered, progress))


def _context(gathered: Gathered, progress: Progress) -> dict[str, Any]:
    scripts = (provider.script() for provider in providers())
    style, script = resource("style.css"), "".join((resource("script.js"), *scripts))
    common = {
        "style": style,
        "script": script,
        "script_hash": base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        "invocation": gathered.invocation,
        "command": shlex.join(gathered.invocation.command),
        "interrupted": gathered.interrupted,
        "glossary": GLOSSARY,
        "versions": [] if gathered.kept else version_facts(),
        "kept": gathered.kept,
        "links": gathered.links,
        "settings": settings_facts(gathered.settings),
        "failures": errors.failures_table(gathered),
        "run_cautions": gathered.run_cautions,
    }
    if not gathered.rows:
        empty = dict.fromkeys(("lede", "sections", "files", "repeated", "cautions", "about_times"), ())
        nothing = dict.fromkeys(("refusals", "summary", "results", "regimes", "coverage", "answers", "first_picture"))
        return {**common, **empty, **nothing, "title": "No results", "more_files": 0, "more_runs": 0}
    results = gathered.results
    summary = summarise(results)
    cautions = errors.cautions(gathered)
    progress("drawing")
    sections = _sections(gathered, results, progress)
    first = _first_picture(sections)
    known_files, more_files = platform_files(gathered)
    listed, more_runs = repeated(gathered.runs, known_files)
    return {
        **common,
        "title": title(results),
        "lede": lede(gathered, results, summary),
        "answers": answers_table(gathered),
        "about_times": [*iterations_sentences(gathered), *errors.energy_sentences(gathered)],
        "first_picture": first,
        "summary": errors.summary_table(summary, results, energy=gathered.invocation.energy),
        "results": errors.results_table(gathered, cautions),
        "cautions": cautions,
        "refusals": errors.refusals_table(gathered),
        "coverage": coverage_table(results),
        "regimes": results["range_low_pct"].notna().any(),
        "sections": sections,
        "predictions": gathered.answered,
        "files": list(known_files.values()),
        "more_files": more_files,
        "repeated": listed,
        "more_runs": more_runs,
    }


def _first_picture(sections: list[Section]) -> Picture | None:
    """Take the picture for the top of the page out of its section, which goes if nothing is left of it.

    It shows what predictions and truths consist of if one picture holds all targets, else their accuracy.
    """
    by_name = {section.name: section for section in sections}
    for name in ("parts", "scatter"):
        section = by_name.get(name)
        if section is None or len(section.pictures) != 1:
            continue
        picture = section.pictures.pop()
        if not (section.text or section.tables or section.notes):
            sections.remove(section)
        return picture
    return None


def resource(name: str) -> str:
    """Return the text of a file of the templates."""
    package, folder = _TEMPLATES
    return files(package).joinpath(folder, name).read_text("utf-8")


def _sections(gathered: Gathered, results: pd.DataFrame, progress: Progress) -> list[Section]:
    truth = truth_name(results["truth"])
    times = pictures.times_pictures(results, energy=gathered.invocation.energy)
    share = Section("share", "Error by share of computation").take(pictures.share_pictures(results))
    if not share.pictures:
        share.notes.append(f"The share of computation is unknown: the truth was {truth}, or there is no answer.")
    of_rows = [
        Section("times", f"Predicted against {truth}").take(times),
        Section("scatter", "Accuracy").take(pictures.scatter_pictures(results)),
        share,
    ]
    costs = Section("costs", "Costs of the predictions", tables=[errors.costs_table(gathered)])
    added = [made for provider in providers() for made in provider.sections(gathered, results, progress)]
    if gathered.kept:
        return [*of_rows, *added, costs]
    return [
        Section("targets", "Targets", tables=[errors.targets_table(gathered)]),
        *of_rows,
        Section("parts", "Computation and communication").take(pictures.parts_pictures(gathered)),
        Section("platforms", "Platforms").take(platform_pictures(gathered)),
        *added,
        costs,
    ]
