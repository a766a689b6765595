"""Campaign files: of validation, of choices, of the hierarchical model's machines."""

from contextlib import suppress
from unittest.mock import patch

from readers.common import file_of, platform_of, seeds

from platforms.errors import UserError
from platforms.read import read as platforms_read
from predictor.hierarchical.multicore_cluster import read_cluster
from validation.campaign import read_campaign
from validation.nodes.campaign_file import read_allocation_campaign

SEEDS = seeds(*(f"tests/hostile/corpus/{name}*.toml" for name in ("campaign", "allocation", "machine")))
WORDS = (
    "scenarios = ", '["all"]', "platforms = ", "clusters = ", "networks = ", "apps = ", "classes = ", "mappings = ",
    "ranks = ", "ranks_per_host = ", "efficiencies = ", "predictors = ", "iterations = ", "compute = ", "[random]",
    "count = ", "seed = ", "nodes = ", "speed_gflops = ", "bandwidth_gbit_s = ", "wan_latency_ms = ", "[[studies]]",
    "[[studies.models]]", "construction = ", "evaluation = ", "processes = ", "params = ", "static = ", "noise = ",
    "glitches = ", "largest = ", "drop = ", "weights = ", "fit = ", "form = ", "core_gflops = ", "memory_gbyte_s = ",
    "network_gbyte_s = ", "cores_per_node = ", "batch = ", "inf", "nan", "-1", "1e999", '"(4,1,0,0,0,0)"', "true",
)  # fmt: skip


def read(content: bytes) -> None:
    path = file_of(content, ".toml")
    with suppress(UserError):
        read_cluster(str(path))
    with patch.object(platforms_read, "materialise", platform_of):
        with suppress(UserError):
            read_campaign(path).plan()
        read_allocation_campaign(path)
