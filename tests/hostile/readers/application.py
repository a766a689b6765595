"""Applications described in blocks."""

from readers.common import file_of, seeds

from predictor.blocks.description import read_application

SEEDS = seeds("examples/blocks/*.toml", "apps/kernels/*/blocks.toml")
WORDS = (
    "[variables]", "[labels.a]", "count = ", "program = [", '{ compute = "n" }', '{ send_to = "a", bytes = 1 }',
    '{ receive_from = "a" }', '{ broadcast = 8 }', "{ scatter = 8 }", "{ gather = 8 }", "{ alltoall = 8 }",
    "{ barrier = true }", "{ read_disk = 8 }", "{ write_disk = 8 }", '{ repeat = 2, as = "i", do = [] }',
    '{ if = "n > 1", then = [], else = [] }', "among = ", "root = ", "at = ", "buffered = ", "index", "**", "9**9**9",
)  # fmt: skip


def read(content: bytes) -> None:
    read_application(file_of(content, ".toml"))
