"""The algorithms of collective operations, from what an MPI library says of itself."""

from pathlib import Path

import pytest

from apps.calibrate.machine.collectives import collectives_of, rules_for

# Open MPI 4.1.4, ``ldd`` and some lines of ``ompi_info --parsable --level 9 --param coll all`` with
# OMPI_MCA_coll_tuned_use_dynamic_rules=1, coll_tuned_alltoall_algorithm=2 and coll_tuned_allreduce_algorithm=3.
FORCED = Path(__file__).with_name("ompi_info.txt").read_text()
FREE = FORCED.replace("dynamic_rules:value:true", "dynamic_rules:value:false")
# The example of Open MPI's documentation (tuning collectives), of version 1 of the format.
RULES = """
1 # num of collectives
3 # ID = 3 Alltoall collective
1 # number of com sizes
64 # comm size 64
2 # number of msg sizes
0 3 0 0 # for message size 0, bruck 1, topo 0, 0 segmentation
8192 2 0 0 # 8k+, pairwise 2, no topo or segmentation
"""


def with_rules(text, rules):
    return "\n".join([text, *(f"rules: {line}" for line in rules.splitlines())])


def test_open_mpis_fixed_rules_are_those_of_smpis_selector():
    found = collectives_of(FREE, 8)
    assert (found.selector, found.options, found.notes) == ("ompi", {}, ())
    assert found.said == "Open MPI 4.1.4's, as it answered: its own rules"


def test_an_algorithm_that_a_parameter_names_is_simulated_where_rules_are_dynamic():
    # By Open MPI's names: pairwise sends to rank + i and receives from rank - i, as SMPI's ring does.
    found = collectives_of(FORCED, 8)
    assert found.options == {"smpi/allreduce": "rdb", "smpi/alltoall": "ring"}
    assert "alltoall pairwise" in found.said


def test_an_algorithm_that_smpi_lacks_is_said():
    found = collectives_of(FORCED.replace("bcast_algorithm:value:ignore", "bcast_algorithm:value:knomial"), 8)
    assert "smpi/bcast" not in found.options
    assert any("knomial" in note for note in found.notes)


def test_rules_in_a_file_hold_from_the_size_of_their_communicator_on():
    assert rules_for(RULES, 64) == {"alltoall": [(0, 3), (8192, 2)]}
    assert rules_for(RULES, 63) == {}


def test_of_rules_that_depend_on_the_size_those_of_large_blocks_stand_for_an_all_to_all():
    found = collectives_of(with_rules(FORCED.replace("alltoall_algorithm:value:pairwise", "x:value:0"), RULES), 100)
    assert found.options["smpi/alltoall"] == "ring"
    assert any("modified_bruck from 0 bytes, pairwise from 8192 bytes" in note for note in found.notes)


def test_version_2_of_the_rules_has_a_number_more():
    text = "rule-file-version-2\n1\n2\n1\n4\n2\n0 3 0 0 0\n1024 4 0 0 16\n"
    assert rules_for(text, 4) == {"allreduce": [(0, 3), (1024, 4)]}


def test_a_file_of_rules_that_breaks_off_counts_up_to_there():
    assert rules_for("2\n3\n1\n4\n1\n0 2 0 0\n2\n1", 4) == {"alltoall": [(0, 2)]}


def test_older_versions_of_open_mpi_exchange_large_blocks_in_pairs():
    # Open MPI 1.7 to 4.0: MPI_Alltoall is pairwise from 3000 bytes on (coll_tuned_decision_fixed).
    found = collectives_of(FREE.replace("4.1.4", "3.1.3"), 8)
    assert found.options == {"smpi/alltoall": "ring"}
    assert "3000 bytes" in found.notes[0]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("coll_han_priority:value:0", "coll_han_priority:value:35", "han takes precedence over tuned"),
        ("coll:base:param:coll:value:", "coll:base:param:coll:value:^tuned", "coll=^tuned"),
        ("coll:base:param:coll:value:", "coll:base:param:coll:value:basic,self", "coll=basic,self"),
    ],
)
def test_modules_that_decide_in_place_of_tuned_are_said(old, new, said):
    assert said in collectives_of(FREE.replace(old, new), 8).notes[0]


def test_mpich_and_its_relatives_are_known_by_what_the_program_is_linked_with():
    linked = "\tlibmpi.so.12 => /opt/mpich/lib/libmpi.so.12 (0x0)\n"
    assert collectives_of(linked, 4).selector == "mpich"
    assert collectives_of("\tlibmpich.so.12 => /usr/lib/libmpich.so.12 (0x0)\n", 4).selector == "mpich"
    assert collectives_of(f"{linked}I_MPI_ROOT=/opt/intel\n", 4).selector == "impi"
    assert collectives_of("\tlibmpi.so.12 => /opt/mvapich2/lib/libmpi.so.12 (0x0)\n", 4).selector == "mvapich2"


def test_an_algorithm_that_a_variable_of_mpich_names_is_simulated():
    # Names of MPICH 3.4 to 4.2 (src/mpi/coll/cvars.txt).
    answer = "\tlibmpich.so.12 => x (0x0)\nMPIR_CVAR_ALLTOALL_INTRA_ALGORITHM=brucks\n"
    answer += "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM=auto\n"
    assert collectives_of(answer, 4).options == {"smpi/alltoall": "bruck"}


def test_a_library_that_does_not_answer_is_said():
    found = collectives_of("", 4)
    assert found.selector == "ompi"
    assert "--collectives" in found.notes[0]
