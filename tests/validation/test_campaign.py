"""Campaigns: the product of a file's lists, on a pool and on a Dask cluster."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from itertools import product

import pandas as pd
import pytest
from distributed import LocalCluster

import validation.campaign
from apps.errors import Stopped
from apps.runs.dask_cluster import Cluster
from apps.runs.runner import Runner
from platforms.errors import UserError
from platforms.files.caching import cache_folder
from predictor.defaults.choice import default_predictors
from validation.campaign import main, read_campaign

SMALL = """
scenarios = ["grid4x2", "grid3x9"]
networks = ["gigabit", "metro"]
apps = ["mg"]
classes = ["S"]
mappings = ["block", "cyclic"]
efficiencies = ["reference", 0.5]
predictors = ["hcf", "hcf:constant"]
[random]
count = 2
seed = 7
clusters = [2, 3]
nodes = [2, 4]
"""


@pytest.fixture
def campaign_file(tmp_path):
    def write(text):
        path = tmp_path / "campaign.toml"
        path.write_text(text)
        return path

    return write


def test_a_campaign_is_the_product_of_its_lists(campaign_file):
    campaign = read_campaign(campaign_file(SMALL))
    # By hand: (2 scenarios x 2 networks + 2 random) platforms x 1 app x 2 mappings x 2 efficiencies.
    assert len(campaign.cases) == 6 * 2 * 2
    assert [model.name for model in campaign.predictors] == ["hcf", "hcf:constant"]


def test_a_list_of_sizes_is_for_the_kernels_that_take_one(campaign_file):
    sized = 'scenarios = ["grid4x2"]\napps = ["hpl", "cg", "himeno"]\nclasses = ["S"]\nsizes = [64, 128]\n'
    asked = [str(case.target.problem) for case in read_campaign(campaign_file(sized)).cases]
    assert asked == ["hpl 64", "hpl 128", "cg S", "himeno 64", "himeno 128"]
    with pytest.raises(UserError, match="sizes: none of cg takes a size"):
        read_campaign(campaign_file('scenarios = ["grid4x2"]\napps = ["cg"]\nsizes = [64]\n'))


def test_without_predictors_a_campaign_asks_those_of_a_single_run(campaign_file):
    campaign = read_campaign(campaign_file('scenarios = ["grid4x2"]\napps = ["cg", "is"]\nclasses = ["S"]\n'))
    for case in campaign.cases:
        assert campaign.asked(case.target) == default_predictors(case.target)
        assert [one.name for one in campaign.asked(case.target)] == ["structural", "hcf:constant", "hcf"]


def test_random_platforms_keep_to_their_ranges_and_to_their_seed(campaign_file):
    grids = [c.target.platform for c in read_campaign(campaign_file(SMALL)).cases if "random" in c.target.platform.name]
    assert len({platform.content_hash for platform in grids}) == 2
    for platform in grids:
        assert 2 <= len(platform.clusters) <= 3
        assert all(2 <= len(cluster.hosts) <= 4 for cluster in platform.clusters)
        assert all(20e9 <= cluster.speed_flops <= 100e9 for cluster in platform.clusters)
    again = read_campaign(campaign_file(SMALL.replace("count = 2", "count = 1")))
    assert grids[0].content_hash in {case.target.platform.content_hash for case in again.cases}


def test_several_tables_of_random_platforms_have_each_its_own_ranges(campaign_file):
    tables = "[[random]]\ncount = 2\nseed = 1\nclusters = [2, 2]\n[[random]]\ncount = 1\nseed = 2\nclusters = [3, 3]\n"
    cases = read_campaign(campaign_file(f'apps = ["mg"]\nclasses = ["S"]\n{tables}')).cases
    found = [(case.target.platform.name, len(case.target.platform.clusters)) for case in cases]
    assert found == [("random-1-0", 2), ("random-1-1", 2), ("random-2-0", 3)]


def test_files_are_found_beside_the_campaign(campaign_file, tmp_path):
    (tmp_path / "lab.toml").write_text("[[clusters]]\nnodes = 3\nspeed_gflops = 10\n")
    (case,) = read_campaign(campaign_file('scenarios = ["lab.toml"]\napps = ["mg"]\nclasses = ["S"]')).cases
    assert case.target.placement == ("c1-0", "c1-1", "c1-2")


def test_a_machine_with_a_network_of_its_own_keeps_it_unless_another_is_named(campaign_file):
    text = 'scenarios = ["li-2"]\napps = ["mg"]\nclasses = ["S"]\n'
    for network, expected in (("", "fast-ethernet"), ('networks = ["metro"]\n', "metro")):
        (case,) = read_campaign(campaign_file(network + text)).cases
        assert case.target.platform.network == expected


def test_a_dry_run_says_how_much_it_is_and_runs_nothing(campaign_file, capsys, tmp_path):
    assert main([str(campaign_file(SMALL)), "--dry-run", "--store", str(tmp_path / "store")]) == 0
    # 24 targets, and a probe for each of 6 platforms and 2 efficiencies.
    said = capsys.readouterr().out
    assert said.startswith(
        "24 targets, 48 predictions\n36 runs (24 of targets, 12 for evidence): 0 in the store, 36 to "
    )
    assert not (tmp_path / "store").exists()


def test_a_dry_run_counts_a_probe_only_where_a_predictor_asks_for_it(campaign_file, capsys):
    text = SMALL.replace('["hcf", "hcf:constant"]', '["dpgraph:known"]')
    assert main([str(campaign_file(text)), "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("24 targets, 24 predictions\n24 runs (24 of targets): ")
    assert re.search(r"besides these, \d+ recordings .*for dpgraph:known", said)


def test_a_campaign_run_again_gives_the_same_without_simulating(campaign_file, capsys, tmp_path):
    arguments = [
        str(campaign_file(SMALL)),
        "--json",
        "--store",
        str(tmp_path / "store"),
        "--out",
        str(tmp_path / "out"),
    ]
    outputs = []
    for _ in range(2):
        assert main(arguments) == 0
        outputs.append(capsys.readouterr())
    first, second = (json.loads(output.out)["results"] for output in outputs)
    different_machine_times = {"prediction_wall_s"}
    for old, new in zip(first, second, strict=True):
        assert {k for k in old if old[k] != new[k]} <= different_machine_times
    assert all(row["simulation_wall_s"] == again["simulation_wall_s"] for row, again in zip(first, second, strict=True))
    assert len(pd.read_csv(tmp_path / "out" / "results.csv")) == 48


def test_lines_of_one_scenario_are_told_apart(campaign_file, capsys):
    small = SMALL.partition("predictors")[0].replace(', "grid3x9"', "") + 'predictors = ["hcf"]'
    assert main([str(campaign_file(small)), "--no-store"]) == 0
    out = capsys.readouterr().out
    titles = [line for line in out.splitlines() if " ranks, mapping " in line]
    assert len(set(titles)) == len(titles) == 8 and all(", efficiency " in title for title in titles)


def test_graph_predictors_take_part(campaign_file, capsys):
    """Recordings, messages and simulations on a pool; a cluster of one node has no internal network."""
    file = campaign_file(
        'scenarios = ["pair.toml"]\napps = ["mg", "ep"]\nclasses = ["S"]\npredictors = ["hcf", "dpgraph"]\n'
        'mappings = ["block", "cyclic"]'
    )
    file.with_name("pair.toml").write_text(
        "[[clusters]]\nnodes = 3\nspeed_gflops = 10\n[[clusters]]\nnodes = 1\nspeed_gflops = 20\n"
    )
    assert main([str(file), "--no-store", "--json", "--jobs", "2"]) == 0
    rows = json.loads(capsys.readouterr().out)["results"]
    assert [(row["mapping"], row["app"], row["predictor"]) for row in rows] == list(
        product(("block", "cyclic"), ("mg", "ep"), ("hcf", "dpgraph"))
    )
    assert max(row["abs_error_pct"] for row in rows if row["predictor"] == "dpgraph") < 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no scenarios, platforms or random platforms"),
        ('scenarios = ["grid9x9"]', "--speeds"),
        ('scenarios = ["all"]\napps = ["xx"]', "Known: bt"),
        ('scenarios = ["all"]\napps = "cg"', "not a list of names"),
        ('scenarios = ["all"]\napps = []', "an empty list"),
        ('scenarios = ["all"]\nmappings = ["heap"]', "Known: block, cyclic"),
        ('scenarios = ["all"]\npredictor = ["hcf"]', "unknown key 'predictor'"),
        ('scenarios = ["all"]\nefficiencies = [7]', "(0, 1]"),
        ('scenarios = ["all"]\niterations = 0', "between 1 and"),
        ("[random]\ncount = 3", "'seed' is missing"),
        ("[random]\ncount = 0\nseed = 1", "count 0"),
        ("[random]\ncount = 1\nseed = 1\nnodes = [5, 2]", "smallest <= largest"),
        ("[random]\ncount = 1\nseed = 1\nnodes = [5]", "smallest and the largest"),
        ("[[random]]\ncount = 1\nseed = 1\n[[random]]\ncount = 2\nseed = 1", "seed: 1 is the seed of another"),
        ("random = 3", "not a table"),
        ("scenarios = [", "not TOML"),
    ],
)
def test_a_campaign_file_with_a_fault_is_refused_in_one_line(campaign_file, capsys, text, said):
    assert main([str(campaign_file(text))]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    assert said in captured.err


def test_no_scheduler_at_the_address_is_said(monkeypatch):
    monkeypatch.setattr("apps.runs.dask_cluster._CONNECT_LIMIT_S", 1.0)
    with pytest.raises(UserError, match=r"--scheduler tcp://127\.0\.0\.1:9"):
        Cluster("tcp://127.0.0.1:9")


def test_a_campaign_of_too_many_runs_is_refused_before_anything_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(validation.campaign, "MOST_CASES", 3)
    path = tmp_path / "campaign.toml"
    path.write_text('scenarios = ["grid4x2", "grid4x4"]\napps = ["cg", "mg"]\nclasses = ["S"]\n')
    with pytest.raises(UserError, match=r"a product of 4 runs\. Ask for at most 3"):
        read_campaign(path)


# --- Dask ---


@pytest.fixture(scope="module")
def workers(tmp_path_factory):
    """Two worker processes of one thread each, with their own cache folder, as on other machines.

    What is compiled there is the same, and they need not compile it.
    """
    cache = tmp_path_factory.mktemp("workers")
    (cache / "compiled").symlink_to(cache_folder() / "compiled")
    with (
        pytest.MonkeyPatch.context() as patch,
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", env={"GRID_VALIDATOR_CACHE": str(cache)}
        ) as cluster,
    ):
        patch.setenv("DASK_DISTRIBUTED__LOGGING__DISTRIBUTED", "error")
        yield cluster


def results(campaign, runner):
    """Rows without machine times."""
    case = campaign.cases[0]
    alike = [one for one in campaign.cases if (one.mapping, one.settings) == (case.mapping, case.settings)]
    found = campaign.outcomes(runner, alike)
    return [{k: v for k, v in row.to_json().items() if "wall" not in k} for _, row in found]


def test_a_dask_cluster_gives_the_results_of_the_pool(workers, campaign_file):
    campaign = read_campaign(campaign_file(SMALL))
    with Runner(jobs=2) as pool:
        expected = results(campaign, pool)
    with Cluster(workers.scheduler_address) as cluster, Runner(jobs=4, simulate=cluster.simulate) as runner:
        assert results(campaign, runner) == expected


def test_a_killed_worker_loses_nothing(workers, campaign_file):
    text = 'scenarios = ["grid4x4", "grid4x8"]\nnetworks = ["gigabit", "metro"]\napps = ["mg"]\nclasses = ["A"]'
    campaign = read_campaign(campaign_file(text))
    first_done = threading.Lock()

    def simulate(spec, *, stop):
        record = cluster.simulate(spec, stop=stop)
        if first_done.acquire(blocking=False):
            busy = next(one for one in workers.scheduler.workers.values() if one.processing)
            os.kill(workers.workers[busy.name].pid, signal.SIGKILL)
        return record

    with Cluster(workers.scheduler_address) as cluster, Runner(jobs=6, simulate=simulate) as runner:
        found = results(campaign, runner)
    assert len(found) == 4 * 3
    with Runner(jobs=2) as pool:
        assert found == results(campaign, pool)


def test_a_runner_that_is_left_does_not_wait_for_the_workers(workers, campaign_file):
    (case,) = read_campaign(campaign_file('scenarios = ["grid4x2"]\napps = ["mg"]\nclasses = ["S"]')).cases
    stop = threading.Event()
    stop.set()
    with Cluster(workers.scheduler_address) as cluster, pytest.raises(Stopped):
        cluster.simulate(case.settings.spec(case.target), stop=stop)


@pytest.mark.slow
def test_the_command_takes_a_scheduler(workers, campaign_file):
    file = campaign_file('scenarios = ["grid4x2"]\napps = ["mg"]\nclasses = ["S"]\npredictors = ["hcf", "dpgraph"]')
    command = [
        "-m",
        "gridval",
        "series",
        "campaign",
        str(file),
        "--json",
        "--no-store",
        "--scheduler",
        workers.scheduler_address,
    ]
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=True)
    rows = json.loads(done.stdout)["results"]
    assert [row["predictor"] for row in rows] == ["hcf", "dpgraph"]
    assert rows[1]["abs_error_pct"] < 1


def test_a_campaign_takes_kernels_of_a_size_and_options_name_others_in_their_place(tmp_path, computing, capsys):
    path = tmp_path / "sizes.toml"
    path.write_text(
        'scenarios = ["grid4x2"]\nranks = [2]\npredictors = ["dpgraph:known"]\n'
        '[[programs]]\napp = "himeno"\nsize = 16\nparams = { niter = 2 }\n[[programs]]\napp = "ep"\nclass = "S"\n'
    )
    assert main([str(path), "--json", "--no-store"]) == 0
    rows = json.loads(capsys.readouterr().out)["results"]
    assert [(row["app"], row["class"]) for row in rows] == [("himeno", "16 niter=2"), ("ep", "S")]
    assert main([str(path), "--json", "--no-store", "--program", str(computing), "--program-args", "1e9"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["results"]
    assert row["app"] == "computing" and row["error_pct"] == pytest.approx(0, abs=0.01)
