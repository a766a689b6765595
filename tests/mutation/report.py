"""Report on the mutants of `make mutation`: how many of each module the tests kill, and which survive.

Run it in the folder in which mutmut has run.  The exit status is 1 if fewer than LEAST of a module's mutants, or of all
mutants, are killed, or if equivalent.toml names a mutant that is no survivor.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LEAST = 0.9
KILLED, SURVIVED, TIMEOUT, NOT_RUN = "killed", "survived", "timeout", "not run"
# mutmut's exit codes: 33 and 5 are mutants that no test reaches; signal 24 and code 36 are time limits.
STATUS = {1: KILLED, 3: KILLED, 0: SURVIVED, 33: SURVIVED, 5: SURVIVED, None: NOT_RUN}
STATUS |= dict.fromkeys((-24, 24, 36, 152, 255), TIMEOUT)


@dataclass(frozen=True)
class Change:
    """The change that makes a mutant, as in equivalent.toml, because names of mutants change with every edit."""

    module: str
    function: str
    was: str
    becomes: str


@dataclass(frozen=True)
class Mutant:
    """A changed function and the result of its tests."""

    module: str  # path of the file
    name: str  # mutmut's name of the mutant
    status: str  # one of the four above, or mutmut's exit code

    @property
    def function(self) -> str:
        """Name of the function in the source; mutmut writes x_function, or xǁclassǁmethod."""
        mangled = self.name.rpartition("__mutmut_")[0].rpartition(".")[2]
        return mangled.removeprefix("x_") if mangled.startswith("x_") else mangled[2:].replace("ǁ", ".")

    def change(self) -> Change:
        """Return the lines that the mutant changes."""
        from mutmut.mutation.diff_apply import get_diff_for_mutant

        lines = get_diff_for_mutant(self.name, path=self.module).splitlines()[2:]
        was, becomes = (" ".join(line[1:].strip() for line in lines if line.startswith(sign)) for sign in "-+")
        return Change(self.module, self.function, was, becomes)


def mutants(root: Path) -> Iterator[Mutant]:
    """Yield all mutants, from the files that mutmut keeps beside each module."""
    for path in sorted(root.rglob("*.py.meta")):
        module = str(path.relative_to(root)).removesuffix(".meta")
        for name, code in json.loads(path.read_text())["exit_code_by_key"].items():
            yield Mutant(module, name, STATUS.get(code, f"code {code}"))


def read_equivalent(path: Path) -> dict[Change, str]:
    """Return the mutants that no test can distinguish from the original, with the reasons."""
    entries = tomllib.loads(path.read_text("utf-8"))["mutants"]
    return {Change(e["module"], e["function"], e["was"], e["becomes"]): e["reason"] for e in entries}


def main() -> int:
    found = list(mutants(Path("mutants")))
    if not found:
        print("error: mutants: there are none here. Run mutmut first.", file=sys.stderr)
        return 2
    equivalent = read_equivalent(Path(__file__).with_name("equivalent.toml"))
    survivors = {mutant: mutant.change() for mutant in found if mutant.status not in (KILLED, TIMEOUT)}
    unknown = {mutant: change for mutant, change in survivors.items() if change not in equivalent}
    for mutant, change in unknown.items():
        print(f"{mutant.status}: {mutant.name}\n  - {change.was}\n  + {change.becomes}")
    stale = [change for change in equivalent if change not in survivors.values()]
    for change in stale:
        print(f"no survivor: {change.module}, {change.function}\n  + {change.becomes}")

    print(f"{'module':44} mutants  killed  timeouts  survived  of these equivalent  killed %")
    rows: dict[str, list[Mutant]] = {}
    for mutant in found:
        rows.setdefault(mutant.module, []).append(mutant)
    weak = []
    for module, members in (*rows.items(), ("all", found)):
        count = Counter(mutant.status for mutant in members)
        left = [mutant for mutant in members if mutant in survivors]
        known = sum(mutant not in unknown for mutant in left)
        share = 1 - len(left) / len(members)
        numbers = f"{len(members):7}  {count[KILLED]:6}  {count[TIMEOUT]:8}  {len(left):8}  {known:19}"
        print(f"{module:44} {numbers}  {100 * share:8.1f}")
        if share < LEAST:
            weak.append(module)
    if weak:
        print(f"fewer than {100 * LEAST:g} % are killed: {', '.join(weak)}")
    return 1 if weak or stale else 0


if __name__ == "__main__":
    sys.exit(main())
