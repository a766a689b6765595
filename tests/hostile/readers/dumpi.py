"""DUMPI's text of a run of one rank."""

from readers.common import file_of, seeds

from apps.traces.read import recording_of

SEEDS = seeds("tests/hostile/corpus/dumpi.txt")
WORDS = (
    "MPI_Send entering at walltime 20120.5", "MPI_Recv returning at walltime 20120.6", "MPI_Comm comm=2", "int dest=0",
    "int source=-1 (MPI_ANY_SOURCE)", "int count=", "MPI_Datatype datatype=14 (MPI_DOUBLE)", "MPI_Request request=[2]",
    "{bytes=8, cancelled=0, source=0, tag=1, error=0}", "[1, 2]", "<IGNORED>", "seconds in thread 0.", "int root=0",
    "Datatype 14 (MPI_DOUBLE) has size 8", "MPI_Bcast called 1 times and ignored 1 times", "9" * 30, "-1", "\0",
)  # fmt: skip


def read(content: bytes) -> None:
    path = file_of(content, "-0000.txt")
    recording_of(path, "1")
