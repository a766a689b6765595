"""Batch scripts of Slurm, PBS and LSF: what is read of them, that nothing runs, and that only headers are changed."""

import os
from pathlib import Path

import pytest

from apps.batch.headers import NAMES, limit_text, rounded_up_s, time_limit_s
from apps.batch.script import MOST_BYTES, read_script, rewritten, script_of
from platforms.errors import UserError

SCRIPTS = Path(__file__).parent / "scripts"
# By hand: nodes, tasks and seconds that the headers request; and of every step its line, launcher, ranks, ranks per
# node, cores per rank, program and arguments.
READ = {
    "plain.sbatch": (2, 8, 1800, [(13, "srun", 8, 4, 1, "./heat", "--size 2000 --steps 500")]),
    "short.sbatch": (4, 64, 129600, [(11, "srun", 64, 16, 2, "~/bin/lattice", "-i run.in")]),
    "array.sbatch": (1, 16, 7200, [(8, "mpirun", 0, None, 1, "", "")]),
    "gpu.sbatch": (2, 8, 5400, [(11, "srun", 0, None, 1, "", ""), (12, "srun", 8, 4, 8, "./reduce", "")]),
    "steps.sbatch": (
        4,
        32,
        14400,
        [
            (9, "srun", 1, 1, 1, "../prepare", "input.nml"),
            (11, "srun", 32, 8, 1, "../solve", "--iterations 100"),
            (14, "srun", 1, 1, 1, "../repair", ""),
            (16, "srun", 16, 8, 1, "../analyse", ""),
            (17, "srun", 16, 8, 1, "../render", "--frames 10"),
        ],
    ),
    "here.sbatch": (1, 8, 630, [(12, "mpiexec.hydra", 8, 8, 1, "./flow", "config.txt")]),
    "torque.pbs": (3, 24, 43200, [(9, "mpirun", 0, None, 1, "", "")]),
    "select.pbs": (2, 32, 4500, [(9, "mpiexec", 32, 16, 1, "./climate", "-c setup.nml")]),
    "cray.pbs": (8, 32, 1200, [(5, "aprun", 32, 4, 6, "./spectral", "512")]),
    "span.lsf": (2, 32, 9000, [(8, "mpirun", 32, 16, 1, "./waves", "-depth 3")]),
    "summit.lsf": (4, 4, 2700, [(8, "jsrun", 168, 42, 1, "./fusion", "input")]),
    "hybrid.sbatch": (3, 12, 2700, [(10, "mpirun", 12, 4, 1, "./stencil", "--grid 3x4 --steps 10")]),
}


def test_every_script_has_an_expectation() -> None:
    assert sorted(READ) == sorted(path.name for path in SCRIPTS.iterdir())


@pytest.mark.parametrize("name", READ)
def test_requests_and_steps_are_those_that_a_person_reads(name: str) -> None:
    script = read_script(str(SCRIPTS / name))
    nodes, tasks, time_s, steps = READ[name]
    assert (script.asked.least_nodes, script.asked.total, script.asked.time_s) == (nodes, tasks, time_s)
    home = os.path.expanduser("~")
    assert [
        (step.line, step.launcher, step.ranks, step.per_node, step.cpus_per_rank,
         step.program.replace(home, "~"), " ".join(step.arguments))
        for step in script.launches
    ] == steps  # fmt: skip


def script(text: str):
    return script_of(text.encode(), "/jobs/job.sbatch")


def said(name: str) -> str:
    read = read_script(str(SCRIPTS / name))
    return "\n".join([*read.unknown, *(step.doubt or "" for step in read.launches)])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("plain.sbatch", "line 9: module"),
        ("array.sbatch", "the array: 1-20%4"),
        ("array.sbatch", "the jobs on which this one depends (afterok:4711)"),
        ("array.sbatch", "$CASE, which is the result of $(sed"),
        ("gpu.sbatch", "GPUs (gpu:4)"),
        ("gpu.sbatch", "licences (matlab:1)"),
        ("gpu.sbatch", "inside a container of apptainer"),
        ("steps.sbatch", "line 7: cp: time of moving files"),
        ("steps.sbatch", "inside the if of line 13"),
        ("torque.pbs", "$PBS_NODEFILE"),
        ("summit.lsf", "the array: fusion[1-3]"),
    ],
)
def test_what_a_script_does_not_say_is_listed(name: str, text: str) -> None:
    assert text in said(name)


