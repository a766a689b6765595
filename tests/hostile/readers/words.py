"""Host files, and the texts that options take."""

from contextlib import suppress

from readers.common import file_of, platform_of, seeds

from apps.catalog import Problem, app_names, sized_problem
from apps.options import parse_parameters
from apps.spec import parse_iterations, parse_memory_bus, parse_options, resolve_efficiency
from apps.user_program import _split
from platforms.clusters import parse_clusters, regroup
from platforms.errors import UserError
from platforms.frequency import parse_frequency
from platforms.options import _speeds_flops
from platforms.placement import read_host_file
from platforms.scenario import named_grid, with_frequencies
from platforms.system.cli import counts_of
from predictor.npt.configuration import Configuration

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
        lambda: [sized_problem(name, 8, **parse_parameters(text.split("\n"))) for name in app_names()],
        lambda: parse_iterations(text),
        lambda: parse_memory_bus(text),
        lambda: resolve_efficiency(text, Problem("cg")),
        lambda: named_grid(text),
        lambda: named_grid("grid3x9", None, _speeds_flops(text)),
        lambda: counts_of(text.split("\n")),
        lambda: _split(text, any_word=False),
        lambda: _round_trip(text),
    )
    for attempt in attempts:
        with suppress(UserError):
            attempt()


def _round_trip(text: str) -> None:
    configuration = Configuration.parse(text)
    assert Configuration.parse(str(configuration)) == configuration
