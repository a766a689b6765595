"""The dynamic part of an ELF file (System V ABI, chapters 4 and 5): needed libraries, defined and undefined names."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

_DYNAMIC, _DYNSYM = 6, 11  # types of sections
_NEEDED = 1  # tag of an entry of the section .dynamic


@dataclass(frozen=True)
class DynamicNames:
    """Names without their versions."""

    needed: frozenset[str]  # libraries, as the file names them
    defined: frozenset[str]
    undefined: frozenset[str]  # expected from other libraries


def dynamic_names(binary: Path) -> DynamicNames:
    """Read a 64-bit ELF file; one without a dynamic part has no names.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is not a 64-bit ELF file, or it is cut off.
    """
    content = binary.read_bytes()
    if content[:5] != b"\x7fELF\x02":
        raise ValueError("it is no 64-bit ELF file")
    order = "<" if content[5] == 1 else ">"
    try:
        return _names(content, order)
    except (struct.error, IndexError) as err:
        raise ValueError("it is cut off or damaged") from err


def _names(content: bytes, order: str) -> DynamicNames:
    (start,) = struct.unpack_from(f"{order}Q", content, 40)
    size, count = struct.unpack_from(f"{order}HH", content, 58)
    # Type, offset, size, and the number of the section with the strings.
    sections = [
        struct.unpack_from(f"{order}4xI16xQQI", content, start + size * number)
        for number in range(count if start else 0)
    ]
    needed: set[str] = set()
    defined: set[str] = set()
    undefined: set[str] = set()
    for kind, offset, length, link in sections:
        if kind == _DYNAMIC:
            for tag, value in struct.iter_unpack(f"{order}QQ", content[offset : offset + length]):
                if tag == _NEEDED:
                    needed.add(_text(content, sections[link][1] + value))
        elif kind == _DYNSYM:
            for name, place in struct.iter_unpack(f"{order}I2xH16x", content[offset : offset + length]):
                if name:
                    (defined if place else undefined).add(_text(content, sections[link][1] + name))
    return DynamicNames(frozenset(needed), frozenset(defined), frozenset(undefined))


def _text(content: bytes, start: int) -> str:
    return content[start : content.index(b"\0", start)].decode("utf-8", "surrogateescape")
