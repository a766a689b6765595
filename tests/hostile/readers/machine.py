"""Files of real machines."""

from readers.common import file_of, seeds

from apps.machines.machine_file import read_machine

SEEDS = seeds("examples/machines/*.toml")
WORDS = (
    "name = ", "folder = ", "preload = ", "[launcher]", "command = ", "options = ", "script = ", "cancel = ",
    "version = ", "[compilers]", "c = ", "flags = ", "[environment]", "[limits]", "wall_s = ", "ranks = ",
    "[[clusters]]", "hosts = ", "cores = ", "gflops = ", "[network]", "bandwidth_gbit_s = ", "latency_us = ",
    '["{program}"]', "{hostfile}", "{script}", "{job}", "node[01-16]", "node[0-999999]", "~nobody/x", "$HOME", "inf",
    "nan", "-1", "1e999", '"""',
)  # fmt: skip


def read(content: bytes) -> None:
    read_machine(file_of(content, ".toml"))
