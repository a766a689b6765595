"""``gridval.blocks``."""

import gridval
import pytest

APPLICATION = """
name = "pair"
[variables]
seconds = 1
[labels.sender]
count = 1
program = [{ compute = "20.8e9 * seconds" }, { send_to = "receiver", bytes = 1000 }]
[labels.receiver]
count = 1
program = [{ receive_from = "sender" }]
"""
CLUSTER = "examples/blocks/cluster.toml"


@pytest.fixture
def pair(tmp_path):
    path = tmp_path / "pair.toml"
    path.write_text(APPLICATION)
    return path


def test_a_grid_is_a_data_frame_that_draws_itself(pair, tmp_path):
    vary = {"seconds": [1, 2], "power": ("idle-waiting", "paper")}
    found = gridval.blocks(pair, CLUSTER, vary, parts=True, store=tmp_path / "store", jobs=1)
    assert found[["seconds", "power"]].to_numpy().tolist() == [
        [1, "idle-waiting"], [1, "paper"], [2, "idle-waiting"], [2, "paper"],
    ]  # fmt: skip
    assert found["time_s"].tolist() == pytest.approx([1, 1, 2, 2], rel=1e-3)
    assert found["speed_up"].tolist() == pytest.approx([1, 1, 0.5, 0.5], rel=1e-3)
    parts = found[["computing_s", "sending_s", "waiting_s", "disk_s", "idle_s"]].sum(axis=1)
    assert parts.tolist() == pytest.approx(found["time_s"].tolist())
    assert found.cautions == []
    for number, picture in enumerate((found.plot(), found.plot("power"), found.plot_front())):
        picture.save(tmp_path / f"{number}.svg")
    with pytest.raises(gridval.UserError, match="plot nodes: this is not varied"):
        found.plot("nodes")


def test_a_grid_may_be_simulated_too(pair, tmp_path):
    found = gridval.blocks(pair, CLUSTER, {"seconds": "1:2"}, simulate=True, power="paper", store=tmp_path / "store")
    assert found["simulated_time_s"].tolist() == pytest.approx(found["time_s"].tolist(), rel=1e-6)
    assert found["simulated_energy_j"].tolist() == pytest.approx(found["energy_j"].tolist(), rel=1e-6)
    assert found["simulated_speed_up"].tolist() == pytest.approx(found["speed_up"].tolist(), rel=1e-6)


@pytest.mark.parametrize(
    ("vary", "message"),
    [
        ({}, "vary: names nothing"),
        ({"nodes": 1}, "no label or variable 'nodes'"),
        ({"seconds": [1, -1]}, "below 0"),
        ({"seconds": []}, "an empty value"),
    ],
)
def test_wrong_arguments_are_one_line(pair, vary, message):
    with pytest.raises(gridval.UserError, match=message):
        gridval.blocks(pair, CLUSTER, vary, store=False, jobs=1)


def test_other_options_of_the_verb_are_given_by_the_names_of_their_fields(pair, tmp_path):
    found = gridval.blocks(pair, CLUSTER, {"seconds": [1, 2]}, model="hardware", policy="cheapest", no_store=True)
    assert set(found["model"]) == {"hardware"}
    with pytest.raises(gridval.UserError, match="policy 'nearest'"):
        gridval.blocks(pair, CLUSTER, {"seconds": 1}, policy="nearest", store=False)
    # The settings of simulations are options of the command that simulates alone.
    given = {"vary": {"seconds": 1}, "store": tmp_path / "store", "wall_limit": 100}
    assert gridval.blocks(pair, CLUSTER, simulate=True, **given)["simulated_time_s"].tolist() == pytest.approx(
        [1], rel=1e-3
    )
    with pytest.raises(gridval.UserError, match=r"^wall_limit: no such option\."):
        gridval.blocks(pair, CLUSTER, **given)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"out": "results"}, r"out: gridval\.blocks has no such option\. Call gridval\.ask\(\"blocks run\", \.\.\.\)"),
        ({"timeline": "a.json"}, r"timeline: gridval\.blocks has no such option"),
        ({"dry_run": True}, r"dry_run: gridval\.blocks has no such option"),
        ({"polcy": "cheapest"}, r"polcy: no such option\. Did you mean policy\?"),
        ({"counts": {"sender": 2}, "count": {"sender": 3}}, "count: is given twice"),
    ],
)
def test_options_without_an_effect_and_wrong_ones_are_refused(pair, options, message):
    with pytest.raises(gridval.UserError, match=message):
        gridval.blocks(pair, CLUSTER, {"seconds": 1}, store=False, jobs=1, **options)
