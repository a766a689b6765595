"""Advice on shares, and the option --shares."""

import csv
import json

import pytest

from apps.options.shares import SharesOption, by_speed, with_asked_shares
from apps.programs.problem import problem
from apps.runs.neutral import recording_identity
from apps.runs.runner import Runner
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.command.values import request_of
from platforms.errors import UserError
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.model.platform import Cluster, Host, Platform
from platforms.read.read import materialise
from predictor.shares.cli import main
from validation.shares import choices, with_shares
from validation.shares import main as simulate

ASKED = ["--scenario", "grid2x2", "--speeds", "30,90", "--network", "ideal", "--no-store", "--class", "S"]


def platform(cores=1):
    """Two hosts of 10 Gflop/s and one of 30."""
    slow = Cluster("slow", tuple(Host(f"s{i}", 10e9, cores) for i in range(2)))
    return Platform("two", "/nowhere.xml", "two", (slow, Cluster("fast", (Host("f0", 30e9, cores),))))


def asked(given, where=None, placement=None):
    where = where or platform()
    request = request_of(SharesOption, {"shares": given})
    return with_asked_shares(request, problem("lu", "S"), where, placement or block(where, 3)).shares


def test_equal_is_no_division_and_speed_follows_the_hosts():
    assert asked("equal") == asked("EQUAL") == ()
    assert asked("Speed") == pytest.approx((0.2, 0.2, 0.6))


def test_ranks_that_share_a_core_share_its_speed():
    two = platform(cores=2)
    assert by_speed(two, ["s0", "f0", "f0", "f0"]) == [10e9, 20e9, 20e9, 20e9]


@pytest.mark.parametrize(
    ("text", "shares"),
    [
        ("cluster,share\nslow,1\nfast,3\n", (0.125, 0.125, 0.75)),  # a cluster's share is that of its ranks together
        ("# by hand\nshare,host\n1,s0\n2,s1\n5,f0\n", (0.125, 0.25, 0.625)),
    ],
)
def test_a_file_gives_shares_of_clusters_or_hosts(text, shares, tmp_path):
    (tmp_path / "shares.csv").write_text(text)
    assert asked(tmp_path / "shares.csv") == pytest.approx(shares)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("cluster,share\nslow,1\n", r"no share of cluster fast\. Add a line for every cluster in use"),
        ("cluster,share\nslow,1\nfast,0\n", r"line 3: no cluster with a positive share"),
        ("cluster,share\nslow,1\nfast,nan\n", r"line 3: no cluster with a positive share"),
        ("cluster,share\nslow,1,2\n", r"line 2: no cluster with a positive share"),
        ("cluster,share\nslow\n", r"line 2: no cluster with a positive share"),
        ("cluster,share\nslow,1\nslow,2\n", r"line 3: cluster slow again"),
        ("cluster,share\nslow,1\nfats,2\n", r"two has no cluster fats\. Did you mean fast"),
        ("name,share\nslow,1\n", r"its columns are name, share\. Give equal, speed, or a CSV file"),
        ("", r"its columns are missing"),
        ("cluster,share\n", r"no shares"),
    ],
)
def test_bad_files_are_refused_with_their_line(text, reason, tmp_path):
    (tmp_path / "shares.csv").write_text(text)
    with pytest.raises(UserError, match=reason):
        asked(tmp_path / "shares.csv")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(UserError, match=r"^--shares .*none\.csv: cannot be read: No such file"):
        asked(tmp_path / "none.csv")


def test_advised_shares_are_those_of_the_speeds(tmp_path, capsys):
    # 30 and 90 Gflop/s: a quarter and three quarters, in rows of LU's 10 unknowns along y: 2 or 3, and 8 or 7.
    out = tmp_path / "shares.csv"
    assert main([*ASKED, "--app", "lu", "--write", str(out), "--json"]) == 0
    (advice,) = json.loads(capsys.readouterr().out)["advice"]
    assert advice["shares"] == pytest.approx({"c1": 0.25, "c2": 0.75})
    assert advice["work_shares"]["c1"] in (pytest.approx(0.2), pytest.approx(0.3))
    assert advice["idle_equal_s"]["c1"] == 0
    # Equal: 5 of 10 unknowns at 30 Gflop/s against 5 at 90; advised: 2 against 8, or 3 against 7.
    assert advice["idle_advised_s"]["c1"] < advice["idle_equal_s"]["c2"] / 4
    with open(out) as file:
        assert {row["cluster"]: float(row["share"]) for row in csv.DictReader(file)} == {"c1": 0.25, "c2": 0.75}


