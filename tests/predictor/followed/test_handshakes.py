"""Cautions about all-to-alls whose blocks wait for their receivers."""

from dataclasses import replace

import pytest

from apps.programs.problem import problem
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise
from predictor.base import Cost, Evidence, EvidenceRequest, Prediction
from predictor.followed.scatter import largest_block, with_handshakes


@pytest.fixture
def asked():
    platform = replace(materialise(named_grid("grid4x2")), options=(("smpi/async-small-thresh", "65481"),))
    return Target(problem("ft", "S"), platform, block(platform, 8))


def probe(asked, record_of, source):
    # FT of class S: 64^3 complex numbers of 16 bytes, all of which go through each of 7 transpositions.
    few = Target(asked.problem, asked.platform, asked.placement[:2])
    sent = {"alltoall": {"calls": 7, "bytes": [7 * 64**3 * 16 // 2] * 2}}
    run = replace(record_of(few, 1.0, 1.0), collectives=sent, source=source)
    return Evidence(EvidenceRequest("run", few), run, "run", Cost())


def test_the_block_is_what_all_send_over_the_pairs_of_ranks(asked, record_of):
    assert largest_block(probe(asked, record_of, "measurement").answer, "alltoall", 8) == 64**3 * 16 / 8**2 == 65536


def test_blocks_above_the_threshold_have_a_caution_on_a_machine_only(asked, record_of):
    evidence = [probe(asked, record_of, "measurement")]
    (flag,) = with_handshakes(Prediction(1.0), asked, evidence).flags
    assert "MPI_Alltoall sends blocks of 65536 bytes" in flag
    assert with_handshakes(Prediction(1.0), asked, [probe(asked, record_of, "simulation")]).flags == ()
    more = replace(asked.platform, options=(("smpi/async-small-thresh", "262089"),))
    assert with_handshakes(Prediction(1.0), replace(asked, platform=more), evidence).flags == ()
    assert with_handshakes(Prediction(1.0), asked, []).flags == ()
