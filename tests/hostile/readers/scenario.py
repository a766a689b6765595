"""Scenario files, and the platform files that are written for them."""

from readers.common import file_of, seeds

from platforms.grids.scenario import read_grid, with_frequencies
from platforms.grids.xml import platform_xml
from platforms.read.xml_check import check_platform_xml

SEEDS = seeds("tests/hostile/corpus/scenario*.toml", "examples/two-sites.toml")
WORDS = (
    "[[clusters]]", "nodes = ", "speed_gflops = ", "cores = ", "node = { bandwidth_gbit_s = 1 }", "latency_us",
    "[wan]", 'shape = "star"', "[[wan.links]]", 'between = ["c1", "c2"]', 'cluster = "c1"', "duplex = true",
    "[options]", "frequencies = { max_ghz = 2, min_ghz = 1, step_ghz = 0.1 }", "power = { idle_w = 1, full_w = 2 }",
    "memory_gbyte_s", "inf", "nan", "-1", "0", "1e999", "9223372036854775807", "0xffffffff", "''", '"../x"',
    '"\\u0000"', "[[", "{",
)  # fmt: skip


def read(content: bytes) -> None:
    grid = read_grid(file_of(content, ".toml"))
    if sum(cluster.nodes for cluster in grid.clusters) < 5000:
        written = platform_xml(grid)
        assert check_platform_xml(file_of(written, ".xml")) == list(grid.options)
    with_frequencies(grid)
