"""Predictors from outside the project: from a file, a module or an installed package, and errors in them."""

import json
import sys
from pathlib import Path

import pytest

from apps.programs.problem import problem
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.errors import UserError
from platforms.model.placement import block
from platforms.model.platform import Cluster, Host, Platform
from predictor.answers.answers import predict
from predictor.evidence.broker import Broker
from predictor.hcf import HCF
from predictor.plugins import GROUP, own_predictor
from predictor.registry import PREDICTORS, predictor, predictors
from validation.campaign import read_campaign

EXAMPLE = Path(__file__).parents[2] / "examples" / "predictors" / "hcf_traffic.py"
MINE = """
class Mine:
    name = "mine"
    def requests(self, targets): return []
    def further(self, targets, evidence): return []
    def fit(self, evidence): return None
mine = Mine()
nothing = 1
"""


@pytest.fixture
def written(tmp_path):
    """Return ``written(text, name="own.py")``, which writes a file with that text."""

    def write(text, name="own.py"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Return ``package(name, points)``: installs a package of the module my_predictors with these entry points."""

    def install(name, points, text=MINE):
        (tmp_path / "my_predictors.py").write_text(text)
        info = tmp_path / f"{name}-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        lines = [f"{point} = {where}" for point, where in points.items()]
        (info / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *lines, ""]))
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "my_predictors", raising=False)

    return install


def test_a_class_or_an_object_in_a_file_is_a_predictor(written):
    path = written(MINE)
    assert predictor(f"{path}:Mine").name == "mine"
    assert predictor(f"{path}:mine") is predictor(f"{path}:mine")


def test_a_file_is_run_once(written, capsys):
    path = written(MINE + "print('run')\n")
    predictors([f"{path}:mine"])
    predictors(["hcf", f"{path}:mine"])
    assert capsys.readouterr().out == "run\n"


def test_a_module_is_found_as_python_finds_it(written, tmp_path, monkeypatch):
    written(MINE, "a_module_of_mine.py")
    monkeypatch.syspath_prepend(tmp_path)
    assert predictor("a_module_of_mine:Mine").name == "mine"
    with pytest.raises(UserError, match="another predictor of that name"):
        predictor("predictor.hcf:HCF")  # it is there already, as hcf


def test_an_installed_package_brings_its_predictors(package):
    package("others", {"mine": "my_predictors:mine"})
    assert predictor("mine").name == "mine"
    assert [one.name for one in predictors(["all"])] == [*PREDICTORS, "mine"]
    with pytest.raises(UserError, match=r"Known: structural, .*, extrap:default, mine; or FILE\.py:NAME"):
        predictor("yours")


def test_an_installed_package_cannot_hide_a_predictor(package):
    package("others", {"dpgraph": "my_predictors:mine"})
    assert predictor("hcf") is HCF
    with pytest.raises(UserError, match="predictor 'dpgraph': an installed package has a predictor of this name too"):
        predictors(["all"])


def test_two_packages_cannot_share_a_name(package, tmp_path):
    package("others", {"mine": "my_predictors:mine"})
    package("more", {"mine": "my_predictors:Mine"})
    with pytest.raises(UserError, match="two installed packages have a predictor of this name: my_predictors:"):
        predictor("mine")


def test_a_package_announces_predictors_by_their_names(package):
    package("others", {"ours": "my_predictors:mine"})
    with pytest.raises(UserError, match="announces it as 'ours', but its name is 'mine'"):
        predictor("ours")


def test_campaign_files_name_files_relative_to_themselves(written, tmp_path, monkeypatch):
    written(MINE)
    monkeypatch.chdir("/")
    campaign = written(
        'scenarios = ["grid4x2"]\napps = ["cg"]\nclasses = ["S"]\npredictors = ["own.py:mine"]\n', "c.toml"
    )
    assert [one.name for one in read_campaign(campaign).predictors] == ["mine"]


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        (MINE, "nobody", "there is no nobody in it. It has Mine, mine"),
        ("x = 1\n", "mine", "there is no mine in it. Define it there"),
        (MINE, "nothing", "not a predictor, because it has no name, requests, further, fit. predictor/base.py"),
        (MINE.replace("def fit", "def fix"), "mine", "not a predictor, because it has no fit"),
        (MINE.replace('"mine"', '"hcf"'), "mine", "predictor 'hcf': there is another predictor of that name"),
        (MINE.replace('"mine"', '"all"'), "mine", "predictor 'all': there is another predictor of that name"),
        (MINE.replace('"mine"', '"a,b"'), "mine", "its name 'a,b' cannot be used"),
        (MINE.replace('"mine"', '" "'), "mine", "its name ' ' cannot be used"),
        (MINE.replace('name = "mine"', "name = 3"), "mine", "it has no name"),
        ("class Mine:\n    def __init__(self, a): pass\n", "Mine", "cannot be called without arguments, TypeError"),
        ("x = 1\nx = 1 / 0\n", "mine", "own.py:2 cannot be run, ZeroDivisionError: division by zero. Correct the file"),
        ("import no_such_thing\n", "mine", "own.py:1 cannot be run, ModuleNotFoundError: No module named 'no_such"),
        ("def f(:\n", "mine", "own.py:1 cannot be run, SyntaxError"),
        ("raise SystemExit(3)\n", "mine", "own.py:1 cannot be run, SystemExit: 3"),
        ("x = '\0'\n", "mine", "cannot be run"),
    ],
)
def test_what_is_no_predictor_is_said_in_one_line(text, name, message, written):
    with pytest.raises(UserError) as raised:
        predictors([f"{written(text)}:{name}"])
    assert message in str(raised.value)
    assert len(str(raised.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere.py:mine", "there is no file nowhere.py. Write FILE.py:NAME or MODULE:NAME"),
        ("no.such.module:mine", "there is no module no"),
        ("own.py:", "incomplete"),
        (":mine", "incomplete"),
        ("json:", "incomplete"),
        ("..:mine", "cannot be run"),
        ("hfc", "no such model. Did you mean hcf? Known: structural"),
    ],
)
def test_names_that_lead_nowhere_are_said(name, message):
    with pytest.raises(UserError) as raised:
        predictor(name)
    assert message in str(raised.value)


def test_two_of_one_name_are_refused(written):
    first, second = written(MINE), written(MINE, "other.py")
    with pytest.raises(UserError, match="another predictor of that name"):
        predictors([f"{first}:mine", f"{second}:mine"])


def test_hcf_traffic_scales_communication_with_what_ranks_send(record_of):
    # By hand, CG class B.  4 probe nodes take 5 s, 3 of them computation; on 8 computation is 3 * 4 / 8.  Each of the
    # 26 products of an iteration sends 2 halves of the 75,000 rows on 2 x 2 ranks, 3 quarters on 2 x 4; each of the
    # 53 sums is a message on 2 x 2, two on 2 x 4, of next to no bytes.
    clusters = tuple(Cluster(c, (Host(f"{c}0", 10e9, 1), Host(f"{c}1", 10e9, 1))) for c in "abcd")
    platform = Platform("four", "/nowhere.xml", "four", clusters)
    target = Target(problem("cg", "B"), platform, block(platform, 8))
    broker = Broker(
        Settings(),
        [target],
        record=lambda spec: record_of(spec.target, 5.0, 1.0, [3.0] * 4),
        identify=lambda spec: spec.identity(),
    )
    (answer,) = predict(predictor(f"{EXAMPLE}:HcfTraffic"), [target], broker)
    made = answer.prediction
    assert made.parts["compute_s"] == 1.5
    assert made.parts["comm_s"] == pytest.approx(2 * (3 * 75000 / 4) / (2 * 75000 / 2), rel=1e-4)
    assert made.time_s == made.low_s == 1.5 + made.parts["comm_s"]
    assert made.high_s == pytest.approx(1.5 + 2 * (26 * 3 + 53 * 2) / (26 * 2 + 53))
    assert made.cost.node_s == 20.0


def test_hcf_traffic_refuses_what_hcf_refuses(record_of):
    platform = Platform("p", "/nowhere.xml", "p", (Cluster("a", (Host("a0", 1e9, 2), Host("a1", 1e9, 2))),))
    target = Target(problem("cg", "S"), platform, ("a0", "a0", "a1", "a1"))
    broker = Broker(
        Settings(),
        [target],
        record=lambda spec: record_of(spec.target, 1.0, 1.0),
        identify=lambda spec: spec.identity(),
    )
    (answer,) = predict(predictor(f"{EXAMPLE}:HcfTraffic"), [target], broker)
    assert "one rank per node" in answer.refusal


def test_the_command_takes_it(capsys, pretend):
    from predictor import predict as command

    pretend(lambda target: 5.0, command)
    arguments = [
        "--scenario",
        "grid4x2",
        "--app",
        "mg",
        "--class",
        "S",
        "--json",
        "--predictor",
        f"{EXAMPLE}:HcfTraffic",
    ]
    assert command.main(arguments) == 0
    (said,) = json.loads(capsys.readouterr().out)["predictions"]
    assert said["predictor"] == "hcf-traffic"


def test_the_interval_of_a_model_is_printed(capsys, pretend):
    from predictor import predict as command

    pretend(lambda target: 5.0, command)
    arguments = "--scenario grid4x2 --app mg --class S --predictor".split()
    assert command.main([*arguments, f"{EXAMPLE}:HcfTraffic,hcf"]) == 0
    own, hcf = capsys.readouterr().out.split("mg S on ")[1:]
    assert "true time 2.50 s, by the model itself" in own
    assert "by the model itself" not in hcf  # what it has is the map's, if any


def test_a_module_that_lacks_another_is_broken(tmp_path, monkeypatch):
    (tmp_path / "lacking_one.py").write_text("import no_such_module_anywhere\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UserError, match="No module named 'no_such_module_anywhere'"):
        own_predictor("lacking_one:Mine")
