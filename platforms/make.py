"""Write a scenario or a system as a SimGrid platform file: ``gridval platform make --scenario grid3x9``."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from platforms.command.command import Command
from platforms.command.request import option
from platforms.files.writing import write_text
from platforms.options import ScenarioOptions, platform_file_from_request


@dataclass(frozen=True, kw_only=True)
class MakeRequest(ScenarioOptions):
    """Request of ``gridval platform make``."""

    output: str = option("-", "FILE", "file to write (default: -, standard output)")


def _run(request: MakeRequest) -> int:
    content = platform_file_from_request(request)
    if request.output == "-":
        sys.stdout.write(content.decode())
    else:
        write_text("--output", request.output, content.decode())
    return 0


COMMAND = Command(
    "platform make",
    MakeRequest,
    _run,
    __doc__.partition(":")[0] + ".",
)
main = COMMAND.main