def test_loops_over_lists_repeat_steps_and_background_steps_run_beside_each_other() -> None:
    steps = read_script(str(SCRIPTS / "steps.sbatch")).launches
    assert [step.times for step in steps] == [1, 3, 1, 1, 1]
    assert [step.beside for step in steps] == [False, False, False, True, True]


def test_a_loop_gives_its_variable_each_value_of_a_written_list() -> None:
    text = "#SBATCH -n 2\nfor n in {1..2}; do\nfor s in a b; do\nsrun ./a $n $s\ndone; done > log\nsrun ./a $n\n"
    assert [step.arguments for step in script(text).launches] == [
        ("1", "a"), ("1", "b"), ("2", "a"), ("2", "b"), ("2",)
    ]  # fmt: skip


def test_loops_with_too_many_passes_are_given_up() -> None:
    text = "#SBATCH -n 2\n" + "for i in {1..10000}; do\n" * 5 + "srun ./a $i\n" + "done\n" * 5
    assert all(step.doubt is not None for step in script(text).launches)


def test_a_subshell_keeps_its_folder_and_variables_to_itself() -> None:
    inner, outer = script("#SBATCH -n 2\nX=1\n(cd in; X=2; srun ./a $X)\nsrun ./a $X\n").launches
    assert (inner.folder, inner.arguments) == ("/jobs/in", ("2",))
    assert (outer.folder, outer.arguments) == ("/jobs", ("1",))


def test_threads_come_from_the_script_or_from_the_command() -> None:
    threads = {name: read_script(str(SCRIPTS / name)).launches[0].threads for name in READ}
    assert (threads["short.sbatch"], threads["hybrid.sbatch"], threads["cray.pbs"]) == (2, 4, 6)


def test_the_folder_of_a_step_follows_cd() -> None:
    read = read_script(str(SCRIPTS / "steps.sbatch"))
    assert read.launches[0].folder == str(SCRIPTS / "work")


@pytest.mark.parametrize(
    ("scheduler", "text", "seconds"),
    [
        ("slurm", "30", 1800), ("slurm", "1:30", 90), ("slurm", "2:00:00", 7200), ("slurm", "1-6", 108000),
        ("slurm", "1-6:30", 109800), ("slurm", "1-06:30:15", 109815), ("slurm", "UNLIMITED", float("inf")),
        ("slurm", "1:2:3:4", None), ("slurm", "-5", None), ("pbs", "90", 90), ("pbs", "100:00:00", 360000),
        ("lsf", "90", 5400), ("lsf", "1:30", 5400), ("lsf", "1:30/hostA", 5400), ("lsf", "1-2", None),
    ],
)  # fmt: skip
def test_times_are_those_of_the_manual_pages(scheduler: str, text: str, seconds: float | None) -> None:
    assert time_limit_s(scheduler, text) == seconds


@pytest.mark.parametrize("scheduler", NAMES)
def test_a_written_time_is_read_as_the_same_time(scheduler: str) -> None:
    for time_s in (1, 59.5, 60, 3599, 86400, 400000.2):
        limit_s = rounded_up_s(time_s)
        assert time_s <= limit_s < time_s + 60
        assert time_limit_s(scheduler, limit_text(scheduler, limit_s)) == limit_s


CHANGED = {
    "plain.sbatch": {2: "#SBATCH --nodes=6", 4: "#SBATCH --time=01:01:00"},
    "short.sbatch": {2: "#SBATCH -N6 -n 96 -c 2", 3: "#SBATCH -t 01:01:00"},
    "gpu.sbatch": {1: "#SBATCH --nodes 6", 6: "#SBATCH --time 01:01:00"},
    "torque.pbs": {2: "#PBS -l nodes=6:ppn=8,walltime=01:01:00"},
    "select.pbs": {1: "#PBS -l select=6:ncpus=16:mpiprocs=16:mem=60gb", 2: "#PBS -l walltime=01:01:00"},
    "span.lsf": {2: "#BSUB -n 96", 4: "#BSUB -W 1:01"},
    "summit.lsf": {2: "#BSUB -W 1:01", 3: "#BSUB -nnodes 6"},
    "hybrid.sbatch": {2: "#SBATCH --ntasks=24", 3: "#SBATCH --nodes=6", 5: "#SBATCH --time=01:01:00   # was an hour"},
}


@pytest.mark.parametrize("name", CHANGED)
def test_only_the_values_of_nodes_tasks_and_time_change(name: str) -> None:
    before = read_script(str(SCRIPTS / name))
    lines = before.content.decode().split("\n")
    for number, line in CHANGED[name].items():
        lines[number] = line
    assert rewritten(before, nodes=6, time_s=3601).decode() == "\n".join(lines)


