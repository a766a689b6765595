"""A ring program on bare SMPI: what messages cost without any of our code."""

import tempfile
from pathlib import Path

from apps.process import Finished, run_bounded
from apps.spec import Target
from apps.verdict import final_record
from platforms.compiling import compile_once

SIZE_BYTES = 8000
_RING = Path(__file__).with_name("ring.c")


def run_ring(target: Target, messages_per_rank: int) -> Finished:
    """Every rank of the target sends so many messages of 8000 bytes to the next one."""
    program = compile_once("ring", [_RING], compiler=["smpicc"], flags=["-O2"])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "hosts").write_text("".join(f"{host}\n" for host in target.placement))
        where = ["-hostfile", "hosts", "-platform", str(target.platform.path)]
        options = ["-no-privatize", "--cfg=smpi/simulate-computation:no"]
        command = ["smpirun", "-np", str(target.nranks), *where, *options, str(program)]
        done = run_bounded([*command, str(messages_per_rank), str(SIZE_BYTES)], folder=folder, time_limit_s=1800)
    final_record(done, "ring")  # raises if it did not succeed
    return done
