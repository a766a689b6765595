"""Test that every command repeats its results to the byte with a stopped clock (docs/validation/faults.md)."""

import shlex
from pathlib import Path

import pytest

EXAMPLES = str(Path(__file__).parents[2] / "examples")

CAMPAIGN = """
scenarios = ["grid4x2", "grid3x9"]
apps = ["mg", "ep"]
classes = ["S"]
mappings = ["block", "cyclic"]
predictors = ["hcf", "hcf:constant", "dpgraph:known"]
[random]
count = 1
seed = 7
nodes = [2, 4]
"""
ALLOCATION = """
scenario = "ichikawa"
seeds = 2
[[studies]]
app = "himeno"
construction = [8, 10, 12, 14, 16, 18]
evaluation = [12, 40]
nodes = [4, 4, 0]
processes = [1, 1, 0]
params = { niter = 5 }
predictors = ["hcf"]
static = ["(1,1,0,0,0,0)"]
[[studies.models]]
weights = "absolute"
noise = [0, 0.02]
"""
DESIGN = """
budget = 4000
[[nodes]]
name = "slow"
speed_gflops = 40
price = 400
[[nodes]]
name = "fast"
speed_gflops = 70
price = 650
[[networks]]
name = "gigabit"
wan_link_price = 100
[clusters]
most = 2
sizes = [2, 4]
[[programs]]
app = "cg"
class = "S"
"""
FREQUENCIES = (
    "[[clusters]]\nnodes = 2\nspeed_gflops = 70\nfrequencies = { max_ghz = 3.0, min_ghz = 1.0, step_ghz = 1.0 }\n"
)
FILES = {"campaign.toml": CAMPAIGN, "allocation.toml": ALLOCATION, "design.toml": DESIGN, "two.toml": FREQUENCIES}

# {store}, {files} and {examples} are folders.  With {out}, all files that a command writes are compared, otherwise its
# standard output.
COMMANDS = {
    "run": "validation.run --scenario grid4x2 --class S --app cg,mg,lu,ft --predictor all --out {out} --store {store}",
    "run-json": "validation.run --scenario grid4x2 --class S --app is --energy --json --store {store}",
    "run-user": "validation.run --scenario grid4x2 --program {examples}/jacobi/jacobi.c "
    "--program-args '400 {iterations} charged' --program-iterations 40 --predictor hcf,dpgraph --out {out} "
    "--store {store}",
    "run-s4u": "validation.run --scenario grid4x2 --class S --app cg --engine s4u --out {out} --store {store}",
    "campaign": "validation.campaign {files}/campaign.toml --out {out} --store {store}",
    "league": "validation.league --scenario grid3x2 --speeds 40,55,70 --app mg --class S --predictor "
    "hcf,dpgraph:known,structural --out {out} --store {store}",
    "regimes": "validation.map --scenario grid4x2 --app cg --class S --network-scales 100,1e4 --efficiency-scales "
    "1,0.316 --random 2 --out {out} --store {store}",
    "validation-optimize": "validation.nodes {files}/allocation.toml --out {out} --store {store}",
    "predictor-optimize": "predictor.nodes --scenario ichikawa --app himeno --size 40 --predictor hcf --nodes 3,2,0 "
    "--processes 1,1,0 --json --store {store}",
    "design": "predictor.grid {files}/design.toml --json --store {store}",
    "reliability": "validation.failures --runs 300 --simulations 6 --json",
    "frequency": "validation.clock --scenario {files}/two.toml --network infiniband --app mg --class S --predictor "
    "dpgraph:known --time-limit 1.3 --out {out} --store {store}",
    "graph": "validation.graph --scenario grid4x2 --app is --class S --what-if 2 --times measured --rows 2 --json "
    "--store {store}",
    "blocks": "validation.blocks {examples}/blocks/master-slave.toml --system grid4x8 --vary slave1=1,3 --json "
    "--store {store}",
    "hierarchical": "validation.cores --system bwUniCluster --app hpl --n 4000 --cores 1,4 "
    "--nodes 1,4 --json --store {store}",
    "sendmodes": "validation.modes --out {out} --store {store}",
    "check": "predictor.check hcf fit:amdahl dpgraph:known --json --store {store}",
    "calibration": "predictor.blocks calibrate --scenario grid4x2 --json --store {store}",
}


def contents(made):
    """Return the contents of the files that a command has written, by file name, or its standard output."""
    if isinstance(made, bytes):
        return {"standard output": made}
    found = {str(path.relative_to(made)): path.read_bytes() for path in sorted(made.rglob("*")) if path.is_file()}
    assert found
    return found


@pytest.fixture
def files(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def words(command, **folders):
    for name, folder in {**folders, "examples": EXAMPLES}.items():
        command = command.replace(f"{{{name}}}", str(folder))
    module, *arguments = shlex.split(command)
    return module, arguments


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_gives_the_same_bytes(name, repeat, plain, other, files, tmp_path):
    def run(circumstances, store):
        return contents(repeat(circumstances, *words(COMMANDS[name], files=files, store=tmp_path / store)))

    first = run(plain, "first")
    for circumstances, store in ((other, "second"), (other, "first"), (plain, "second")):
        again = run(circumstances, store)
        assert again.keys() == first.keys()
        assert [file for file in first if again[file] != first[file]] == []


@pytest.mark.slow
def test_a_report_is_the_same_page(repeat, plain, other, tmp_path):
    """The page shows the command; therefore both runs write the same file from the same store."""
    page, store = tmp_path / "page.html", tmp_path / "store"
    command = (
        f"validation.run --scenario grid4x2 --class S --app cg,mg --jobs 2 --report {page} --store {store} --predictor"
    )
    module, arguments = words(f"{command} hcf,hcf:constant,dpgraph:known,structural")

    def made(circumstances):
        repeat(type(circumstances)(circumstances.variables, circumstances.folder), module, arguments)
        return page.read_bytes()

    assert made(plain) == made(other) == made(plain)
