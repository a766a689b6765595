"""``gridval plan grid``: errors in files and options are reported in one line."""

import pytest

from predictor.grid import space
from predictor.grid.cli import main

SLOW = '[[nodes]]\nname = "slow"\nspeed_gflops = 40\nprice = 400\n'
FAST = '[[nodes]]\nname = "fast"\nspeed_gflops = 70\nprice = 650\n'
IDEAL = '[[networks]]\nname = "ideal"\n'
EP = '[[programs]]\napp = "ep"\nclass = "S"\n'
HIMENO = '[[programs]]\napp = "himeno"\nsize = 64\n'
GOOD = {"nodes": SLOW, "networks": IDEAL, "programs": EP}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"nodes": ""}, r"no \[\[nodes\]\]"),
        ({"networks": ""}, r"no \[\[networks\]\]"),
        ({"programs": ""}, r"no \[\[programs\]\]"),
        ({"nodes": SLOW + SLOW}, "'slow' is given twice"),
        ({"programs": EP + EP}, "'ep S' is given twice"),
        ({"nodes": SLOW.replace("400", "-1")}, "nodes 1: price = -1. Give 0 or more"),
        ({"nodes": SLOW.replace("400", "nan")}, "nodes 1: price = nan"),
        ({"nodes": SLOW.replace("price", "prize")}, "unknown key 'prize'"),
        ({"nodes": SLOW.replace("price = 400", "")}, "'price' is missing"),
        ({"nodes": SLOW.replace("40\n", "0\n")}, "speed is 0.0 flop/s"),
        ({"nodes": SLOW.replace('"slow"', '"no way"')}, "not a name that SimGrid can use"),
        ({"nodes": SLOW + "most = 0\n"}, "most = 0. Give at least 1"),
        ({"nodes": SLOW + "cores = 0\n"}, "0 cores per node"),
        ({"nodes": SLOW + "power = { idle_w = 9, full_w = 3 }\n"}, "9.0 W idle and 3.0 W at full load"),
        (
            {"networks": IDEAL.replace("ideal", "carrier-pigeon")},
            "networks 1: network 'carrier-pigeon': no such network",
        ),
        ({"networks": IDEAL + 'wan = { shape = "ring" }\n'}, "no shape 'ring'"),
        ({"networks": IDEAL + "node = { latency_us = -1 }\n"}, "latency is -1e-06 s"),
        ({"networks": IDEAL + "wan = { bandwidth_gbit_s = 0 }\n"}, "bandwidth is 0.0 byte/s"),
        ({"networks": IDEAL + "backbone_price = inf\n"}, "backbone_price = inf"),
        ({"programs": EP.replace("ep", "epp")}, "programs 1: app 'epp': no such program"),
        ({"programs": EP.replace('"S"', '"Z"')}, "programs 1: class 'Z': ep has no such class"),
        ({"programs": EP + "weight = 0\n"}, "weight = 0. Give a positive number"),
        ({"programs": EP + "size = 10\n"}, "'class' or 'size' is needed"),
        ({"programs": EP + "params = { a = 1 }\n"}, "'params' goes with 'size'"),
        ({"programs": '[[programs]]\napp = "hpl"\nsize = 100\nparams = { nbb = 1 }\n'}, "no such parameter"),
        ({"programs": '[[programs]]\napp = "hpl"\nsize = 100\nparams = 3\n'}, "params = 3 is not a table"),
        (
            {"programs": '[[programs]]\napp = "hpl"\nsize = 100\nparams = { nb = [1] }\n'},
            "params: nb = [1]. Give a number",
        ),
        ({"programs": HIMENO + 'params = { niter = "x" }\n'}, "programs 1: parameter niter=x: not an integer"),
        ({"programs": HIMENO + "params = { niter = -3 }\n"}, "programs 1, params: niter = -3. Give at least 1"),
        (
            {"programs": HIMENO + "params = { size = 3 }\n"},
            "programs 1: parameter 'size': himeno has no such parameter",
        ),
        ({"programs": HIMENO.replace("64", "0")}, "programs 1: size 0: not a size"),
        ({"programs": HIMENO.replace("size = 64", 'class = "S"')}, "himeno has no classes. Give its 'size'"),
        ({"top": "ranks_per_node = 2"}, "ranks_per_node = 2, but a node of kind slow has 1 core"),
        ({"top": "ranks_per_node = 0"}, "ranks_per_node = 0"),
        ({"top": 'ranks_per_node = "all"'}, "is not a whole number"),
        ({"clusters": "most_nodes = 4"}, "'most' is missing"),
        ({"clusters": "most = 1"}, "'sizes' or 'most_nodes' is needed"),
        ({"clusters": "most = 1\nsizes = [2]\nmost_nodes = 4"}, "'sizes' or 'most_nodes' is needed"),
        ({"clusters": "most = 1\nsizes = [2]\nstep = 2"}, "'step' goes with 'most_nodes'"),
        ({"clusters": "most = 1\nsizes = [0, 2]"}, "clusters of 0 nodes"),
        ({"clusters": "most = 1\nsizes = []"}, "clusters of no nodes"),
        ({"clusters": "most = 1\nsizes = [10000000]"}, "clusters of 10000000 nodes"),
        ({"clusters": "most = 1\nmost_nodes = 4\nstep = 0"}, "step = 0"),
        ({"clusters": "most = 1\nmost_nodes = 1000000000000"}, "clusters: clusters of 1000000000000 nodes"),
        ({"clusters": "least = 3\nmost = 2\nsizes = [2]"}, "3 to 2 clusters"),
        ({"clusters": "most = 1\nsizes = [2]\nprice = -3"}, "price = -3"),
        ({"budget": "-5"}, "design.toml: budget -5: not an amount"),
        ({"budget": "inf"}, "budget inf: not an amount"),
        ({"budget": "399"}, "a budget of 399 buys no grid"),
        (
            {"programs": '[[programs]]\napp = "fft"\nsize = 4096\n', "clusters": "most = 1\nsizes = [3]"},
            "no grid within the budget has a number of ranks on which all programs run: fft 4096 does not run on 3 "
            "ranks. Give other sizes",
        ),
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_one_line(change, message, design, capsys):
    parts = [change.get(key, part) for key, part in GOOD.items()]
    others = {key: value for key, value in change.items() if key not in GOOD}
    path = design(*parts, **others)
    assert main([str(path)]) == 2
    error = capsys.readouterr().err
    assert str(path) in error or "grid" in message  # the space belongs to the design, not to a key
    assert error.count("\n") == 1 and error.startswith("error: ")
    assert message.replace("\\", "") in error


