"""Measured point-to-point times: CSV, and the output of OSU, IMB and NetPIPE."""

from readers.common import file_of, seeds

from apps.calibrate.readers import measured_of, read_samples

SEEDS = seeds("tests/apps/data/calibration/*")
WORDS = (
    "cluster,call,size_bytes,time_s", "pingpong,", "send", "MPI_Send,", "MPI_Recv,", "# OSU MPI Latency Test",
    "# Size Latency (us)", "# Benchmarking PingPong", "#bytes #repetitions t[usec] Mbytes/sec", "times -->", "Mbps in",
    "usec", "nan", "inf", "1e999", "-1", "9" * 30, '"', ",", "\0",
)  # fmt: skip


def read(content: bytes) -> None:
    path = str(file_of(content, ".txt"))
    measured_of(read_samples([path], "a"), path)
