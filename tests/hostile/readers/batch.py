"""Batch scripts, which are also written with other nodes and another time."""

from readers.common import seeds

from apps.batch.script import rewritten, script_of

SEEDS = seeds("tests/apps/batch/scripts/*")
WORDS = (
    "#SBATCH ", "#PBS -l ", "#BSUB ", "--nodes=", "-n ", "-t ", "hetjob", "select=2:ncpus=4", "nodes=2:ppn=8",
    "walltime=", "span[ptile=4]", "srun ", "mpirun -np ", "jsrun -n 2 ", "--map-by ppr:2:node ", "$((", "))", "${X:-",
    "$(", "`", "'", '"', "<<END\n", "for i in {1..9}; do ", "done\n", "if ", "fi\n", "case x in a) ", "esac\n", "( ",
    ") ", "{ ", "}\n", "&& ", "|| ", "| ", "& ", "X=", "X+=", "cd ", "\\\n", "f() ", "-1", "0", "99999999999", "1-2:3",
)  # fmt: skip


def read(content: bytes) -> None:
    script = script_of(content, "/jobs/job.sbatch")
    script_of(rewritten(script, nodes=3, time_s=100.0), "/jobs/job.sbatch")
