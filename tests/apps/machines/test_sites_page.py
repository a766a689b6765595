"""The machine files of sites on docs/programs/machines.md: what they would start."""

import re
from pathlib import Path

from apps.machines.launch import planned_launch
from apps.machines.machine_file import read_machine

PAGE = Path(__file__).parents[3] / "docs" / "programs" / "machines.md"


def blocks():
    return re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)


def planned(tmp_path, monkeypatch, block):
    file = tmp_path / "m.toml"
    file.write_text(block.replace("/projects/p1/gridval", str(tmp_path)))
    monkeypatch.setattr("apps.machines.launch.find_launcher", lambda _: None)
    machine = read_machine(file)
    return machine, planned_launch(machine, ["/bin/program", "7"], ["n1", "n2"]).command


def test_a_site_with_modules_gets_its_options_and_variables(tmp_path, monkeypatch):
    machine, command = planned(tmp_path, monkeypatch, blocks()[1])
    assert Path(command[0]).read_text().endswith('exec srun "$@"\n')
    assert command[1:] == (
        "--account=project", "--partition=standard", "--constraint=skylake", "--ntasks=2", "--distribution=arbitrary",
        "--nodelist=FOLDER/hosts", "/usr/bin/env", "OMPI_MCA_pml=ucx", "UCX_NET_DEVICES=mlx5_0:1", "/bin/program", "7",
    )  # fmt: skip
    assert machine.setup[0] == "module load gcc openmpi/4.1"


def test_a_container_starts_inside_the_launcher_with_its_variables(tmp_path, monkeypatch):
    machine, command = planned(tmp_path, monkeypatch, blocks()[2])
    assert command == (
        "srun", "--ntasks=2", "--distribution=arbitrary", "--nodelist=FOLDER/hosts", "--mpi=pmix", "apptainer", "exec",
        "--bind", "/projects/p1", "/projects/p1/image.sif", "/usr/bin/env", "OMPI_MCA_pml=ucx", "/bin/program", "7",
    )  # fmt: skip
    assert machine.compilers.c == "/projects/p1/mpicc-in-image"
