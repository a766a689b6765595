"""The paper's means beside those of a campaign."""

from statistics import mean

import pytest

from validation.nodes.campaign_file import read_allocation_campaign
from validation.nodes.output import published, published_text


def test_every_mean_of_sections_5_1_to_5_8_stands_beside_its_own_model():
    # Sections 5.1 to 5.4 give N-T, P-T and NP-T by least squares, 5.8 again by LS and NNLS with other compilers.
    means = published()
    for app, section in (("himeno", "5.1"), ("fem", "5.2"), ("hpl", "5.3"), ("fft", "5.4")):
        assert [means[app, f"{form}/LS"][0].section for form in ("N-T", "P-T", "NP-T")] == [section] * 3
        assert [one.section for one in means[app, "NP-T/LS"]] == [section, "5.8"]
    assert published_text("hpl", "NP-T/NNLS") == "1.00 % (5.8)"
    assert published_text("fem", "P-T/LS, without log P") == "43.0 % (5.7)"
    assert published_text("fem", "NP-T/NNLS, relative weights") == "-"


def test_the_means_agree_with_the_papers_own_statements_about_them():
    means = published()
    # Section 5.1: without N = 32 the P-T model improves most; 5.4: for large sizes N-T gets worse and NP-T is best.
    himeno = {form: means["himeno", f"{form}/LS"][0] for form in ("N-T", "P-T", "NP-T")}
    assert himeno["N-T"].large_percent > himeno["N-T"].epsilon_percent
    # One size of ten has 123 % with P-T (section 5.1): (123 + 9 x 12) / 10 = 23.1.
    assert round(mean([123, *[himeno["P-T"].large_percent] * 9])) == himeno["P-T"].epsilon_percent
    assert round(mean([0, *[himeno["N-T"].large_percent] * 9]), 1) == 13.5  # printed as 13
    fft = [means["fft", f"{form}/LS"][0].large_percent for form in ("N-T", "P-T", "NP-T")]
    assert min(fft) == fft[2] == 38


def test_a_study_has_shares_of_single_clusters_and_a_memory_bus(tmp_path):
    path = tmp_path / "campaign.toml"
    path.write_text(
        '[[studies]]\napp = "himeno"\nevaluation = [32]\nefficiency = "0.2,xeon=0.1"\nmemory_bus = 3.2\n'
        'bytes_per_flop = 2\nstatic = ["(4,1,0,0,0,0)"]\n'
    )
    (case,) = read_allocation_campaign(path).studies
    assert (case.settings.efficiency, case.settings.memory_bus, case.settings.bytes_per_flop) == ("0.2", 3.2e9, 2.0)
    assert [cluster.speed_flops for cluster in case.study.platform.clusters] == pytest.approx([7.2e9, 2.8e9, 2.25e9])
