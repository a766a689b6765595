"""Arithmetic expressions in descriptions."""

from readers.common import seeds

from predictor.blocks.expressions import Expression

SEEDS = seeds("tests/hostile/corpus/expression*.txt")
WORDS = (
    "index", "n", "min(", "max(", "abs(", "ceil(", "floor(", "log2(", "sqrt(", ")", "**", "//", "%", "<=", "!=",
    " and ", " or ", "not ", " if ", " else ", "9" * 40, "1e308", "0x", "1j", "True", "None", "lambda: ",
    "__import__", "[", "'",
)  # fmt: skip
SCOPE = {"n": 7, "index": 3, "x": 2.5, "flag": True}


def read(content: bytes) -> None:
    expression = Expression.of(content.decode("utf-8", "replace"))
    assert Expression.of(expression.text) == expression
    expression.check_names(SCOPE, "here")
    expression.value(SCOPE, "here")
    expression.whole(SCOPE, "here")
