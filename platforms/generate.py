"""Write a scenario or a system as a SimGrid platform file: ``gridval platform make --scenario grid3x9``."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from platforms.command.command import Command
from platforms.command.request import option
from platforms.files.writing import write_text
from platforms.grids.xml import platform_xml
from platforms.options import ScenarioOptions, grid_from_request, system_from_request
from platforms.system.convert import platform_file


@dataclass(frozen=True, kw_only=True)
class MakeRequest(ScenarioOptions):
    """Request of ``gridval platform make``."""

    output: str = option("-", "FILE", "file to write (default: -, standard output)")


def _run(request: MakeRequest) -> int:
    system = system_from_request(request) if request.frequency is None else None
    content = platform_xml(grid_from_request(request)) if system is None else platform_file(system)
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