@pytest.mark.parametrize("name", READ)
def test_a_written_script_requests_what_was_asked_and_keeps_its_other_lines(name: str) -> None:
    before = read_script(str(SCRIPTS / name))
    after = script_of(rewritten(before, nodes=5, time_s=7200), before.path)
    assert (after.asked.least_nodes, after.asked.time_s) == (5, 7200)
    headers = {header.line for header in before.asked.headers}
    kept = [line for number, line in enumerate(before.content.split(b"\n")) if number not in headers]
    assert not set(kept) - set(after.content.split(b"\n"))


def test_a_missing_header_is_added_behind_the_last_one_and_odd_bytes_stay() -> None:
    content = b"#!/bin/bash\r\n#SBATCH -n 4\r\n# caf\xe9 \x85 \x0c\r\nsrun ./a\r\n"
    made = rewritten(script_of(content, "job"), time_s=60)
    assert made == content.replace(b"-n 4\r\n", b"-n 4\r\n#SBATCH --time=00:01:00\r\n")


def test_without_changes_the_script_stays_the_same() -> None:
    for name in READ:
        read = read_script(str(SCRIPTS / name))
        assert rewritten(read, nodes=read.asked.least_nodes) == read.content


HOSTILE = [
    "#SBATCH --nodes=$(touch {marker})\nsrun ./a",
    "#SBATCH --nodes=`touch {marker}`\nsrun ./a",
    "#SBATCH --time=1;touch {marker}\nsrun ./a",
    "#SBATCH -n 2 ; touch {marker}\nsrun ./a",
    "#SBATCH -n 2\neval 'touch {marker}'\nsource /dev/stdin\nsrun $(touch {marker}) ./a",
    "#SBATCH -n 2\nX=$(rm -rf ~; touch {marker})\nsrun ./a $X `touch {marker}`",
    "#SBATCH -n 2\nsrun ./a <(touch {marker}) | sh -c 'touch {marker}' && touch {marker}",
    "#SBATCH -n 2\nexport X='() {{ :; }}; touch {marker}'\nsrun bash -c 'touch {marker}'",
    "#SBATCH -n 2\nX=$((a[$(touch {marker})]))\nsrun -n $X ./a",
    "#SBATCH -n 2\nsrun ./a ${{X:=$(touch {marker})}} {{1..999999999}}",
    "#SBATCH -n 99999999999999999999\nsrun ./a",
    "#SBATCH -n 2\nsrun -n 99999999999999999999 ./a",
    "#SBATCH -n 2\nsrun './a",
    "#SBATCH -n 2\nsrun ./a $(",
    "#SBATCH -n 2\ncat <<END\nno end",
    "#SBATCH -n 2\nsrun ./a $((" + "(" * 5000,
    "#SBATCH -n 2\nsrun ./a $((" + "(" * 90 + "1" + ")" * 90 + "))",
    "#SBATCH -n 2\n" + "X=$X$X$X$X$X$X$X$X$X$Xxx\n" * 200 + "srun ./a $X",
    "#SBATCH -n 2\n" + "if (\n" * 5000,
    "#SBATCH -n 2\n" + "fi ) done } ;; esac\n" * 100,
    "#SBATCH -n 2\n#SBATCH hetjob\n#SBATCH -n 4\nsrun ./a",
    "#PBS -l select=1:ncpus=4+2:ncpus=8\nmpirun ./a",
    "#BSUB -n\n",
    "#SBATCH --time=\udcff\nsrun ./a",
    "#SBATCH -n 2\nsrun",
    "#SBATCH",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_scripts_run_nothing_and_end_in_a_script_or_one_line(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    marker = tmp_path / "marker"
    content = ("#!/bin/bash\n" + text.replace("{marker}", str(marker)).replace("{{", "{").replace("}}", "}")).encode(
        errors="surrogateescape"
    )
    try:
        script_of(content, str(tmp_path / "job"))
    except UserError as err:
        assert "\n" not in str(err)
    assert not marker.exists()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "where", "problem"),
    [
        ("#!/bin/bash\nsrun ./a\n", "/jobs/job.sbatch", "no line begins with #SBATCH, #PBS or #BSUB"),
        ("#!/bin/bash\n#SBATCH -n x\n", "/jobs/job.sbatch:2", "not a whole number"),
        ("#!/bin/bash\n#SBATCH -t 1:2:3:4\n", "/jobs/job.sbatch:2", "is no time of Slurm"),
        ("#!/bin/bash\n#SBATCH -n 2\n#SBATCH hetjob\n", "/jobs/job.sbatch:3", "heterogeneous"),
        ("#!/bin/bash\n#PBS -l select=1+2\n", "/jobs/job.sbatch:2", "several chunks"),
        ("#!/bin/bash\n#SBATCH -n 2\necho 'open\n", "/jobs/job.sbatch:3", "has no end"),
        ("#!/usr/bin/python3\n#SBATCH -n 2\n", "/jobs/job.sbatch:1", "is no shell"),
        ("#SBATCH -n 2\n\0", "/jobs/job.sbatch:2", "zero byte"),
        ("#SBATCH -n 2\n#" + "x" * 200_000, "/jobs/job.sbatch:2", "a line of more than"),
    ],
)
def test_a_wrong_script_is_refused_with_its_line(text: str, where: str, problem: str) -> None:
    with pytest.raises(UserError) as raised:
        script(text)
    assert raised.value.where == where
    assert problem in raised.value.problem


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    place = tmp_path / "job.sbatch"
    with open(place, "wb") as file:
        file.truncate(MOST_BYTES + 1)
    with pytest.raises(UserError, match="larger than 1 MiB"):
        read_script(str(place))


