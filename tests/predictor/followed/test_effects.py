"""Every option of SimGrid: what predictors do with it is known, said and honest."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from apps.programs.problem import problem
from apps.runs.runner import Runner
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise
from predictor.answers.answers import predict
from predictor.evidence.broker import Broker
from predictor.followed.effects import UNKNOWN, effect_of, options
from predictor.registry import predictor

ALL = ("structural", "dpgraph", "dpgraph:known", "hcf")
PAGE = Path(__file__).parents[3] / "docs" / "results" / "options.md"
# Options that SimGrid 4.1 has besides those of 3.32 (its manual, "Existing Configuration Items").
NEW_IN_41 = """
    cmonkey/pid debug/fullstack debug/lmm-leaks precision/bmf precision/timing precision/work-amount
    smpi/barrier-collectives smpi/barrier-finalization ns3/NetworkModel model-check/no-fork model-check/strategy
    smpi/buffering model-check/setenv storage/max_file_descriptors
""".split()


@pytest.fixture(scope="module")
def of_simgrid(tmp_path_factory):
    """The names of the options of the installed SimGrid, as it lists them itself."""
    folder = tmp_path_factory.mktemp("options")
    (folder / "program.c").write_text("#include <mpi.h>\nint main(void) { return MPI_Init(0, 0); }")
    (folder / "hosts").write_text("c1-0\n")
    (folder / "platform.xml").write_text(materialise(named_grid("grid4x2")).path.read_text())
    subprocess.run(["smpicc", "program.c", "-o", "program"], cwd=folder, check=True)
    smpirun = Path(shutil.which("smpirun")).resolve()
    script = smpirun.read_text().replace("${SIMGRID_PREFIX}", str(smpirun.parents[1]))  # as the wheel has it
    main = re.search(r"(/[^\s\"]+/smpimain)", script)[1]
    said = subprocess.run(
        [main, "./program", "platform.xml", "--cfg=smpi/np:1", "--cfg=smpi/hostfile:hosts", "--help"],
        cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    return re.findall(r"^   ([a-z][\w/-]*):", said.stdout + said.stderr, re.MULTILINE)


def test_the_table_has_every_option_of_the_installed_simgrid(of_simgrid):
    assert len(of_simgrid) > 100
    assert [name for name in (*of_simgrid, *NEW_IN_41) if effect_of(name, "x", "dpgraph") == ("caution", UNKNOWN)] == []


def test_an_option_of_another_simgrid_is_said():
    assert effect_of("smpi/new-in-5", "1", "hcf") == ("caution", UNKNOWN)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("smpi/coll-selector", "default"), ("network/TCP-gamma", "4194304"), ("network/TCP-gamma", "0"),
        ("smpi/os", "0:0:0:0:0"), ("smpi/or", "0:0:0;1000:0:0"), ("smpi/async-small-thresh", "0"),
        ("network/crosstraffic", "on"), ("surf/precision", "1e-09"),
    ],
)  # fmt: skip
def test_the_default_of_an_option_changes_nothing(key, value):
    assert {effect_of(key, value, name)[0] for name in ALL} == {"none"}


def test_costs_of_messages_are_followed_for_hpl_alone():
    assert effect_of("smpi/os", "0:1e-6:0", "structural", "hpl")[0] == "followed"
    assert effect_of("smpi/os", "0:1e-6:0", "structural", "cg")[0] == "caution"
    assert effect_of("smpi/os", "0:1e-6:0", "dpgraph", "hpl")[0] == "caution"


def test_every_effect_that_is_not_followed_has_a_reason():
    for option in options():
        assert bool(option.why) is bool({"caution", "refused"} & set(option.effects.values())), option.name


def test_the_page_has_the_table():
    rows = [row.split("|")[1:-1] for row in PAGE.read_text().splitlines() if row.startswith("| `")]
    shown = {tuple(cell.strip().strip("`") for cell in row) for row in rows}
    assert shown == {
        (option.name, ", ".join(option.defaults), *option.effects.values(), option.why) for option in options()
    }


# Measured with is S on 8 ranks of grid4x2, before there was a caution: -58.6, +25.3, -14, -7 % with an interval around
# the wrong time, and -13 % for dpgraph:known.
@pytest.mark.parametrize("text", ["smpi/coll-selector:mvapich2", "maxmin/concurrency-limit:2"])
def test_an_option_that_is_not_followed_makes_a_caution_without_an_interval_or_a_refusal(text):
    platform = materialise(named_grid("grid4x2"))
    target = Target(problem("is", "S"), platform, block(platform, 4))
    settings = Settings(options=(tuple(text.split(":")),))
    with Runner(jobs=1) as runner:
        broker = Broker.of(settings, [target], runner).on(runner)
        (measured,) = predict(predictor("dpgraph"), [target], broker)
        (known,) = predict(predictor("dpgraph:known"), [target], broker)
    assert any(flag.startswith(f"{text} is not followed") for flag in measured.prediction.flags)
    assert measured.prediction.interval is None and text in measured.prediction.no_interval
    assert known.prediction is None and text in known.refusal
