"""A machine that is this computer under three names, for tests of several packages."""

import os
import shutil
import subprocess

import pytest

NO_MPI = "there is no mpirun of Open MPI here: apt-get install openmpi-bin libopenmpi-dev"

# Open MPI calls this in place of ssh.  Each host is a namespace of host names, on the same network and file system.
AGENT = """#!/bin/sh
host=$1; shift
exec unshare -u sh -c 'hostname "$0"; exec sh -c "$1"' "$host" "$*"
"""
NAMED = """
name = "named"
[launcher]
command = ["mpirun", "-np", "{ranks}", "--hostfile", "{hostfile}", "--map-by", "seq", "--bind-to", "none", "--mca",
    "plm_rsh_agent", "AGENT", "--mca", "btl", "self,tcp", "--mca", "btl_tcp_if_include", "lo", "--mca",
    "mpi_yield_when_idle", "1", "{program}"]
[limits]
wall_s = 60
[[clusters]]
name = "left"
hosts = ["left[1-2]"]
cores = 2
gflops = 10
[[clusters]]
name = "right"
hosts = ["right1"]
cores = 4
gflops = 20
[network]
bandwidth_gbit_s = 1
latency_us = 50
"""


def open_mpi():
    """Return whether mpirun is Open MPI's."""
    if shutil.which("mpirun") is None:
        return False
    return b"Open MPI" in subprocess.run(["mpirun", "--version"], capture_output=True, check=False).stdout


@pytest.fixture
def named_file(tmp_path):
    """The file of a machine with hosts left1, left2 and right1, which are all this computer."""
    if not open_mpi():
        pytest.skip(NO_MPI)
    if os.geteuid() != 0 or subprocess.run(["unshare", "-u", "true"], check=False).returncode != 0:
        pytest.skip("only root can give this computer other host names (unshare -u)")
    agent = tmp_path / "agent.sh"
    agent.write_text(AGENT)
    agent.chmod(0o755)
    path = tmp_path / "named.toml"
    path.write_text(NAMED.replace("AGENT", str(agent)))
    return path