def test_a_space_that_is_too_large_is_refused_and_says_how_to_make_it_smaller(design, capsys, monkeypatch):
    monkeypatch.setattr(space, "MOST_CANDIDATES", 26)  # there are 27
    assert main([str(design(SLOW, FAST, IDEAL, EP, budget=1e9, clusters="most = 2\nmost_nodes = 3"))]) == 2
    assert "more than 26 grids are within the budget. Give fewer sizes" in capsys.readouterr().err
    monkeypatch.setattr(space, "MOST_AFFORDABLE", 100)
    fft = '[[programs]]\napp = "fft"\nsize = 4096\n'  # allows none of these
    assert main([str(design(SLOW, FAST, IDEAL, fft, budget=1e9, clusters="most = 1\nsizes = [67]"))]) == 2
    assert "no grid within the budget has a number of ranks" in capsys.readouterr().err
    clusters = f"most = 1\nsizes = {[size for size in range(65, 165) if size != 128]}"
    assert main([str(design(SLOW, FAST, IDEAL, fft, budget=1e9, clusters=clusters))]) == 2
    assert "more than 100 grids are within the budget. Give fewer sizes" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--top", "0"], "--top 0: below one"),
        (["--budget", "0"], "budget 0: not an amount"),
        (["--predictor", "oracle"], "predictor 'oracle': no such model"),
        (["--cfg", "smpi/coll-selector:mpich"], "no answer for any grid: smpi/coll-selector"),
        (["--efficiency", "2"], "not in (0, 1]"),
    ],
)
def test_what_is_wrong_with_an_option_is_said_in_one_line(options, message, design, capsys):
    assert main([str(design(SLOW, IDEAL, EP, clusters="most = 1\nsizes = [2]")), *options]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and message in error


def test_a_missing_file_is_said_in_one_line(capsys):
    assert main(["nowhere.toml"]) == 2
    assert "nowhere.toml: cannot be read" in capsys.readouterr().err
