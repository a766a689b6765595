"""Design files: available hardware and the programs to run on it."""

from readers.common import file_of, seeds

from predictor.grid.request import read_request

SEEDS = seeds("examples/grid-design.toml")
WORDS = (
    "budget = ", "[[nodes]]", "[[networks]]", "[[programs]]", "[clusters]", "price = ", "most = ", "sizes = ",
    "step = ", "most_nodes = ", "least = ", "app = ", "class = ", "size = ", "params = { niter = 1 }", "weight = ",
    "cores = ", "ranks_per_node = ", "node_port_price = ", "wan = { shape = 'star' }", "inf", "nan", "-1", "1e999",
    "true",
)  # fmt: skip


def read(content: bytes) -> None:
    read_request(file_of(content, ".toml"))
