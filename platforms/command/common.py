"""Options shared by many commands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from platforms.command.request import Request, option


@dataclass(frozen=True, kw_only=True)
class JsonOption(Request):
    """The option --json, which ``platforms.command.command.show`` follows."""

    json: bool = option(False, help="print everything as one JSON object, in SI units")


@dataclass(frozen=True, kw_only=True)
class WideOption(Request):
    """The option --wide, for tables (platforms/terminal/table.py)."""

    wide: bool = option(False, help="tables with all columns, wider than 80 characters")


@dataclass(frozen=True, kw_only=True)
class OutOption(Request):
    """The option --out, the folder of files with the results."""

    out_files: ClassVar[str] = "the results as CSV files"  # what is written there

    out: str | None = option(None, "DIR", lambda request: f"write {request.out_files} there")
