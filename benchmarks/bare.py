"""A ring program on bare SMPI, to measure the cost of messages without this project's code."""

import tempfile
from pathlib import Path

from apps.child.process import Finished, run_bounded
from apps.child.verdict import final_record
from apps.spec.target import Target
from platforms.simgrid.compiling import compile_once

SIZE_BYTES = 8000
_RING = Path(__file__).with_name("ring.c")


def run_ring(target: Target, messages_per_rank: int) -> Finished:
    """Run a ring in which every rank of the target sends messages of 8000 bytes to the next rank."""
    program = compile_once("ring", [_RING], compiler=["smpicc"], flags=["-O2"])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "hosts").write_text("".join(f"{host}\n" for host in target.placement))
        where = ["-hostfile", "hosts", "-platform", str(target.platform.path)]
        options = ["-no-privatize", "--cfg=smpi/simulate-computation:no"]
        command = ["smpirun", "-np", str(target.nranks), *where, *options, str(program)]
        done = run_bounded([*command, str(messages_per_rank), str(SIZE_BYTES)], folder=folder, time_limit_s=1800)
    final_record(done, "ring")  # raises an error if the run failed
    return done
