"""The machine engine behind a real Slurm, as the files in examples/machines describe it."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from apps.machines.machine_file import read_machine
from apps.machines.machine_platform import machine_platform
from apps.measuring.examine import faults
from apps.programs.problem import problem
from apps.runs.simulate import simulate
from apps.spec.settings import Settings
from apps.spec.target import Target
from tests.slurm import missing, running_slurm
from tests.waiting import until

pytestmark = [pytest.mark.machine, pytest.mark.skipif(missing() != "", reason=missing())]
EXAMPLES = Path(__file__).parents[3] / "examples" / "machines"
HOSTS = """
[[clusters]]
name = "all"
hosts = ["node[1-2]"]
cores = 2
gflops = 10

[network]
"""
# Both nodes are this computer: messages between them take the loopback, and waiting ranks leave the cores to others.
MCA = {
    "OMPI_MCA_btl": "self,vader,tcp",
    "OMPI_MCA_btl_tcp_if_include": "lo",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    with running_slurm(tmp_path_factory.mktemp("slurm") / "files") as file:
        yield file


@pytest.fixture(params=["slurm", "srun"])
def machine(request, slurm, tmp_path, monkeypatch):
    """The machine of an example with the nodes of the Slurm here."""
    monkeypatch.setenv("SLURM_CONF", str(slurm))
    text = (EXAMPLES / f"{request.param}.toml").read_text().replace("~/gridval", str(tmp_path / "shared"))
    text = re.sub(r"\[\[clusters\]\].*\[network\]\n", HOSTS, text, flags=re.DOTALL)
    text = text.replace("[limits]", "[environment]\n" + "".join(f'{k} = "{v}"\n' for k, v in MCA.items()) + "[limits]")
    path = tmp_path / f"{request.param}.toml"
    path.write_text(
        f'setup = ["export OMPI_MCA_btl_base_warn_component_unused=0"]\n{text}\n[slurm]\npartition = "all"\n'
    )
    return read_machine(path)


def queue():
    return subprocess.run(["squeue", "-h"], capture_output=True, text=True, check=True).stdout


def test_the_doctor_finds_no_fault(machine):
    assert faults(machine) == []


def test_a_kernel_runs_on_the_hosts_that_were_asked_for(machine):
    for hosts in (("node2",), ("node2", "node1", "node2")):
        target = Target(problem("ep", "S"), machine_platform(machine), hosts)
        record = simulate(Settings(machine=machine, repeats=1).spec(target))
        assert record.host == hosts and record.verified is True


def test_an_interrupt_ends_the_job(machine, tmp_path):
    source = tmp_path / "endless.c"
    source.write_text(
        "#include <mpi.h>\n#include <unistd.h>\n"
        "int main(int n, char **v) { MPI_Init(&n, &v); sleep(86396); MPI_Finalize(); return 0; }\n"
    )
    words = [
        sys.executable,
        "-m",
        "gridval",
        "program",
        "run",
        "--machine",
        str(machine.path),
        "--program",
        str(source),
        "--no-store",
    ]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as command:
        assert until(lambda: " R " in queue(), 60, every_s=0.1)
        command.send_signal(signal.SIGINT)
        _, said = command.communicate(timeout=60)
    assert command.returncode == 130 and said.startswith("interrupted")
    assert until(lambda: queue() == "", 60, every_s=0.1)
    processes = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert "/endless-" not in processes
