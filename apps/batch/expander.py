"""Expand words of a shell script from variables that the script plainly assigns, and from nothing else."""

from __future__ import annotations

import re
from collections.abc import Mapping

from apps.batch.lexer import ARITHMETIC, TEXT, VARIABLE, Piece, Word

_MOST_CHARACTERS = 100_000  # of a variable, or of an expanded word
_TOKEN = re.compile(r"\s*(?:(\d{1,15})|\$?\{?([A-Za-z_]\w*)\}?|(\*\*|[-+*/%()]))", re.ASCII)
_GLOB = re.compile(r"[*?\[]")
_MOST_DEPTH = 50


class Unknown(Exception):
    """A value that a script alone does not decide; the argument names it."""


Variables = Mapping[str, str | Unknown]


def fields(word: Word, variables: Variables) -> list[str]:
    """Return the words that a word expands to: none for an empty variable, several where its value has spaces.

    Raises:
        Unknown: The word has a command substitution, a variable that is not known, or a pattern of file names.
    """
    made: list[str] = []
    current: str | None = None
    for piece in word.pieces:
        value = _value(piece, variables)
        if piece.kind == TEXT or piece.quoted:
            current = (current or "") + value
        else:
            if value[:1].isspace() and current is not None:
                made.append(current)
                current = None
            for number, part in enumerate(value.split()):
                if number:
                    made.append(current or "")
                    current = None
                current = (current or "") + part
            if value[-1:].isspace() and current is not None:
                made.append(current)
                current = None
        if current is not None and len(current) > _MOST_CHARACTERS:
            raise Unknown("a word that is too long")
    return made if current is None else [*made, current]


def joined(word: Word, variables: Variables) -> str:
    """Return what a word expands to in an assignment, where it is not split into several.

    Raises:
        Unknown: As ``fields``.
    """
    value = "".join(_value(piece, variables, pattern=False) for piece in word.pieces)
    if len(value) > _MOST_CHARACTERS:
        raise Unknown("a value that is too long")
    return value


def variable(name: str, variables: Variables) -> str:
    """Return the value of a variable.

    Raises:
        Unknown: It is not known.
    """
    value = variables.get(name)
    if isinstance(value, Unknown):
        raise Unknown(f"${name}, which is {value}")
    if value is None:
        raise Unknown(f"${name}, which the script does not assign")
    return value


def _value(piece: Piece, variables: Variables, *, pattern: bool = True) -> str:
    if piece.kind == TEXT:
        if pattern and not piece.quoted and _GLOB.search(piece.value):
            raise Unknown(f"the file names that match {piece.value}")
        return piece.value
    if piece.kind == ARITHMETIC:
        return str(arithmetic(piece.value, variables))
    if piece.kind != VARIABLE:
        raise Unknown(f"the result of {piece.value}")
    if piece.default is not None and variables.get(piece.value, "") == "":
        return piece.default
    return variable(piece.value, variables)


def arithmetic(text: str, variables: Variables) -> int:
    """Return the value of ``$((text))``: whole numbers, variables, + - * / % and parentheses.

    Raises:
        Unknown: The text has anything else, or a variable that is not known.

    >>> arithmetic("2 * (SLURM_NNODES + 1) - 7 / 2", {"SLURM_NNODES": "4"})
    7
    """
    tokens: list[re.Match[str]] = []
    at = 0
    while at < len(text.rstrip()):
        match = _TOKEN.match(text, at)
        if match is None or len(tokens) > 200:
            raise Unknown(f"the result of $(({text}))")
        tokens.append(match)
        at = match.end()
    try:
        value, rest = _sum(tokens, variables, 0)
    except (ZeroDivisionError, IndexError, ValueError) as err:
        raise Unknown(f"the result of $(({text}))") from err
    if rest or abs(value) > 10**15:
        raise Unknown(f"the result of $(({text}))")
    return value


def _sum(tokens: list[re.Match[str]], variables: Variables, depth: int) -> tuple[int, list[re.Match[str]]]:
    value, rest = _product(tokens, variables, depth)
    while rest and rest[0][3] in ("+", "-"):
        other, after = _product(rest[1:], variables, depth)
        value, rest = (value + other if rest[0][3] == "+" else value - other), after
    return value, rest


def _product(tokens: list[re.Match[str]], variables: Variables, depth: int) -> tuple[int, list[re.Match[str]]]:
    value, rest = _factor(tokens, variables, depth)
    while rest and rest[0][3] in ("*", "/", "%"):
        sign = rest[0][3]
        other, rest = _factor(rest[1:], variables, depth)
        towards_zero = abs(value) // abs(other) * (1 if value * other >= 0 else -1) if sign != "*" else 0
        value = value * other if sign == "*" else towards_zero if sign == "/" else value - other * towards_zero
        if abs(value) > 10**15:
            raise ValueError(value)
    return value, rest


def _factor(tokens: list[re.Match[str]], variables: Variables, depth: int) -> tuple[int, list[re.Match[str]]]:
    first, rest = tokens[0], tokens[1:]
    if depth > _MOST_DEPTH:
        raise ValueError(depth)
    if first[1] is not None:
        return int(first[1]), rest
    if first[2] is not None:
        return int(variable(first[2], variables)), rest
    if first[3] == "(":
        value, rest = _sum(rest, variables, depth + 1)
        if rest[0][3] != ")":
            raise ValueError(first[0])
        return value, rest[1:]
    if first[3] in ("-", "+"):
        value, rest = _factor(rest, variables, depth + 1)
        return -value if first[3] == "-" else value, rest
    raise ValueError(first[0])
