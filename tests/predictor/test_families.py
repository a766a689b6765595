"""Predictors by family: names, old names, and what the table of the families says of the predictors."""

import pytest

from platforms.errors import UserError
from predictor.families import FAMILIES, RENAMED, VARIANTS, current_name, family_of, knowing_shares
from predictor.registry import PREDICTORS, predictor
from validation.entrance.main import main


@pytest.mark.parametrize("name", VARIANTS)
def test_a_predictor_has_the_name_of_its_place_in_the_table(name):
    made = predictor(name)
    assert made.name == name
    assert VARIANTS[name].unequal_shares == getattr(made, "unequal_shares", False)


def test_there_are_about_ten_families_and_the_best_comes_first():
    assert 8 <= len(FAMILIES) <= 12
    assert next(iter(PREDICTORS)) == "structural"
    assert {family_of(name) for name in VARIANTS} == set(FAMILIES)


@pytest.mark.parametrize("old", RENAMED)
def test_an_old_name_ends_in_a_line_with_the_new_one(old):
    with pytest.raises(UserError, match=rf"predictor '{old}': is called {RENAMED[old]} now\. Write that\."):
        predictor(old)


def test_a_misspelt_variant_is_no_location_of_a_predictor_of_ones_own():
    with pytest.raises(UserError, match=r"no such model\. Did you mean hcf:constant"):
        predictor("hcf:constnat")


def test_results_that_were_kept_have_the_names_of_today():
    assert current_name("dpgraph-li-size") == "dpgraph:li-size" and current_name("own.py:MINE") == "own.py:MINE"


def test_remedies_name_the_predictors_that_know_unequal_shares():
    assert knowing_shares() == "structural, dpgraph, dpgraph:known, hcf:constant, hcf or hcf:printed"


def test_an_old_name_on_the_command_line_and_in_a_campaign_is_one_line(tmp_path, capsys):
    assert main(["predict", "--scenario", "grid4x2", "--app", "cg", "--class", "S", "--predictor", "hcf-constant"]) == 2
    assert capsys.readouterr().err == "error: predictor 'hcf-constant': is called hcf:constant now. Write that.\n"
    file = tmp_path / "c.toml"
    file.write_text('scenarios = ["grid4x2"]\napps = ["cg"]\nclasses = ["S"]\npredictors = ["pt"]\n')
    assert main(["series", "campaign", str(file), "--no-store"]) == 2
    assert "is called npt:pt now" in capsys.readouterr().err
