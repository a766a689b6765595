"""``gridval plan nodes --simulate``: choices compared with the truth of whole spaces, one by one and in campaigns.

Most runs are faked: their times come from a known equation.
"""

import json
import math
from copy import deepcopy

import numpy as np
import pandas as pd
import pytest

from apps.store import Store
from platforms.errors import UserError
from platforms.grids.scenario import named_grid
from platforms.read.read import materialise
from predictor.allocation.configuration import Configuration, Limits
from predictor.allocation.objectives import cost
from predictor.allocation.search import ChosenConfiguration, exhaustive
from predictor.allocation.space import Space
from validation.nodes import campaign, command, output
from validation.nodes.campaign_file import read_allocation_campaign
from validation.nodes.cli import main
from validation.nodes.errors import Truth, best_constant, estimation_error, judge, time_error
from validation.nodes.output import AllocationRow, summarise, summary_text

SMALL = """
scenario = "ichikawa"
seeds = 2
[[studies]]
app = "himeno"
construction = [8, 10, 12, 14, 16, 18]
evaluation = [12, 40, 160]
nodes = [4, 4, 0]
processes = [1, 1, 0]
params = { niter = 5, grid = "slabs" }
predictors = ["hcf"]
static = ["(1,1,0,0,0,0)", "(4,1,4,1,0,0)"]
[[studies.models]]
weights = "absolute"
noise = [0, 0.02]
[[studies.models]]
weights = "absolute"
fit = "ls"
noise = [0.02]
[[studies.models]]
weights = "absolute"
form = "npt:nt"
"""
WALL_TIMES = ["fit_s", "search_s", "gather_s", "evidence_wall_s"]


def time_s(target):
    """NP-T times of Himeno (Table V), which are cubic in N for a fixed configuration."""
    P, N = target.nranks, target.problem.size
    slowest = min(target.platform.host(host).speed_flops for host in target.placement)
    return 100 * N**3 / P / slowest + (1e-7 * N**2 + 1e-5 * math.log(P) if target.nodes > 1 else 0)


@pytest.fixture(scope="module")
def finished():
    """The tables, the output and the pictures of campaigns that tests share, by text and times."""
    return {}


@pytest.fixture
def run(pretend, tmp_path, capsys, monkeypatch, finished):
    """``run(text, times)``: the tables of a campaign by name, and what it printed with --json.

    A campaign that an earlier test has run is not run again, unless ``anew``.  Only that of SMALL draws pictures.
    """

    def do(text=SMALL, times=time_s, anew=False):
        if not anew and (text, times) in finished:
            return deepcopy(finished[text, times][:2])
        pretend(times, campaign)
        if anew or (text, times) != (SMALL, time_s):
            monkeypatch.setattr(output, "write_figures", lambda *_: [])
        (tmp_path / "campaign.toml").write_text(text)
        assert main([str(tmp_path / "campaign.toml"), "--json", "--out", str(tmp_path / "out")]) == 0
        tables = {path.stem: pd.read_csv(path) for path in (tmp_path / "out").glob("*.csv")}
        done = tables, json.loads(capsys.readouterr().out), list((tmp_path / "out").glob("*.png"))
        if not anew:
            finished[text, times] = done
        return deepcopy(done[:2])

    return do


# Errors of a choice


def test_epsilon_and_delta_by_hand():
    # 10.39 s instead of the best 10 s; an estimate of 5 s for 10 s (the example of section 6.2).
    assert estimation_error(10.39, 10.0) == pytest.approx(0.039)
    assert time_error(5.0, 10.0) == -0.5
    assert (estimation_error(10.0, 10.0), time_error(10.0, 10.0)) == (0.0, 0.0)


@pytest.fixture
def truth():
    """Two PEs: the first takes 4 s, the second 2 s, both 1.9 s."""
    space = Space(Limits((1, 1), (1, 1)))
    by_hand = {"(1,1,0,0)": 4.0, "(0,0,1,1)": 2.0, "(1,1,1,1)": 1.9}
    times_s = np.array([by_hand[str(space.configuration(row))] for row in range(3)])
    return Truth(space, 10, times_s, node_s=9.8, wall_s=1.0)


