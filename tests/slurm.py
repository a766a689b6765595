"""A real Slurm on this computer, for tests: a controller and two nodes, which are namespaces of host names."""

import os
import shutil
import signal
import socket
import subprocess
import time
from contextlib import contextmanager

import pytest

PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sbatch", "scancel", "sinfo", "unshare")
NODES = ("node1", "node2")
WAIT_S = 60

CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
SlurmctldPort={ports[0]}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
TmpFS={folder}/%n.tmp
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
ReturnToService=2
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0
KillWait=2
NodeName=node1 NodeAddr=127.0.0.1 Port={ports[1]} CPUs=2 State=UNKNOWN
NodeName=node2 NodeAddr=127.0.0.1 Port={ports[2]} CPUs=2 State=UNKNOWN
PartitionName=all Nodes=node1,node2 Default=YES MaxTime=INFINITE State=UP
"""


def missing():
    """Return why there can be no Slurm here; empty if there can."""
    if os.geteuid() != 0:
        return "only root can start a Slurm of its own"
    absent = [name for name in PROGRAMS if shutil.which(name) is None]
    return f"no {absent[0]} here: apt-get install slurmctld slurmd slurm-client munge" if absent else ""


def _free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


@contextmanager
def running_slurm(folder):
    """Start a Slurm whose files are in a folder, and end it with everything that it has started.

    Yields the path of its configuration, for the variable SLURM_CONF.
    """
    folder.mkdir()
    folder.chmod(0o755)
    for name in ("state", *(f"{node}.tmp" for node in NODES)):
        (folder / name).mkdir()
    key = folder / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o600)
    file = folder / "slurm.conf"
    file.write_text(CONFIGURATION.format(host=socket.gethostname(), folder=folder, ports=_free_ports(3)))
    environment = {**os.environ, "SLURM_CONF": str(file)}
    commands = [
        ["munged", "--foreground", "--force", f"--key-file={key}", f"--socket={folder}/munge.socket",
         f"--pid-file={folder}/munged.pid", f"--log-file={folder}/munged.log", f"--seed-file={folder}/munged.seed"],
        ["slurmctld", "-D"],
        *(["unshare", "-u", "sh", "-c", f"hostname {node}; exec slurmd -D"] for node in NODES),
    ]  # fmt: skip
    daemons = []
    try:
        for number, command in enumerate(commands):
            log = (folder / f"daemon{number}").open("w")
            daemons.append(
                subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                 start_new_session=True)
            )  # fmt: skip
            time.sleep(0.5)
        _wait_for_nodes(environment, daemons, folder)
        yield file
    finally:
        subprocess.run(["scancel", "--user=root"], env=environment, capture_output=True, check=False)
        for daemon in reversed(daemons):
            daemon.send_signal(signal.SIGTERM)
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()


def _wait_for_nodes(environment, daemons, folder):
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        shown = subprocess.run(["sinfo", "-h", "-N", "-o", "%N %T"], env=environment, capture_output=True, text=True,
                              check=False).stdout  # fmt: skip
        if sorted(shown.split("\n")[:-1]) == [f"{node} idle" for node in NODES]:
            return
        if any(one.poll() is not None for one in daemons):
            break
        time.sleep(0.3)
    logs = "\n".join(path.read_text() for path in sorted(folder.glob("daemon*")))
    pytest.skip(f"Slurm does not start here: {logs[-500:]}")
