"""Files of machines: what they say, and what is refused in one line."""

import re
import subprocess
from pathlib import Path

import pytest

from apps.machines.launch import planned_launch
from apps.machines.machine_file import behind, read_machine, with_lines
from apps.machines.machine_platform import check_hosts, machine_platform
from platforms.errors import PlatformError
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise, read_routes

EXAMPLES = Path(__file__).parents[3] / "examples" / "machines"
WHOLE = """
name = "m"
[launcher]
command = ["mpirun", "-np", "{ranks}", "{program}"]
[compilers]
c = "mpicc"
[limits]
ranks = 4
[[clusters]]
name = "a"
hosts = ["n1"]
cores = 2
gflops = 5
[network]
bandwidth_gbit_s = 1
latency_us = 50
"""


@pytest.fixture
def written(tmp_path):
    def write(text):
        path = tmp_path / "m.toml"
        path.write_text(text)
        return path

    return write


def test_a_range_stands_for_its_hosts_with_leading_zeros():
    machine = read_machine(EXAMPLES / "slurm.toml")
    assert machine.hosts == (*(f"node{n:02}" for n in range(1, 17)), "fat1", "fat2")
    assert machine.launcher.script.startswith("#!/bin/sh\nsrun ")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("name =", "nmae =", "m.toml:2: unknown key 'nmae'. Did you mean name?"),
        ('"{program}"', '"program"', "m.toml:4, launcher: command has 0 words {program}"),
        ('"{program}"', '"{program}", "{program}"', "command has 2 words {program}"),
        ('"{program}"', '"{progam}"', "command has the unknown placeholder {progam}"),
        ('"{program}"', '"{program}", "{script}"', "command has {script}, but script is missing"),
        ('["mpirun", "-np", "{ranks}", "{program}"]', "[]", "command is empty"),
        ("[compilers]", 'script = "srun {program}"\n[compilers]', "command has no word {script}"),
        ("[compilers]", 'options = ["-v"]\n[compilers]', "neither command nor script has a word {options}"),
        ("[compilers]", 'cancel = ["scancel"]\n[compilers]', "m.toml:5, launcher: cancel has no {job}"),
        ('c = "mpicc"', 'c = ""', "m.toml:6, compilers: c is empty"),
        ("ranks = 4", "ranks = 0", "m.toml:8, limits: ranks = 0 is not positive"),
        ("[compilers]", "retry_status = 0\n[compilers]", "m.toml:5, launcher: retry_status = 0 is no exit status of "),
        ("[compilers]", "retry_status = 256\n[compilers]", "retry_status = 256 is no exit status of a failure"),
        ("ranks = 4", "wall_s = -1", "m.toml:8, limits: wall_s = -1 is not a positive number"),
        ("ranks = 4", "wall_s = inf", "wall_s = inf is not a positive number"),
        ('["n1"]', '["n1", "n1"]', "m.toml:11, clusters 1: hosts has 'n1' twice"),
        ('["n1"]', '["n 1"]', "m.toml:11, clusters 1: hosts has 'n 1', which is no host name"),
        ('["n1"]', '["n[5-2]"]', "hosts has the range 'n[5-2]'"),
        ("cores = 2", "cores = 1.5", "m.toml:12, clusters 1: cores = 1.5 is not a whole number"),
        ("gflops = 5", "", "m.toml:9, clusters 1: 'gflops' is missing"),
        ("latency_us = 50", "latency_us = -1", "m.toml:16, network: latency_us = -1 is not a latency"),
        ("[network]\nbandwidth_gbit_s = 1\nlatency_us = 50", "", "m.toml: 'network' is missing"),
        ("[limits]", '[environment]\nLD_PRELOAD = "x.so"\n[limits]', "m.toml:7, environment: LD_PRELOAD is set by"),
        ('name = "m"', 'name = "m"\npreload = ["pace.so"]', "m.toml:3: preload has 'pace.so'"),
        ('name = "m"', 'name = "m"\nfolder = "here"', "m.toml:3: folder = 'here' is not an absolute name"),
        ("[[clusters]]", '[[clusters]]\nname = "b"\nhosts = ["n1"]\ngflops = 1\n[[clusters]]', "host 'n1' is in"),
    ],
)  # fmt: skip
def test_a_bad_value_is_refused_with_its_file_and_key(written, old, new, said):
    assert old in WHOLE
    with pytest.raises(PlatformError) as caught:
        read_machine(written(WHOLE.replace(old, new)))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_cannot_change_a_time_is_no_part_of_the_identity(written):
    same = WHOLE.replace("ranks = 4", "ranks = 8").replace("gflops = 5", "gflops = 6")
    other = WHOLE.replace('"-np"', '"-n"')
    first, second, third = (read_machine(written(text)).content_hash for text in (WHOLE, same, other))
    assert first == second != third


