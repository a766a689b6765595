"""Programs that run in two surroundings: what does not change their course is harmless, what does is named."""

import platform

import pytest

from apps.options.programs import ProgramOptions, own_problem_from_request
from apps.programs.own_program import read_program
from apps.programs.problem import own_problem
from apps.runs.record_events import record_events
from apps.runs.simulate import simulate
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from apps.store import Store
from platforms.errors import UserError
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise

FRAME = """#include <mpi.h>
#include <sys/random.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
int main(int argc, char **argv)
{
  int rank, n = atoi(argv[1]), more = 0;
  double mine = 1, sum;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  %(before)s
  MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
  for (int i = 0; i < n; i++) {
    %(body)s
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Pcontrol(1002);
  }
  for (int i = 0; i < more; i++) MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
}
"""
DATE = 'time_t now = time(NULL); char date[99]; strftime(date, 99, "%%F", localtime(&now)); puts(date);'
TIMER = "double began_s = MPI_Wtime();"


def spec_of(tmp_path, before="", body="", *, iterations=40, assumed=()):
    path = tmp_path / "around.c"
    path.write_text(FRAME % {"before": before.replace("%%", "%"), "body": body})
    program = read_program(path, "{iterations}", iterations, assumed=assumed)
    platform = materialise(named_grid("grid4x2"))
    return RunSpec(Target(own_problem(program), platform, block(platform, 4)), iterations="steady")


@pytest.mark.parametrize(
    "before",
    [
        DATE,
        pytest.param("srand(clock());", marks=pytest.mark.slow),
        pytest.param("char name[99]; gethostname(name, 99); puts(name);", marks=pytest.mark.slow),
    ],
)
def test_a_harmless_clock_keeps_the_store_and_the_recording(tmp_path, before):
    spec = spec_of(tmp_path, before)
    with Store(tmp_path / "store") as store:
        recording = record_events(spec, 3, store=store)
        assert recording.varies == () and recording.cautions == ()
        record = simulate(spec, store=store)
        assert record.inputs.varies == () and store.put_record(record)
        kinds = [entry.kind for entry in store.entries()]
    assert kinds.count("surroundings") == 1 and {"recording", "record"} <= {*kinds}


def test_a_harmless_clock_lets_iterations_be_extrapolated_to_the_time_of_a_full_run(tmp_path):
    # Each iteration is timed, as many codes do it; the timer and the date decide nothing.
    spec = spec_of(tmp_path, DATE, TIMER + " if (MPI_Wtime() < began_s) abort();")
    full = simulate(RunSpec(spec.target, iterations="full"))
    record = simulate(spec, full_below_messages=0)
    assert record.extrapolation is not None and record.extrapolation.simulated < 40
    assert record.time_s == pytest.approx(full.time_s, rel=1e-9)


@pytest.mark.parametrize(
    "before, body, part",
    [
        ("more = time(NULL) % 7;", "", "this computer's clock"),
        pytest.param("more = syscall_free_pid() % 8;", "", "the number of its process", marks=pytest.mark.slow),
        ("unsigned char drawn; getrandom(&drawn, 1, 0); more = drawn % 2;", "", "random numbers of the system"),
        pytest.param(
            "char name[99]; gethostname(name, 99); more = strlen(name);", "", "the name of this computer",
            marks=pytest.mark.slow,
        ),
        ("more = (uintptr_t)malloc(1000) / 64 % 1024;", "", "memory addresses or "),
        pytest.param(
            "more = environ_first() % 1024;", "", "memory addresses or the order of the environment",
            marks=pytest.mark.slow,
        ),
        pytest.param("more = MPI_Wtime() > 0.02;", "", "the simulated time", marks=pytest.mark.slow),
        ("", TIMER + " MPI_Bcast(&mine, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);"
             " if (!rank) more += MPI_Wtime() - began_s > 0.02; MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);",
         "the simulated time"),
    ],
)  # fmt: skip
def test_what_the_course_depends_on_is_named_and_not_kept(tmp_path, before, body, part):
    helpers = (
        "#undef getpid\nextern char **environ;\nstatic int syscall_free_pid(void) { return getpid(); }\n"
        "static unsigned environ_first(void) { unsigned h = 0; for (char *c = environ[0]; *c; c++) h = 31 * h + *c;"
        " return h; }\nint main("
    )
    spec = spec_of(tmp_path, before, body)
    path = tmp_path / "around.c"
    path.write_text(path.read_text().replace("int main(", helpers))
    spec = RunSpec(
        Target(own_problem(read_program(path, "{iterations}", 40)), spec.target.platform, spec.target.placement),
        iterations="steady",
    )
    with Store(tmp_path / "store", report=lambda _: None) as store:
        recording = record_events(spec, 3, store=store)
        said = (*recording.cautions, *recording.varies)
        assert any(part in one or "course depends on the time" in one for one in said)
        record = simulate(spec, store=store, full_below_messages=0)
        assert any(one.startswith(part) for one in record.inputs.depends)
        assert record.extrapolation is None
        assert not [entry for entry in store.entries() if entry.kind == "recording"]


