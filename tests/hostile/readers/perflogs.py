"""Performance logs and experiments of ReFrame, Caliper and Extra-P."""

from readers.common import seeds

from platforms.perflogs import table_of

SEEDS = seeds("tests/platforms/perflogs/*.log", "tests/platforms/perflogs/*.cali")
WORDS = (
    "result|name|a_value|a_unit\n", "pass|", "PARAMETER p\n", "POINTS 1 2\n", "REGION main\n", "METRIC time\n",
    "DATA 1\n", '{"parameters": ["p"], "measurements": ', '{"session_info": 1, "runs": ', '"testcases"', '"point"',
    '"values"', "[[", "{}", "__rec=node,", "__rec=ctx,", "ref=", "attr=", "data=", "parent=", "nan", "1e999", "-1", "s",
)  # fmt: skip


def read(content: bytes) -> None:
    table_of(content.decode("utf-8", "replace"), "file")
