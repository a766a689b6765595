"""Platform files, clusters and ranks in a campaign file."""

from pathlib import Path

import pytest

from platforms.errors import UserError
from validation.campaign import read_campaign

DATA = Path(__file__).parents[1] / "platforms" / "data"


@pytest.fixture
def campaign(tmp_path):
    """``campaign(text, *files)``: the campaign of this text, with platform files beside it."""

    def read(text, *names):
        for name in names:
            (tmp_path / name).write_bytes((DATA / name).read_bytes())
        listed = ", ".join(f'"{name}"' for name in names)
        (tmp_path / "campaign.toml").write_text(f'platforms = [{listed}]\napps = ["mg"]\nclasses = ["S"]\n{text}\n')
        return read_campaign(tmp_path / "campaign.toml")

    return read


def test_clusters_are_those_of_every_platform_file(campaign):
    found = campaign('clusters = "one=*"\nranks = [2, 4]', "crossbar.xml", "backbone.xml")
    targets = [case.target for case in found.cases]
    assert [(t.platform.name, t.nranks) for t in targets] == [
        ("crossbar", 2), ("crossbar", 4), ("backbone", 2), ("backbone", 4),
    ]  # fmt: skip
    assert {cluster.name for t in targets for cluster in t.platform.clusters} == {"one"}


def test_ranks_per_host_are_a_factor_of_the_product(campaign):
    found = campaign("ranks_per_host = [1, 4]", "multicore.xml")
    assert [(case.target.nranks, case.target.nodes) for case in found.cases] == [(4, 4), (16, 4)]


def test_iterations_are_all_simulated_where_a_platform_changes(campaign):
    found = campaign("ranks = [2]", "halved.xml", "two_hosts.xml")
    policies = [case.settings.spec(case.target).iterations for case in found.cases]
    assert policies == ["full", "steady"]


@pytest.mark.parametrize(
    ("text", "names", "said"),
    [
        ('clusters = "a=x*"', ["two_hosts.xml"], "2 of 2 hosts match no pattern"),
        ("ranks_per_host = [5]", ["multicore.xml"], "5 ranks per host, but host w0 has 4 cores"),
        ("ranks = [0]", ["two_hosts.xml"], "Give numbers of at least 1"),
        ("", ["no_route.xml"], "route alice to bob"),
        ('scenarios = ["grid4x2"]\nclusters = "a=*"', [], "given without platform files"),
        ('iterations = "steady"', ["halved.xml"], "changes over time"),
    ],
)
def test_what_does_not_fit_is_refused(campaign, text, names, said):
    with pytest.raises(UserError) as error:
        campaign(text, *names)
    assert said in str(error.value)
