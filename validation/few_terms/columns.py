"""Names of the columns of tables of measured runs."""

# What a column may hold, and whether the table has to have it.
KEYS = {
    "nodes": True,
    "time_s": True,
    "least_s": False,
    "repeats": False,
    "ranks": False,
    "work": False,
    "allreduces": False,
}
PART, PART_END = "part_", "_s"
ALLREDUCE_KEYS = ("nodes", "allreduce_us")
SIZE = "size_bytes"