def test_a_choice_is_judged_by_the_simulated_times(truth):
    choice = ChosenConfiguration(
        Configuration.parse("(1,1,0,0)"), time_s=3.0, value=3.0, examined=3, flags=("a caution",)
    )
    judged = judge(choice, truth)
    assert str(judged.optimum) == "(1,1,1,1)"
    assert judged.epsilon == pytest.approx((4 - 1.9) / 1.9)
    assert judged.delta == pytest.approx((3 - 4) / 4)
    assert (judged.estimated_s, judged.simulated_s, judged.optimum_s) == (3.0, 4.0, 1.9)
    assert (judged.configurations, judged.flags) == (3, ("a caution",))


def test_with_another_objective_epsilon_is_of_its_value(truth):
    prices = cost([3600.0, 3600.0])  # per hour: 1 per second
    choice = ChosenConfiguration(Configuration.parse("(1,1,1,1)"), time_s=1.9, value=3.8, examined=3)
    # By hand: 2 s on one node cost 2, 1.9 s on two nodes cost 3.8; within 10 % of 1.9 s, the former is the cheapest.
    assert str(judge(choice, truth, prices).optimum) == "(0,0,1,1)"
    assert judge(choice, truth, prices).epsilon == pytest.approx(0.9)
    assert str(judge(choice, truth, prices, slack=0.1).optimum) == "(0,0,1,1)"
    assert str(judge(choice, truth, prices, slack=0.01).optimum) == "(1,1,1,1)"


def two_pes(size, allowed=None, **times_s):
    """Times of two PEs of one process each: ``first`` alone, ``second`` alone, and ``both``."""
    space = Space(Limits((1, 1), (1, 1)), allowed)
    names = {"(1,1,0,0)": "first", "(0,0,1,1)": "second", "(1,1,1,1)": "both"}
    found = [times_s[names[str(space.configuration(row))]] for row in range(len(space))]
    return Truth(space, size, np.array(found), node_s=0.0, wall_s=0.0)


def test_the_best_constant_configuration_by_hand():
    # Epsilons: first 100 % and 100 %, second 0 and 50 %, both 40 % and 0: means 100, 25 and 20 %.
    small = two_pes(10, first=4.0, second=2.0, both=2.8)
    large = two_pes(20, first=20.0, second=15.0, both=10.0)
    assert str(best_constant([small, large])) == "(1,1,1,1)"
    assert str(best_constant([small])) == "(0,0,1,1)"
    # With both at 60 % for the small size, the means are 100, 25 and 30 %.
    assert str(best_constant([two_pes(10, first=4.0, second=2.0, both=3.2), large])) == "(0,0,1,1)"


def test_a_constant_configuration_is_allowed_at_every_size():
    # Two processes are best at N = 10 and 20, but N = 15 does not allow them.
    even = [two_pes(size, first=4.0, second=3.0, both=2.0) for size in (10, 20)]
    odd = two_pes(15, lambda P: P == 1, first=4.0, second=3.0)
    assert str(best_constant(even)) == "(1,1,1,1)"
    assert str(best_constant([*even, odd])) == "(0,0,1,1)"
    assert best_constant([two_pes(10, lambda P: P == 2, both=2.0), odd]) is None


def test_the_campaign_gives_the_best_constant_configuration_a_row(run):
    tables, printed = run()
    everywhere = tables["configurations"]
    optimum_s = everywhere.groupby("size")["time_s"].transform("min")
    means = (everywhere["time_s"] / optimum_s - 1).groupby(everywhere["configuration"]).mean()
    (row,) = [one for one in printed["summary"] if one["model"].startswith("best constant")]
    assert row["model"] == f"best constant {means.idxmin()}"
    assert row["epsilon_mean"] == pytest.approx(means.min())
    assert (row["sizes"], row["answered"], row["evidence_node_s"]) == (3, 3, 0)
    statics = [one["epsilon_mean"] for one in printed["summary"] if one["model"].startswith("always")]
    assert row["epsilon_mean"] <= min(statics)


def test_a_search_that_knows_the_truth_is_without_error(truth):
    judged = judge(exhaustive(truth.space, truth.times_s), truth)
    assert (judged.epsilon, judged.delta) == (0.0, 0.0)


# One choice