@pytest.mark.parametrize(
    ("line", "ranks", "per_node", "program"),
    [
        ("srun -n 8 -N 2 ./a", 8, 4, "./a"),
        ("srun --ntasks=6 --ntasks-per-node 3 ./a", 6, 3, "./a"),
        ("srun -N2-4 ./a", 8, 4, "./a"),
        ("mpirun -N 2 ./a", 8, 2, "./a"),
        ("mpirun --mca btl tcp,self -x A -np 5 ./a", 5, 4, "./a"),
        ("mpiexec -env X 1 -n 4 env Y=2 nice -n 3 ./a", 4, 4, "./a"),
        ("/usr/bin/time -p mpirun ./a", 16, 4, "./a"),
        ("aprun -n16 -N 8 ./a", 16, 8, "./a"),
        ("jsrun --nrs 4 --tasks_per_rs=2 ./a", 8, 4, "./a"),
        ("ibrun tacc_affinity ./a", 16, 4, "./a"),
        ("srun python3 -u -m mpi4py run.py 3", 16, 4, "run.py"),
        ("exec srun -- ./a", 16, 4, "./a"),
        ("A=1 && srun ./a", 16, 4, "./a"),
        ("cd x && srun ./a || exit 1", 16, 4, "./a"),
    ],
)
def test_launchers_read_their_own_options(line: str, ranks: int, per_node: int, program: str) -> None:
    (step,) = script(f"#!/bin/sh\n#SBATCH -N 4 --ntasks-per-node=4\n{line}\n").launches
    assert (step.ranks, step.per_node, step.program, step.doubt) == (ranks, per_node, program, None)


@pytest.mark.parametrize(
    ("line", "doubt"),
    [
        ("srun --multi-prog steps.conf", "--multi-prog"),
        ("mpirun -n 2 ./a : -n 2 ./b", "colon"),
        ("srun --het-group=0,1 ./a", "heterogeneous"),
        ("srun -n $N ./a", "$N, which the script does not assign"),
        ("while true; do srun ./a; done", "inside the while of line 3"),
        ("run() { srun ./a; }", "inside the function run of line 3"),
        ("case $X in a) srun ./a ;; esac", "inside the case of line 3"),
        ("test -f x || srun ./a", "only if the command before it fails"),
        ("for f in *.in; do srun ./a; done", "inside the for of line 3"),
        ("srun ./a *.in", "file names that match *.in"),
        ("mpirun --map-by ppr:2:socket ./a", "per socket"),
    ],
)
def test_a_step_that_the_script_does_not_decide_says_why(line: str, doubt: str) -> None:
    (step,) = script(f"#!/bin/sh\n#SBATCH -N 4\n{line}\n").launches
    assert step.doubt is not None and doubt in step.doubt


def test_headers_behind_a_command_are_not_read_by_slurm() -> None:
    read = script("#!/bin/sh\n#SBATCH -N 4\nsrun ./a\n#SBATCH -N 8\n")
    assert read.asked.nodes == 4
    assert any("line 4: the header stands behind a command" in note for note in read.unknown)
