"""Host files, and values of options."""

from contextlib import suppress

from readers.common import file_of, platform_of, seeds

from apps.options.programs import parse_parameters
from apps.programs.kernel import kernel_names
from apps.programs.own_program import read_program
from apps.programs.problem import Problem, sized_problem
from apps.spec.engine_options import parse_options
from apps.spec.settings import parse_iterations, parse_memory_bus, resolve_efficiency
from platforms.command.values import request_of
from platforms.errors import UserError
from platforms.grids.scenario import named_grid, with_frequencies
from platforms.model.frequency import parse_frequency
from platforms.model.placement import read_host_file
from platforms.options import ScenarioOptions, grid_from_request
from platforms.read.clusters import parse_clusters, regroup
from platforms.system.cli import counts_of
from predictor.allocation.configuration import Configuration

SEEDS = seeds("tests/hostile/corpus/words*.txt")
WORDS = (
    "c1-0", "c1-1:3", "c1=*", "-=*", "min", "max", "1.2", "grid3x9", "li-1", "(4,1)", "=", ":", ",", "#", "٣",
    "1e999",
)  # fmt: skip
GRID = with_frequencies(named_grid("grid4x2"))
PLATFORM = platform_of(GRID)
CLUSTERS = [(one.name, one.frequencies) for one in GRID.clusters if one.frequencies is not None]


def read(content: bytes) -> None:
    text = content.decode("utf-8", "replace")
    attempts = (
        lambda: read_host_file(file_of(content, ".hosts"), PLATFORM),
        lambda: regroup(PLATFORM, parse_clusters(text)),
        lambda: parse_frequency(text, CLUSTERS),
        lambda: parse_options(text.split("\n")),
        lambda: [sized_problem(name, 8, **parse_parameters(text.split("\n"))) for name in kernel_names()],
        lambda: parse_iterations(text),
        lambda: parse_memory_bus(text),
        lambda: resolve_efficiency(text, Problem("cg")),
        lambda: named_grid(text),
        lambda: grid_from_request(request_of(ScenarioOptions, {"scenario": "grid3x9", "speeds": text})),
        lambda: counts_of(text.split("\n")),
        lambda: read_program(file_of(b"int main(void) { return 0; }", ".c"), text),
        lambda: _round_trip(text),
    )
    for attempt in attempts:
        with suppress(UserError):
            attempt()


def _round_trip(text: str) -> None:
    configuration = Configuration.parse(text)
    assert Configuration.parse(str(configuration)) == configuration
