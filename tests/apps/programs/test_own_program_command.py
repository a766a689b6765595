"""Commands with --program: their output, and their messages about programs that cannot be run."""

import json
import subprocess
from pathlib import Path

import pytest

from apps.options.programs import ProgramOptions, own_problem_from_request
from apps.run import main
from platforms.errors import UserError

JACOBI = Path(__file__).parents[3] / "examples" / "jacobi" / "jacobi.c"
COMMAND = ["--scenario", "grid4x2", "--ranks", "2", "--program"]


def refused(capsys, program, *arguments):
    """Return the one line of standard error."""
    assert main([*COMMAND, str(program), *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and err.startswith("error: ")
    return err


def test_the_record_is_printed_and_can_be_repeated_by_hand(capsys, tmp_path):
    arguments = ["--program-args", "60 {iterations} charged", "--program-iterations", "8", "--iterations", "full"]
    assert main([*COMMAND, str(JACOBI), *arguments, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["app"] == "jacobi" and record["class"] is None
    assert record["arguments"] == ["60", "{iterations}", "charged"]
    (tmp_path / "HOSTS").write_text("".join(f"{host}\n" for host in record["host"]))
    done = subprocess.run(record["command"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "after 8 iterations on 60 x 60 points" in done.stdout


def test_a_program_that_injects_nothing_is_said_to_take_no_time(capsys):
    assert main([*COMMAND, str(JACOBI), "--program-args", "60 3"]) == 0
    assert "caution: the program injects no computation" in capsys.readouterr().err


def test_measured_times_that_are_not_kept_are_said_to_vary(capsys, tmp_path):
    asked = [*COMMAND, str(JACOBI), "--program-args", "60 3", "--computation", "measured"]
    assert main([*asked, "--no-store"]) == 0
    assert "caution: computation is timed on this machine: results vary from run to run" in capsys.readouterr().err
    outputs = []
    for _ in range(2):
        assert main([*asked, "--store", str(tmp_path), "--json"]) == 0
        outputs.append(json.loads(capsys.readouterr().out)["time_s"])
    assert outputs[0] == outputs[1] > 0


def test_files_that_are_no_program_are_refused(capsys, tmp_path):
    assert "no such file" in refused(capsys, tmp_path / "nothing.c")
    assert "it is a folder" in refused(capsys, tmp_path)
    (tmp_path / "notes.txt").write_text("not a program")
    assert "Known: .c, " in refused(capsys, tmp_path / "notes.txt")
    (tmp_path / "wrong.c").write_text("int main(void) { return x; }")
    assert "wrong.c:1:" in refused(capsys, tmp_path / "wrong.c")


def test_binaries_that_smpi_cannot_run_are_refused(capsys, tmp_path):
    (tmp_path / "plain.c").write_text("int main(void) { return 0; }")
    subprocess.run(["gcc", "plain.c", "-o", "plain"], cwd=tmp_path, check=True)
    assert "it uses no MPI library that is known" in refused(capsys, tmp_path / "plain")
    (tmp_path / "library.c").write_text("#include <mpi.h>\nint helper(void) { return MPI_Barrier(MPI_COMM_WORLD); }")
    subprocess.run(["smpicc", "library.c", "-o", "library"], cwd=tmp_path, check=True)
    assert "it has no main" in refused(capsys, tmp_path / "library")
    content = bytearray((tmp_path / "library").read_bytes())
    content[18] ^= 0x40  # e_machine of the ELF header
    (tmp_path / "foreign").write_bytes(content)
    assert "another processor" in refused(capsys, tmp_path / "foreign")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--program-args", "{iterations}"], "Give --program-iterations N too"),
        (["--program-iterations", "5"], "Write {iterations} in --program-args"),
        (["--program-args", "{iterations}", "--program-iterations", "0"], "not positive"),
        (["--program-args", "'a b'"], "cannot pass the argument 'a b'"),
        (["--program-args", "*"], "cannot pass the argument '*'"),
        (["--program-args", "'"], "Close the quotation"),
        (["--app", "cg"], "does not go with --program"),
        (["--class", "S"], "does not go with --program"),
        (["--mode", "verify"], "has no modes"),
        (["--efficiency", "measured"], "efficiency of a kernel"),
        (["--host-speed", "5"], "goes with --compute measured. Give that too"),
        (["--iterations", "3"], "no iterations to be counted"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(capsys, arguments, message):
    assert message in refused(capsys, JACOBI, *arguments)


def test_a_program_that_aborts_is_a_failed_run(capsys):
    assert main([*COMMAND, str(JACOBI)]) == 1  # without its arguments
    assert "the program called MPI_Abort" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--program-args", "1"], "there is no program"),
        ([], "or give --program FILE"),
        (["--app", "cg", "--compute", "measured"], "It is for programs of your own"),
        (["--app", "cg", "--host-speed", "1"], "for programs of your own (--program). Leave it out"),
    ],
)
def test_a_program_is_needed_for_what_belongs_to_one(capsys, arguments, message):
    assert main(["--scenario", "grid4x2", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_parameter_of_a_kernel_is_none_of_a_program():
    request = ProgramOptions(program="x.c", param=("n=3",))
    with pytest.raises(UserError, match=r"--param n=3: does not go with --program\. Use --program-args"):
        own_problem_from_request(request)


READS_ITS_COUNT = """#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
  int n = 0, rank;
  FILE *file;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  file = fopen("run.in", "r");
  if (!file || fscanf(file, "steps=%d", &n) != 1)
    return 1;
  fclose(file);
  for (int i = 0; i < n; i++) {
    for (volatile int k = 0; k < 100000; k++); /* takes a time that is never measured as none */
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (!rank) printf("%d steps\\n", n);
  MPI_Finalize();
}
"""


def test_an_input_file_is_made_for_each_number_of_iterations(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.c").write_text(READS_ITS_COUNT)
    (tmp_path / "run.in").write_text("steps=7\n")  # of the user; a run has another in its place
    (tmp_path / "any.template").write_text("steps={iterations}\n")
    asked = ["p.c", "--program-file", "run.in=any.template", "--program-iterations", "40", "--keep-output", "kept"]
    assert main([*COMMAND, *asked, "--iterations", "full", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["collectives"]["barrier"]["calls"] == 40
    assert (tmp_path / "kept" / "stdout.txt").read_text() == "40 steps\n"
    assert main([*COMMAND, *asked, "--iterations", "6", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["extrapolation"]["simulated"] == 6
    # The template belongs to the program; what its compiler opened is an input.
    assert not [name for name in record["inputs"]["files"] if name.endswith(("run.in", "any.template"))]
    assert (tmp_path / "run.in").read_text() == "steps=7\n"


def test_templates_are_part_of_the_program(tmp_path):
    (tmp_path / "p.c").write_text(READS_ITS_COUNT)
    hashes = set()
    for text in ("steps={iterations}", "steps={iterations} ", "steps=3"):
        (tmp_path / "run.in").write_text(text)
        asked = ProgramOptions(
            program=str(tmp_path / "p.c"),
            program_file=(str(tmp_path / "run.in"),),
            program_iterations=None if text == "steps=3" else 9,
        )
        program = own_problem_from_request(asked).program
        hashes.add(program.content_hash)
        assert program.files_for(4) == {"run.in": text.replace("{iterations}", "4")}
    assert len(hashes) == 3


def test_templates_that_cannot_be_used_are_refused(capsys, tmp_path):
    (tmp_path / "p.c").write_text(READS_ITS_COUNT)
    (tmp_path / "a.in").write_text("steps={iterations}")
    program, template = str(tmp_path / "p.c"), str(tmp_path / "a.in")
    assert "--program-iterations N too" in refused(capsys, program, "--program-file", template)
    assert "without a folder" in refused(capsys, program, "--program-file", f"in/run.in={template}")
    assert "cannot be read" in refused(capsys, program, "--program-file", "run.in=none.in")
    assert "two files run.in" in refused(
        capsys, program, "--program-file", f"run.in={template}", "--program-file", f"run.in={template}"
    )
    assert "neither arguments nor files" in refused(
        capsys, program, "--program-file", f"run.in={program}", "--program-iterations", "4"
    )