def test_a_branch_on_the_clock_in_a_late_iteration_prevents_extrapolation(tmp_path):
    # The short runs do not reach it; the run that compares all iterations has another clock.
    late = TIMER + " if (i == 30 && began_s > 1000) more = 5; MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);"
    record = simulate(spec_of(tmp_path, "", late), full_below_messages=0)
    assert record.extrapolation is None


@pytest.mark.parametrize("before", ["syscall(SYS_getpid);", "getauxval(AT_RANDOM);", "alarm(100);"])
def test_what_no_other_surroundings_change_is_not_kept(tmp_path, before):
    spec = spec_of(tmp_path, before)
    path = tmp_path / "around.c"
    path.write_text("#define _GNU_SOURCE\n#include <sys/auxv.h>\n#include <sys/syscall.h>\n" + path.read_text())
    program = read_program(path, "{iterations}", 40)
    record = simulate(RunSpec(Target(own_problem(program), spec.target.platform, spec.target.placement)))
    assert record.inputs.varies == (before.partition("(")[0],)
    with Store(tmp_path / "store", report=lambda _: None) as store:
        assert not store.put_record(record)


def test_the_users_word_counts_for_functions_that_vary(tmp_path):
    before = "more = time(NULL) % 7 * 0 + 3;"
    spec = spec_of(tmp_path, before, assumed=("time",))
    with Store(tmp_path / "store") as store:
        assert store.put_record(simulate(spec, store=store))
    assert spec.identity()["assumed"] == ["time"]


def test_an_unknown_function_is_refused(tmp_path):
    (tmp_path / "p.c").write_text("int main(void) { return 0; }")
    with pytest.raises(UserError, match=r"no such function: 'tim'.*Did you mean time"):
        own_problem_from_request(ProgramOptions(program=str(tmp_path / "p.c"), assume_repeatable="tim"))


# Each asks for what is another on another computer, or on another day, and does as much as that says.
ASKED = {
    "dates, inodes, links or permissions of files": "struct stat of; stat(argv[0], &of); more = of.st_mtime % 97;",
    "limits or the processors of this computer, or its user": "more = sysconf(_SC_NPROCESSORS_ONLN);",
    "memory addresses or something else that changes by itself": (
        'char name[] = "tXXXXXX"; close(mkstemp(name)); unlink(name); more = name[1] + 3 * name[2] + 5 * name[3];'
    ),
    "this computer's clock": "more = early;",
}


@pytest.mark.parametrize("part", ASKED)
def test_what_another_computer_or_day_answers_otherwise_is_named_where_it_matters(part, tmp_path):
    spec = spec_of(tmp_path, ASKED[part])
    source = spec.target.problem.program.path
    source.write_text(
        "#include <sys/stat.h>\n#include <time.h>\n"
        "static int early;\n__attribute__((constructor)) static void begin(void) { early = time(0) % 97; }\n"
        f"{source.read_text()}"
    )
    program = read_program(source, "{iterations}", 40)
    spec = RunSpec(Target(own_problem(program), spec.target.platform, spec.target.placement), iterations="full")
    inputs = simulate(spec, store=Store(tmp_path / "store")).inputs
    assert part in inputs.depends and inputs.hidden


def test_a_file_of_which_only_the_length_matters_is_harmless(tmp_path):
    inputs = simulate(spec_of(tmp_path, "struct stat of; stat(argv[0], &of); more = of.st_size > 0;")).inputs
    assert inputs.hidden == () and inputs.depends == ()


def test_variables_that_the_program_asks_for_before_main_or_by_its_libraries_are_inputs(tmp_path):
    spec = spec_of(tmp_path, 'setlocale(LC_ALL, ""); time_t now = 0; localtime(&now);')
    source = spec.target.problem.program.path
    early = 'char *asked;\n__attribute__((constructor)) static void early(void) { asked = getenv("EARLY"); }'
    source.write_text(f"#include <locale.h>\n#include <stdlib.h>\n{early}\n{source.read_text()}")
    program = read_program(source, "{iterations}", 40, flags="-fopenmp -Wl,--no-as-needed")
    spec = RunSpec(Target(own_problem(program), spec.target.platform, spec.target.placement), iterations="full")
    assert {"EARLY", "LC_ALL", "TZ", "OMP_NUM_THREADS"} <= simulate(spec).inputs.environment.keys()


def test_memory_of_several_programs_hides_inputs(tmp_path):
    inputs = simulate(spec_of(tmp_path, "shmget(IPC_PRIVATE, 4096, 0600);")).inputs
    assert any("memory or queues" in reason for reason in inputs.hidden)


