"""Measured runs of a cluster."""

from readers.common import file_of, seeds

from validation.measured.runs import read_runs

SEEDS = seeds("examples/real/npb-raspberry-pi.csv")
WORDS = ("app,class,ranks,nodes,time_s", "cg,", "C", ",16,", "nan", "inf", "1e999", "-1", "9" * 30, '"', ",", "\0")


def read(content: bytes) -> None:
    read_runs(str(file_of(content, ".csv")))