def test_the_platform_has_the_machines_hosts_and_its_nominal_network():
    machine = read_machine(EXAMPLES / "slurm.toml")
    platform = machine_platform(machine)
    assert [(one.name, len(one.hosts), one.cores, one.speed_flops) for one in platform.clusters] == [
        ("thin", 16, 16, 35e9),
        ("fat", 2, 32, 30e9),
    ]
    near, far = read_routes(platform, [("node01", "node02"), ("node16", "fat1")])
    assert (near.latency_s, near.bandwidth_Bps) == pytest.approx((1.5e-6, 12.5e9))
    assert (far.latency_s, far.bandwidth_Bps) == pytest.approx((20e-6, 1.25e9))
    assert block(platform, 4) == ("node01", "node02", "fat1", "fat2")


def test_a_platform_with_other_host_names_is_refused():
    with pytest.raises(PlatformError, match="has no host 'node01' and 17 more of machine slurm-cluster"):
        check_hosts(read_machine(EXAMPLES / "slurm.toml"), materialise(named_grid("grid4x2")))


SLURM = """
setup = ["module load mpi/4", "export UCX_NET_DEVICES=mlx5_0:1"]
[slurm]
account = "p1"
partition = "fast"
constraint = "skylake"
"""


def test_keys_of_slurm_become_options_and_set_up_lines_precede_every_tool(written):
    text = WHOLE.replace('command = ["mpirun", "-np"', 'command = ["srun", "{slurm}", "--ntasks"')
    setup, _, slurm = SLURM.partition("[slurm]")
    machine = read_machine(written(f"{setup}{text}[slurm]{slurm}"))
    planned = planned_launch(machine, ["/bin/program"], ["n1"])
    assert planned.command[1:] == (
        "--account=p1", "--partition=fast", "--constraint=skylake", "--ntasks", "1", "/bin/program",
    )  # fmt: skip
    for tool, name in ((planned.command[0], "srun"), (machine.compilers.c, "mpicc")):
        script = Path(tool).read_text()
        assert script.splitlines() == [
            "#!/bin/bash -l", *(f"{line} || exit $(($? == 127 ? 1 : $?))" for line in machine.setup),
            f'exec {name} "$@"',
        ]  # fmt: skip
        assert Path(tool).name == name
    assert machine.content_hash != read_machine(written(text.replace('"{slurm}", ', ""))).content_hash


def test_set_up_lines_are_run_before_the_tool():
    tool = behind(["export GRIDVAL_SAID=loaded"], "sh")
    done = subprocess.run([tool, "-c", "echo $GRIDVAL_SAID"], capture_output=True, text=True, check=True)
    assert done.stdout == "loaded\n"
    failed = subprocess.run([behind(["exit 3"], "sh"), "-c", "true"], capture_output=True, check=False)
    assert failed.returncode == 3
    # 127 would say that the compiler is missing, which a package would mend.
    failed = subprocess.run([behind(["no-such-module load mpi"], "sh")], capture_output=True, text=True, check=False)
    assert (failed.returncode, "no-such-module" in failed.stderr) == (1, True)


def test_set_up_lines_stand_before_the_first_command_of_a_batch_script():
    script = "#!/bin/sh\n#SBATCH --mem=0\nsrun {program}\n"
    assert with_lines(script, ["module load mpi"]) == "#!/bin/sh\n#SBATCH --mem=0\nmodule load mpi\nsrun {program}\n"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            ('c = "mpicc"', 'c = "module load openmpi mpicc"'),
            "has several words. Name the compiler alone; lines such as",
        ),
        (("[limits]", '[slurm]\naccount = "a"\n[limits]'), "neither command nor script has a word {slurm}"),
        (("[limits]", '[slurm]\naccount = "a b"\n[limits]'), "account = 'a b' is no word"),
        (('name = "m"', 'name = "m"\nsetup = [""]'), "setup has the line ''"),
    ],
)
def test_wrong_keys_of_slurm_and_set_up_are_refused(written, change, said):
    with pytest.raises(PlatformError, match=re.escape(said)):
        read_machine(written(WHOLE.replace(*change)))


def test_ranks_that_do_not_fit_say_how_many_each_host_takes():
    machine = read_machine(EXAMPLES / "srun.toml")
    with pytest.raises(
        PlatformError, match=r"16 hosts with 1 each. Give at most 16 ranks, or up to 16 on each host \(--ra"
    ):
        block(machine_platform(machine), nranks=64)