def test_a_rank_that_waits_for_a_file_of_another_one_depends_on_the_time(tmp_path):
    # Rank 1 makes the file after 50 messages, for which rank 0 looks once in a millisecond.
    before = """char flag[] = "made-by-1"; double all[5000];
  if (rank == 1 || rank == 2)
    for (int k = 0; k < 50; k++)
      rank == 2 ? MPI_Send(all, 5000, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD)
                : MPI_Recv(all, 5000, MPI_DOUBLE, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 1) fclose(fopen(flag, "w"));
  for (; !rank && access(flag, F_OK); more++) usleep(1000);"""
    recording = record_events(spec_of(tmp_path, before, iterations=4), 4)
    assert any(
        "course depends on the time, which it queries with checks for made-by-1" in said for said in recording.cautions
    )


LOOPING = "for (volatile long k = 0; k < 1000000000 && !fired; k++); more = fired;"
HASHED = "for (char *c = name; *c; c++) more = (31 * more + *c) % 97;"
# What differs from run to run or from day to day, each by another call.
VARYING = {
    "heap": "more = (uintptr_t)malloc(1000) / 64 % 1024;",
    "large heap": "more = (uintptr_t)malloc(10000000) / 4096 % 1024;",
    "stack": "int here; more = (uintptr_t)&here / 64 % 1024;",
    "code": "more = (uintptr_t)&main / 4096 % 1024;",
    "arc4random": "more = arc4random() % 64;",
    "AT_RANDOM": "more = ((unsigned char *)getauxval(AT_RANDOM))[3];",
    "mkstemp": 'char name[] = "tXXXXXX"; close(mkstemp(name)); unlink(name); ' + HASHED,
    "getcwd": "char name[4096]; if (!getcwd(name, 4096)) abort(); " + HASHED,
    "PWD": 'char *name = getenv("PWD"); ' + HASHED,
    "gettid": "more = gettid() % 64;",
    "getppid": "more = getppid() % 64;",
    "alarm": "signal(SIGALRM, on); alarm(1); " + LOOPING,
    "setitimer": "signal(SIGALRM, on); struct itimerval of = {{0, 0}, {0, 10000}}; setitimer(ITIMER_REAL, &of, 0); "
    + LOOPING,
    "statvfs": 'struct statvfs of; statvfs("/tmp", &of); more = of.f_bfree % 97;',
    "sysinfo": "struct sysinfo of; sysinfo(&of); more = of.uptime % 97;",
    "syscall": "more = syscall(SYS_getpid) % 64;",
    "syscall of a clock": "struct timespec now; syscall(SYS_clock_gettime, 0, &now); more = now.tv_nsec % 64;",
    "system call in assembly": 'long number; __asm__ volatile("syscall" : "=a"(number) : "a"(39) : "rcx", "r11", '
    '"memory"); more = number % 64;',
    "rdtsc": 'unsigned low, high; __asm__ volatile("rdtsc" : "=a"(low), "=d"(high)); more = low % 64;',
    "/proc": 'FILE *f = fopen("/proc/self/stat", "r"); fscanf(f, "%d", &more); more %= 64; fclose(f);',
    "/dev/urandom": 'FILE *f = fopen("/dev/urandom", "r"); more = fgetc(f); fclose(f);',
    "a broadcast that is timed": "double at_s = MPI_Wtime(); MPI_Bcast(&mine, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);"
    " more = MPI_Wtime() - at_s > 0.02;",
    "one reading before the loop": "more = MPI_Wtime() > 0.02;",
}


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() != "x86_64", reason="two of the programs have instructions of x86")
@pytest.mark.parametrize("what", VARYING)
def test_a_program_whose_calls_depend_on_what_varies_is_neither_extrapolated_nor_believed(what, tmp_path):
    spec = spec_of(tmp_path, VARYING[what])
    source = spec.target.problem.program.path
    more = ("signal.h", "sys/auxv.h", "sys/statvfs.h", "sys/syscall.h", "sys/sysinfo.h", "sys/time.h")
    head = "".join(f"#include <{name}>\n" for name in more)
    text = source.read_text().replace("int main(", "#undef getpid\nint main(", 1)
    source.write_text(
        f"#define _GNU_SOURCE\n{head}static volatile int fired;\nstatic void on(int signal) {{ fired++; }}\n{text}"
    )
    target = Target(own_problem(read_program(source, "{iterations}", 40)), spec.target.platform, spec.target.placement)
    with Store(tmp_path / "store", report=lambda _: None) as store:
        record = simulate(RunSpec(target, iterations="steady"), store=store, full_below_messages=0)
        recording = record_events(RunSpec(target), 3, store=store)
        assert record.extrapolation is None and (record.inputs.varies or record.inputs.depends)
        assert recording.cautions or recording.varies
        assert not [entry for entry in store.entries() if entry.kind == "recording"]