def test_json_has_the_keys_that_are_asked_for(pretend, capsys):
    done = pretend(time_s, command)
    options = "--scenario ichikawa --app himeno --param niter=5 --construction 8,10,12,14 --size 40 --json"
    assert main([*options.split(), "--nodes", "4,4,0", "--processes", "1,1,0"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert {"chosen", "optimum", "epsilon", "delta", "configurations"} <= set(data)
    # By hand: 5 x 5 - 1; the model is exact.
    assert data["configurations"] == 24
    assert (data["chosen"], data["epsilon"]) == (data["optimum"], 0)
    assert data["delta"] == pytest.approx(0, abs=1e-6)
    # Measured: 8 homogeneous configurations at 4 sizes; then all 24 at 40.
    assert len(done.targets) == 8 * 4 + 24


def test_text_says_the_same(pretend, capsys):
    pretend(time_s, command)
    options = "--scenario ichikawa --app himeno --construction 8,10,12,14 --size 40 --nodes 4,4,0 --processes 1,1,0"
    assert main(options.split()) == 0
    text = capsys.readouterr().out
    assert "epsilon    +0.00 %" in text
    assert "of 24 configurations" in text
    assert "% of what all configurations take" in text


def test_text_and_json_have_the_values_of_the_objective(pretend, capsys):
    pretend(time_s, command)
    options = "--scenario ichikawa --app himeno --construction 8,10,12,14 --size 40 --nodes 4,4,0 --processes 1,1,0"
    options += " --objective cost --price 7200,3600,0"
    assert main([*options.split(), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    rate = sum(price * pes for price, (pes, _) in zip((2, 1), Configuration.parse(data["chosen"]).shares, strict=False))
    assert data["chosen_value"] == pytest.approx(rate * data["simulated_s"])
    assert data["epsilon"] == pytest.approx(data["chosen_value"] / data["optimum_value"] - 1)
    assert main(options.split()) == 0
    text = capsys.readouterr().out
    assert f"cost {data['chosen_value']:.4g}" in text
    assert "%, of its cost, the chosen one" in text


def test_a_real_choice_against_a_real_optimum(tmp_path, capsys):
    options = "--scenario ichikawa --app himeno --param niter=5 --construction 8,10,12,14 --size 24"
    options += f" --nodes 4,0,0 --processes 1,0,0 --json --store {tmp_path}"
    assert main(options.split()) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["configurations"] == 4
    assert 0 <= data["epsilon"] < 0.5
    assert data["simulated_s"] == pytest.approx(data["optimum_s"] * (1 + data["epsilon"]))
    assert data["estimated_s"] == pytest.approx(data["simulated_s"] * (1 + data["delta"]))


# Campaigns


def test_a_campaign_end_to_end(run, finished):
    tables, printed = run()
    assert finished[SMALL, time_s][2]  # pictures
    choices = tables["choices"]
    assert list(choices) == [*AllocationRow.__dataclass_fields__]
    # By hand, for each of 3 sizes: npt without noise and with 2 seeds of noise, ls with 2 seeds, nt, hcf, 2 static
    # and the best constant configuration.
    assert len(choices) == 3 * (1 + 2 + 2 + 1 + 1 + 2 + 1)
    assert len(printed["choices"]) == len(choices)
    assert set(choices["configurations"]) == {24}
    # All configurations at all sizes are there, and the optimum is the least of them.
    everywhere = tables["configurations"]
    assert len(everywhere) == 24 * 3
    least = everywhere.groupby("size")["time_s"].min()
    assert choices["optimum_s"].to_list() == pytest.approx(least[choices["size"]].to_list())
    known = everywhere.set_index(["size", "configuration"])["time_s"]
    assert known[list(zip(choices["size"], choices["chosen"], strict=True))].to_list() == pytest.approx(
        choices["simulated_s"].to_list()
    )
    assert (choices["simulated_s"] / choices["optimum_s"] - 1).to_list() == pytest.approx(choices["epsilon"].to_list())
    judged = choices.dropna(subset="delta")
    assert (judged["estimated_s"] / judged["simulated_s"] - 1).to_list() == pytest.approx(judged["delta"].to_list())
    # The models have the same equation as the times.
    exact = choices[(choices["model"] == "NP-T/NNLS") & (choices["noise"] == 0)]
    assert exact["epsilon"].to_list() == [0, 0, 0]
    assert exact["delta"].abs().max() < 1e-6
    # 8 homogeneous configurations, 6 sizes; without noise and two seeds.
    assert len(tables["measurements"]) == 48 * 3
    assert tables["measurements"].groupby(["noise", "seed"]).size().to_dict() == {
        (0, 0): 48,
        (0.02, 1): 48,
        (0.02, 2): 48,
    }


def test_the_summary_follows_from_the_choices(run):
    tables, printed = run()
    choices, summary = tables["choices"], tables["choices-summary"].set_index(["model", "noise"])
    for (model, noise), own in choices.groupby(["model", "noise"]):
        row = summary.loc[model, noise]
        by_seed = own.groupby("seed")["epsilon"].mean()
        assert row["epsilon_mean"] == pytest.approx(by_seed.mean())
        assert row["epsilon_max"] == pytest.approx(own["epsilon"].max())
        assert row["optimal"] == pytest.approx((own["epsilon"] == 0).mean())
        assert (row["seeds"], row["sizes"], row["answered"]) == (own["seed"].nunique(), 3, 3)
        if len(by_seed) > 1:
            assert row["epsilon_sd"] == pytest.approx(np.std(by_seed, ddof=1))
        if not model.startswith(("always", "best constant")):
            assert row["delta_within"] == pytest.approx((own["delta"].abs() <= 0.2).mean())
    assert len(printed["summary"]) == len(summary) == 8


def test_evidence_is_charged_by_what_was_measured(run):
    tables, _ = run()
    quiet = tables["measurements"].query("noise == 0")
    nodes = quiet["configuration"].map(lambda text: Configuration.parse(text).nodes)
    choices = tables["choices"].set_index("model")
    node_s = (nodes * quiet["time_s"]).sum()
    assert choices.loc["NP-T/NNLS", "evidence_node_s"].to_list() == pytest.approx([node_s] * 9)
    # Sum over all runs: the measuring times of Table III.
    assert choices.loc["NP-T/NNLS", "measured_s"].to_list() == pytest.approx([quiet["time_s"].sum()] * 9)
    # N-T models need all configurations; a static allocation needs no evidence.
    assert choices.loc["N-T/NNLS", "evidence_node_s"].min() > choices.loc["NP-T/NNLS", "evidence_node_s"].max()
    assert set(choices.loc["always (4,1,4,1,0,0)", "evidence_node_s"]) == {0}


def test_models_of_fewer_sizes_are_charged_for_these_alone(run):
    text = SMALL.partition("[[studies.models]]")[0] + '[[studies.models]]\nweights = "absolute"\nlargest = 14'
    tables, _ = run(text)
    quiet = tables["measurements"].query("size <= 14")
    nodes = quiet["configuration"].map(lambda text: Configuration.parse(text).nodes)
    charged = tables["choices"].query("model == 'NP-T/NNLS, N to 14'")["evidence_node_s"]
    assert charged.to_list() == pytest.approx([(nodes * quiet["time_s"]).sum()] * 3)


def test_the_evidence_of_predictors_is_charged_by_size(run):
    # By hand: HCF's probe of each size, with a rank on a node of each of the three clusters, and no other size.
    tables, _ = run()
    hcf = tables["choices"].query("model == 'hcf'").set_index("size")
    slowest = min(cluster.speed_flops for cluster in materialise(named_grid("ichikawa")).clusters)
    probe_s = {N: 100 * N**3 / 3 / slowest + 1e-7 * N**2 + 1e-5 * math.log(3) for N in (12, 40, 160)}
    assert hcf["measured_s"].to_dict() == pytest.approx(probe_s)
    assert hcf["evidence_node_s"].to_dict() == pytest.approx({N: 3 * took_s for N, took_s in probe_s.items()})


@pytest.mark.parametrize(("more", "runs"), [('predictors = ["hcf"]', 2), ('static = ["(1,1,0,0,0,0)"]', 0)])
def test_a_study_without_models_measures_nothing_for_them(pretend, tmp_path, capsys, more, runs):
    done = pretend(time_s, campaign)
    text = '[[studies]]\napp = "himeno"\n' + f"evaluation = [12, 40]\nnodes = [4, 4, 0]\nprocesses = [1, 1, 0]\n{more}"
    (tmp_path / "campaign.toml").write_text(text)
    assert main([str(tmp_path / "campaign.toml"), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["choices"]
    assert [row["size"] for row in rows] == [12, 40] * 2  # the second time by the best constant configuration
    assert len(done.targets) == 2 * 24 + runs  # HCF: its probes


def test_a_fit_that_cannot_be_made_is_a_row_without_answer(run, monkeypatch):
    # The times of the second seed are refused; the answers of the first seed are unchanged.
    def fails(measured, equations, settings, made=campaign.npt_driver, calls=[], **how):  # noqa: B006
        calls.append(settings)
        if len(calls) == 2:
            raise UserError("NP-T model", "too few", "Give more")
        return made(measured, equations, settings, **how)

    monkeypatch.setattr(campaign, "npt_driver", fails)
    text = SMALL.partition("[[studies.models]]")[0].replace("[12, 40, 160]", "[160]")
    tables, printed = run(text + '[[studies.models]]\nweights = "absolute"\nnoise = [0.02]')
    rows = tables["choices"].query("model == 'NP-T/NNLS'").set_index("seed")
    assert isinstance(rows.loc[1, "chosen"], str)
    assert rows.loc[2, "chosen"] != rows.loc[2, "chosen"]  # NaN
    assert rows.loc[2, "flags"] == "NP-T model: too few. Give more."
    (summary,) = [one for one in printed["summary"] if one["model"] == "NP-T/NNLS"]
    assert (summary["sizes"], summary["answered"], summary["epsilon_mean"]) == (1, 0, rows.loc[1, "epsilon"])


def test_a_model_that_does_not_answer_everywhere_says_so():
    chosen = {32: ("(1,1)", 0.0), 64: ("(2,1)", 0.0), 128: (None, None)}
    shared = dict.fromkeys(AllocationRow.__dataclass_fields__, 0.0) | {
        "app": "himeno",
        "model": "hcf",
        "optimum": "(1,1)",
    }
    table = pd.DataFrame(
        shared | {"size": size, "chosen": where, "epsilon": epsilon, "delta": epsilon}
        for size, (where, epsilon) in chosen.items()
    )
    (summary,) = summarise(table).to_dict("records")
    assert (summary["sizes"], summary["answered"]) == (3, 2)
    assert summary["optimal"] == 1.0  # the second choice is another one that is as fast as the optimum
    assert "2 of 3" in summary_text(summarise(table))


def test_n_t_models_do_not_know_the_size_that_is_chosen_for(run):
    # At N = 12 all times are half of the cubic function that holds at all other sizes.
    def odd_s(target):
        return time_s(target) * (0.5 if target.problem.size == 12 else 1)

    tables, _ = run(times=odd_s)
    choices = tables["choices"].query("model == 'N-T/NNLS' and size == 12")
    assert choices["delta"].to_list() == [pytest.approx(1.0, rel=1e-6)]


def test_the_same_file_gives_the_same_tables(run):
    first, again = run()[0], run(anew=True)[0]
    assert set(first) == {"choices", "choices-summary", "configurations", "measurements"}
    for name, table in first.items():
        walls = [column for column in WALL_TIMES if column in table]
        pd.testing.assert_frame_equal(table.drop(columns=walls), again[name].drop(columns=walls))
    noisy = first["measurements"].query("noise > 0").pivot(index=["size", "configuration"], columns="seed")["time_s"]
    assert (noisy[1] != noisy[2]).all()


def test_fewer_sizes_and_dropped_terms_are_other_models(run):
    models = '[[studies.models]]\nlargest = 16\n[[studies.models]]\ndrop = ["log P"]\nglitches = 0.9'
    tables, _ = run(SMALL.partition("[[studies.models]]")[0] + models)
    names = {
        "NP-T/NNLS, N to 16",
        "NP-T/NNLS, without log P, glitches below 0.9 left out",
    }
    assert names <= set(tables["choices"]["model"])


def test_an_interrupted_campaign_goes_on_from_the_store(pretend, tmp_path, capsys):
    (tmp_path / "campaign.toml").write_text(SMALL)
    with Store(tmp_path / "store") as store:
        done = pretend(time_s, campaign, store=store)
        done.limit = 40
        assert main([str(tmp_path / "campaign.toml")]) == 130
        assert len(done.targets) == 40
        capsys.readouterr()
        done.limit = None
        assert main([str(tmp_path / "campaign.toml"), "--json"]) == 0
        ran = [(target.problem, target.placement) for target in done.targets]
        assert len(set(ran)) == len(ran) > 40  # none twice
        before = len(ran)
        first = json.loads(capsys.readouterr().out)["choices"]
        assert main([str(tmp_path / "campaign.toml"), "--json"]) == 0
        assert len(done.targets) == before
    again = json.loads(capsys.readouterr().out)["choices"]
    for row in (*first, *again):
        for column in WALL_TIMES:
            del row[column]
    assert again == first


def test_what_was_found_before_a_failure_is_not_lost(pretend, tmp_path, capsys, monkeypatch):
    # The second study fails halfway; the rows of the first are written nevertheless.
    second = SMALL[SMALL.index("[[studies]]") :].replace("evaluation = [12, 40, 160]", "evaluation = [50]")

    def failing_s(target):
        if target.problem.size == 50:
            raise KeyboardInterrupt
        return time_s(target)

    pretend(failing_s, campaign)
    monkeypatch.setattr(output, "write_figures", lambda *_: [])
    (tmp_path / "campaign.toml").write_text(SMALL + second)
    assert main([str(tmp_path / "campaign.toml"), "--out", str(tmp_path / "out")]) == 130
    assert len(pd.read_csv(tmp_path / "out" / "choices.csv")) == 30
    capsys.readouterr()


def test_probes_local_weights_and_small_sizes_in_a_campaign(run):
    # At N = 160 alone, all eight nodes take ten times as long: the models do not know it, a probe does.
    def uneven_s(target):
        return time_s(target) * (10 if target.problem.size == 160 and target.nranks == 8 else 1)

    model = '[[studies.models]]\nweights = "local"\noutliers = "cross-validate"\n'
    text = SMALL.partition("[[studies.models]]")[0].replace('["hcf"]', "[]\nsmall_below = 41")
    tables, _ = run(text + model + model + "probe = 2\n", times=uneven_s)
    rows = tables["choices"].set_index(["model", "size"])
    name = "NP-T/NNLS, local weights, outliers by cross-validation"
    assert rows.loc[(name, 160), "epsilon"] > 1
    assert rows.loc[(f"{name}, best of 2 probed", 160), "epsilon"] < 1
    assert rows.loc[(f"{name}, best of 2 probed", 160), "evidence_node_s"] > rows.loc[(name, 160), "evidence_node_s"]
    # By hand: of 12, 40 and 160 only 160 is not small.
    summary = tables["choices-summary"].set_index("model")
    assert summary.loc[name, "epsilon_without_small"] == pytest.approx(rows.loc[(name, 160), "epsilon"])


@pytest.mark.parametrize("name", ["ichikawa-choices", "two-speeds-choices"])
def test_the_campaigns_of_choices_have_probes_for_every_program(pytestconfig, name):
    studies = read_allocation_campaign(pytestconfig.rootpath / "examples" / f"{name}.toml").studies
    probes = {case.study.app: [model.probe for model in case.models if model.probe] for case in studies}
    assert probes == {app: [3, 3] for app in ("himeno", "fem", "hpl", "fft")}


def test_the_example_is_the_papers_evaluation(pytestconfig):
    studies = {case.study.app: case for case in read_allocation_campaign(
        pytestconfig.rootpath / "examples" / "ichikawa.toml").studies}  # fmt: skip
    # Table II: numbers of sizes and their ends.
    expected = {
        "himeno": (9, 32, 192, 10, 256),
        "fem": (7, 70, 504, 20, 660),
        "hpl": (9, 400, 6400, 7, 9600),
        "fft": (9, 2**12, 2**20, 8, 2**23),
    }
    for app, found in expected.items():
        case = studies[app]
        sizes = case.construction
        assert (len(sizes), min(sizes), max(sizes), len(case.evaluation), max(case.evaluation)) == found
    assert studies["himeno"].study.limits == Limits((4, 4, 4), (2, 2, 1))
    assert studies["fft"].study.limits == Limits((8, 8, 8), (2, 2, 1))