def test_the_gain_on_an_ideal_network_is_that_of_the_computation(capsys):
    # Without messages, all of CG's computation: 4 nodes wait for 30 Gflop/s with equal shares, and share 240 together.
    assert simulate([*ASKED, "--app", "cg", "--search", "12.5", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["compared"]
    assert found["simulated_equal_s"] / found["simulated_advised_s"] == pytest.approx(240 / 120, rel=0.02)
    assert found["simulated_idle_advised_s"]["c2"] < 0.02 * found["simulated_idle_equal_s"]["c2"]
    assert found["search"]["shares"] == {"c1": 0.25, "c2": 0.75}
    assert found["search"]["choices"] == 7
    assert found["search"]["simulated"] <= 7
    assert found["loss_pct"] == pytest.approx(0, abs=1e-6)
    assert found["equal"]["time_s"] == pytest.approx(found["simulated_equal_s"], rel=0.01)


def test_shares_are_nearer_to_equal_where_messages_take_long(capsys):
    # On gigabit most of MG's time is that of messages, and the largest block sends most; by the power 1 of the speed,
    # the shares would be 0.25 and 0.75.
    slow = [*ASKED, "--network", "gigabit", "--class", "W", "--app", "mg"]
    assert simulate([*slow, "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["compared"]
    assert found["exponent"] < 1
    assert found["shares"]["c2"] / found["shares"]["c1"] == pytest.approx(3 ** found["exponent"])
    assert found["advised"]["time_s"] == pytest.approx(found["simulated_advised_s"], rel=0.01)
    assert main([*slow, "--predictor", "hcf", "--json"]) == 0  # it expects the same messages whatever the shares are
    (by_speed,) = json.loads(capsys.readouterr().out)["advice"]
    assert (by_speed["exponent"], by_speed["shares"]["c2"]) == (1, pytest.approx(0.75))
    grid = materialise(named_grid("grid2x2", "gigabit", speeds_flops=[30e9, 90e9]))
    target = with_shares(Target(problem("mg", "W"), grid, block(grid, 4)), by_speed["shares"])
    with Runner(jobs=1) as runner:
        assert found["simulated_advised_s"] < runner.record(Settings().spec(target)).time_s


def test_tables_tell_shares_and_gain(capsys):
    assert simulate([*ASKED, "--app", "cg", "--search", "50"]) == 0
    shown = capsys.readouterr().out
    assert "cluster  advised %  best %  idle, equal" in shown
    assert "the best of 1 choice takes" in shown


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--app", "ft"], "shares of ft: it divides its data evenly only"),
        (["--app", "cg", "--predictor", "npt"], "--predictor npt: the model divides the work evenly among the ranks"),
        (["--app", "cg,mg", "--write", "x.csv"], "--write: there are 2 kernels. Choose one with --app"),
    ],
)
def test_impossible_requests_are_refused(words, reason, capsys):
    assert main([*ASKED, *words]) == 2
    assert reason in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("step", ["0", "7", "60", "nan"])
def test_steps_that_do_not_fill_the_whole_are_refused(step, capsys):
    assert simulate([*ASKED, "--app", "cg", "--search", step]) == 2
    assert "100 is not a multiple of it" in capsys.readouterr().err


def test_choices_of_four_clusters_in_steps_of_five_percent():
    assert sum(1 for _ in choices(4, 20)) == 969  # 19 over 3


SHARED = """
#include <mpi.h>
#include <smpi/smpi.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char *share = argv[1];
    for (int other = 0; other < rank; other++)
        share = strchr(share, ',') + 1;
    smpi_execute_flops(4.8e12 * atof(share));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
"""
TWO = ["--scenario", "grid2x2", "--speeds", "30,90", "--network", "ideal", "--no-store", "--json"]


def test_a_program_of_ones_own_divides_its_data_by_an_argument(tmp_path, capsys):
    source = tmp_path / "shared.c"
    source.write_text(SHARED)
    words = [*TWO, "--program", str(source), "--program-args={shares}"]
    assert simulate([*words, "--predictor", "dpgraph:known", "--search", "5"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["compared"]
    # By hand: 4.8e12 operations in quarters take 1.2e12 / 30e9 = 40 s; 240 Gflop/s together take 20 s.
    assert found["shares"] == pytest.approx({"c1": 0.25, "c2": 0.75})
    for told in ("simulated_equal_s", "simulated_advised_s"):
        assert found[told] == pytest.approx({"simulated_equal_s": 40, "simulated_advised_s": 20}[told], rel=1e-3)
    assert found["equal"]["time_s"] == pytest.approx(40, rel=1e-3)
    assert found["advised"]["time_s"] == pytest.approx(20, rel=1e-3)
    assert found["loss_pct"] == pytest.approx(0, abs=0.1)  # the search has 25 and 75 % too


def test_a_program_that_takes_no_shares_is_told_how_it_may(computing, capsys):
    assert main([*TWO, "--program", str(computing), "--program-args", "1e9"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "its arguments do not say how its data are divided. Write {shares} into --program-args" in said


def test_a_recording_of_unequal_shares_is_not_that_of_equal_ones():
    grid = materialise(named_grid("grid2x2", None, [30e9, 90e9]))
    equal = Target(problem("lu", "S"), grid, block(grid, 4))
    unequal = Target(equal.problem.divided([1, 1, 3, 3]), grid, equal.placement)
    identities = [recording_identity(Settings().spec(target), 3) for target in (equal, unequal)]
    assert identities[0] != identities[1]
