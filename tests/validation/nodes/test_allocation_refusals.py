"""``gridval plan nodes --simulate``: what it refuses, before anything runs."""

import pytest

from validation.nodes import campaign, command
from validation.nodes.cli import main

STUDY = '[[studies]]\napp = "himeno"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "[[studies]]"),
        ("studies = 3", "studies"),
        ("seeds = 0\n" + STUDY, "seeds"),
        ('seeds = "x"\n' + STUDY, "seeds"),
        ("seed = 3\n" + STUDY, "unknown key 'seed'"),
        ('scenario = "nowhere"\n' + STUDY, "no such scenario"),
        ('scenario = "nowhere.toml"\n' + STUDY, "nowhere.toml"),
        ('network = "avian"\n' + STUDY, "gigabit"),
        ("[[studies]]", "studies 1: 'app' is missing"),
        ('[[studies]]\napp = "nope"', "studies 1, app: app 'nope': no such program"),
        ('[[studies]]\napp = "cg"', "studies 1, app: size 1: cg has no free size"),
        (STUDY, "studies 1: no models or other choices"),
        (STUDY + "size = 3", "unknown key 'size'"),
        (STUDY + "nodes = [4, 4]", "studies 1, nodes and processes"),
        (STUDY + "nodes = [4, 4, 99]", "studies 1, nodes and processes: nodes: 99 nodes of"),
        (STUDY + 'nodes = "4"', "nodes"),
        (STUDY + "nodes = [0, 0, 0]", "studies 1, evaluation, params"),
        (STUDY + "evaluation = []", "studies 1, evaluation"),
        (STUDY + "evaluation = [0]", "studies 1, evaluation, params: size 0"),
        (STUDY + "evaluation = [1.5]", "evaluation"),
        (STUDY + "params = 3", "studies 1, params"),
        (STUDY + "params = { speed = 3 }", "studies 1, evaluation, params: parameter 'speed'"),
        (STUDY + "construction = [32, 32, 48]", "studies 1, construction: 32 is given more than once"),
        (STUDY + "evaluation = [32, 64, 32]", "studies 1, evaluation: 32 is given more than once"),
        (
            '[[studies]]\napp = "fem"\nevaluation = [7777]\nstatic = ["(1,1,0,0,0,0)"]',
            "has given its number of iterations (fem/iterations.csv), nor for 2 more of 3",
        ),
        (STUDY + "efficiency = 7", "studies 1, efficiency"),
        (STUDY + 'predictors = ["oracle"]', "studies 1, predictors: predictor 'oracle'"),
        (STUDY + 'static = ["4,1"]', "studies 1, static: (4,1) is not within"),
        (STUDY + 'static = ["(8,1,0,0,0,0)"]', "studies 1, static: (8,1,0,0,0,0) is not within"),
        (STUDY + 'static = ["four"]', "studies 1, static: configuration 'four'"),
        (STUDY + '[[studies.models]]\nform = "xx"', "studies 1, models 1: form 'xx'"),
        (STUDY + '[[studies.models]]\nfit = "xx"', "studies 1, models 1: fit 'xx'"),
        (STUDY + '[[studies.models]]\nweights = "xx"', "studies 1, models 1: weights 'xx'"),
        (STUDY + '[[studies.models]]\ndrop = ["P^9"]', "studies 1, models 1: term 'P^9'"),
        (STUDY + "[[studies.models]]\nnoise = [-1]", "studies 1, models 1: noise -1"),
        (STUDY + "[[studies.models]]\nnoise = 0.02", "noise"),
        (STUDY + "[[studies.models]]\nglitches = 2", "studies 1, models 1: glitches below k = 2"),
        (STUDY + "[[studies.models]]\nlargest = 48", "studies 1, models 1: N-T model"),
        (STUDY + "[[studies.models]]\nlargest = 1", "studies 1, models 1: measurements"),
        (STUDY + "construction = [32, 48]\n[[studies.models]]", "studies 1, models 1: N-T model"),
        ("scenario = ", "not TOML"),
    ],
)
def test_a_bad_file_gets_one_line_naming_file_and_key(pretend, refused, tmp_path, text, message):
    done = pretend(lambda target: 1.0, campaign)
    (tmp_path / "bad.toml").write_text(text)
    refused(main, [str(tmp_path / "bad.toml")], "bad.toml", message)
    assert not done.targets


@pytest.mark.parametrize("option", ["--size 20", "--app himeno", "--scenario ichikawa", "--noise 0", "--efficiency 1"])
def test_options_do_not_go_with_a_campaign_file(pretend, refused, tmp_path, option):
    pretend(lambda target: 1.0, campaign)
    (tmp_path / "campaign.toml").write_text(STUDY + "[[studies.models]]")
    refused(main, [str(tmp_path / "campaign.toml"), *option.split()], f"{option.split()[0]}: does not go")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("/nowhere.toml", "cannot be read"),
        ("--scenario ichikawa --app himeno --size 20 --out DIR", "needs a campaign file"),
        ("--scenario ichikawa --app himeno", "--size: not given"),
        ("--scenario ichikawa --app himeno --size 20 --construction 8,10", "for the 4 terms"),
    ],
)
def test_bad_options_get_one_line(pretend, refused, arguments, message):
    pretend(lambda target: 1.0, command, campaign)
    refused(main, arguments.split(), message)
