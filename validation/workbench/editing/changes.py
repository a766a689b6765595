"""The changes of a page since a browser got it, as small as it can be written: the browser has the rest."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_PAGES = 64  # that the server remembers, of all users; others get the whole state once more
_STATES = 3  # of a page: an answer may be under way while the next request arrives


@dataclass(frozen=True)
class PageState:
    """The content that a browser shows of a draft: texts by the names of their places, and elements of a canvas."""

    texts: Mapping[str, str]
    elements: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


class PageStates:
    """The last states of pages, so that an answer has only what changed."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, deque[tuple[int, PageState]]] = OrderedDict()
        self._lock = threading.Lock()

    def begin(self, state: PageState) -> str:
        """Remember the state of a new page, and return its name."""
        name = secrets.token_hex(8)
        with self._lock:
            self._kept[name] = deque([(0, state)], _STATES)
            while len(self._kept) > _PAGES:
                self._kept.popitem(last=False)
        return f"{name}-0"

    def step(self, name: str, state: PageState) -> tuple[str, dict[str, Any]]:
        """Return the new name of a page that gets a state, and what changed since the one that its name stands for."""
        page, _, number = name.partition("-")
        with self._lock:
            states = self._kept.get(page)
            if states is None:
                old, next_number = None, -1
            else:
                self._kept.move_to_end(page)
                old = next((kept for kept_number, kept in states if str(kept_number) == number), None)
                next_number = states[-1][0] + 1
                states.append((next_number, state))
        new_name = self.begin(state) if next_number < 0 else f"{page}-{next_number}"
        return new_name, differences(old, state)


def differences(old: PageState | None, new: PageState) -> dict[str, Any]:
    """Return what changed: for each text its first changed character, how many went, and what came; and elements.

    Positions count UTF-16 units, as browsers do.  A text or the elements of which the browser has nothing are whole,
    which the number None says of texts, and the key ``all`` of elements.
    """
    texts: dict[str, tuple[int, int | None, str]] = {}
    for name, text in new.texts.items():
        before = None if old is None else old.texts.get(name)
        if before is None:
            texts[name] = (0, None, text)
        elif before != text:
            texts[name] = splice(before, text)
    had = {} if old is None else old.elements
    changed: dict[str, Any] = {
        "set": [element for name, element in new.elements.items() if had.get(name) != element],
        "gone": [name for name in had if name not in new.elements],
    }
    if old is None:
        changed["all"] = True
    return {"texts": texts, "elements": changed}


def splice(old: str, new: str) -> tuple[int, int, str]:
    """Return where a text changed, how many characters went there, and which came."""
    most = min(len(old), len(new))
    first = _alike(most, lambda size: old[:size] == new[:size])
    last = _alike(most - first, lambda size: size == 0 or old[-size:] == new[-size:])
    gone, came = old[first : len(old) - last], new[first : len(new) - last]
    return _units(old[:first]), _units(gone), came


def _alike(most: int, is_alike: Any) -> int:
    """Return the largest size up to ``most`` for which two texts are alike, by halving."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if is_alike(middle) else (low, middle - 1)
    return low


def _units(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
