"""The plan of a job: its sizes, the chosen one, the improved script, and what is not known."""

import difflib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from apps.batch.headers import NAMES, UNLIMITED, limit_text, rounded_up_s
from apps.batch.script import Script
from platforms.errors import printable
from platforms.prices.bill import UNKNOWN, amount_text
from platforms.terminal.prose import prose_lines
from platforms.terminal.quantities import duration, interval_text, significant
from platforms.terminal.table import table_lines
from platforms.wording import number_of
from predictor.job.request import COST, TIME, JobRequest
from predictor.job.sizes import Size, StepTime

_MOST_DIFFERENCES = 200  # lines
_MOST_SHOWN = 28  # characters of a command


@dataclass(frozen=True)
class Plan:
    """Answer of ``gridval plan job``."""

    request: JobRequest
    script: Script
    own: int | None  # number of nodes of the script; None: open
    sizes: tuple[Size, ...]  # ascending
    chosen: Size | None
    improved: bytes | None  # the script with the chosen nodes and time; None: nothing to change is known
    unknown: tuple[str, ...]
    refused: tuple[tuple[int, str], ...]  # numbers of nodes without an answer, and why
    cautions: tuple[str, ...] = ()
    growing: bool = False  # the work of the job grows with its ranks

    @property
    def limit_s(self) -> int | None:
        """Time to request, in s."""
        chosen = self.chosen
        return None if chosen is None or chosen.below_s is None else rounded_up_s(chosen.below_s)

    @property
    def limit_text(self) -> str | None:
        """Time to request, as the scheduler reads it."""
        return None if self.limit_s is None else limit_text(self.script.asked.scheduler, self.limit_s)

    @property
    def shown(self) -> Size:
        """The size whose steps are shown: the chosen one, else the script's own or the first."""
        own = [size for size in self.sizes if size.nodes == self.own]
        return self.chosen or (own or list(self.sizes))[0]

    @property
    def difference(self) -> list[str]:
        """Lines of the unified difference between the script and the improved one."""
        if self.improved is None:
            return []
        old, new = (text.decode(errors="replace").split("\n") for text in (self.script.content, self.improved))
        name = Path(self.script.path).name
        made = difflib.unified_diff(old, new, name, improved_name(name), lineterm="", n=0)
        return [printable(line) for line in made][:_MOST_DIFFERENCES]

    def text(self) -> str:
        """Return the plan as lines of text."""
        lines = [*prose_lines(self._headline()), "", *self._step_table(), ""]
        if len(self.sizes) > 1 or self.chosen is not None:
            lines += [*self._size_table(), ""]
        for said in self._sentences():
            lines += prose_lines(said, indent="    ", first="")
        if self.difference:
            lines += ["", *self.difference]
        if self.unknown:
            lines += ["", "Not known from the script:"]
            lines += [line for text in self.unknown for line in prose_lines(text, indent="    ", first="  ")]
        return "\n".join(lines)

    def _headline(self) -> str:
        asked = self.script.asked
        nodes = number_of(self.own, "node") if self.own is not None else "an open number of nodes"
        limit = asked.time_s
        time = "no time" if limit is None else "unlimited time" if limit == UNLIMITED else duration(limit)
        return (
            f"{self.script.path}, {NAMES[asked.scheduler]}: requests {nodes}, {number_of(asked.total, 'task')}, {time}"
        )

    def _step_table(self) -> list[str]:
        rows = [["line", "step", "ranks", "nodes", "times", "time", "90 % interval", "predictor"]]
        for step in self.shown.steps:
            rows.append(
                [
                    str(step.line) if step.line else "-", _cut(printable(step.command)), str(step.ranks or "-"),
                    str(step.nodes), str(step.times), UNKNOWN if step.time_s is None else duration(step.time_s),
                    _range(step.time_s, step.low_s, step.high_s), step.predictor or "-",
                ]
            )  # fmt: skip
        return [f"Steps on {number_of(self.shown.nodes, 'node')}", *table_lines(rows, left={1, 7})]

    def _size_table(self) -> list[str]:
        bills = [size.bill for size in self.sizes if size.bill is not None]
        costs = [("cost", next(iter(bills)).currency or "")] if bills and self.request.price is not None else []
        emits = [("emissions", "g CO2e")] if bills and self.request.carbon is not None else []
        more = [f"{name}, {unit}" for name, unit in (*costs, *emits)]
        rows = [["nodes", "time", "90 % interval", f"{self.request.risk:g} % below", "node-hours", *more, ""]]
        for size in self.sizes:
            least = "" if size.complete else "> "
            marks = ["chosen"] if size is self.chosen else []
            marks += ["as requested"] if size.nodes == self.own else []
            rows.append(
                [
                    str(size.nodes), UNKNOWN if size.time_s is None else least + duration(size.time_s),
                    _range(size.time_s, size.low_s, size.high_s),
                    "-" if size.below_s is None else duration(size.below_s), significant(size.node_hours),
                    *([amount_text(size.bill.cost if size.bill else None)] if costs else []),
                    *([amount_text(size.bill.carbon_g if size.bill else None)] if emits else []), ", ".join(marks),
                ]
            )  # fmt: skip
        return ["The job", *table_lines(rows, left={5 + len(more)})]

    def _sentences(self) -> Iterator[str]:
        chosen, risk = self.chosen, f"{self.request.risk:g} %"
        if self.growing:
            yield (
                "the computation of all ranks together grows with their number, so that more nodes do more work: only "
                "the number that the script requests is advised"
            )
        if chosen is None and self.request.objective == COST and self.shown.complete:
            yield "no nodes are advised: the cost is not known"
        elif chosen is None and self.shown.complete:
            yield "name that number among --nodes too"
        elif chosen is None:
            yield "no nodes and no time are advised: not every step has a predicted time"
        else:
            why = f"cheapest within {self.request.slack:g} % of the fastest"
            why = why if self.request.objective != TIME else "fastest"
            compared = ", ".join(str(size.nodes) for size in self.sizes)
            why = "as the script does" if self.growing else f"the {why}, of {compared}"
            yield f"request {number_of(chosen.nodes, 'node')}: {why}"
            if self.limit_text is None:
                reasons = dict.fromkeys(step.reason for step in chosen.steps if step.below_s is None and step.reason)
                yield (
                    f"no time is advised, as there is no interval ({'; '.join(reasons)}); give --spread PERCENT, the "
                    "standard deviation of run times on this machine, or measured times with --measured"
                )
            else:
                yield f"request the time {self.limit_text}: {risk} of runs end within {duration(chosen.below_s)}"
        asked_s = self.script.asked.time_s
        if chosen is not None and asked_s is not None and chosen.below_s is not None and asked_s < chosen.below_s:
            yield f"the time that the script requests, {duration(asked_s)}, is shorter: runs may be ended by it"
        if self.shown.bill is not None:
            yield from self.shown.bill.lines(most=any(step.most_energy for step in self.shown.steps))
        for step in self.shown.steps:
            if step.time_s is None:
                yield f"line {step.line} has no time: {step.reason}" if step.line else f"no time: {step.reason}"
        for nodes, reason in self.refused:
            yield f"on {number_of(nodes, 'node')}: {reason}"
        if self.improved is not None and self.request.write is None:
            yield f"--write {improved_name(Path(self.script.path).name)} writes the script with these changes"
        elif self.request.write is not None and self.improved is not None:
            yield f"written to {self.request.write}"

    def to_json(self) -> dict[str, Any]:
        """Return the plan as JSON values, in SI units."""
        asked = self.script.asked
        limit_s = None if asked.time_s == UNLIMITED else asked.time_s
        return {
            "job": self.script.path,
            "scheduler": asked.scheduler,
            "requested": {"nodes": self.own, "tasks": asked.total, "time_s": limit_s},
            "work_grows": self.growing,
            "risk": self.request.risk / 100,
            "sizes": [_size_json(size) for size in self.sizes],
            "nodes": None if self.chosen is None else self.chosen.nodes,
            "limit_s": self.limit_s,
            "limit": self.limit_text,
            "difference": self.difference,
            "written_to": None if self.improved is None else self.request.write,
            "refused": {str(nodes): reason for nodes, reason in self.refused},
            "unknown": list(self.unknown),
            "cautions": list(self.cautions),
        }


def improved_name(name: str) -> str:
    """Return the name of an improved script: ``job.gridval.sbatch`` for ``job.sbatch``.

    >>> improved_name("job.sbatch"), improved_name("job")
    ('job.gridval.sbatch', 'job.gridval')
    """
    path = Path(name)
    return f"{path.stem}.gridval{path.suffix}"


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 4]} ..."


def _range(time_s: float | None, low_s: float | None, high_s: float | None) -> str:
    if time_s is None or low_s is None or high_s is None:
        return "-"
    return interval_text(low_s, high_s, like_s=time_s)


def _step_json(step: StepTime) -> dict[str, Any]:
    left_out = ("hosts", "energies_j", "no_energy", "most_energy")
    values = asdict(replace(step, energies_j=None))
    return {
        key: printable(value) if isinstance(value, str) else value
        for key, value in values.items()
        if key not in left_out
    }


def _size_json(size: Size) -> dict[str, Any]:
    return {
        "nodes": size.nodes,
        "time_s": size.time_s,
        "low_s": size.low_s,
        "high_s": size.high_s,
        "below_s": size.below_s,
        "node_hours": size.node_hours,
        "complete": size.complete,
        "bill": None if size.bill is None else size.bill.to_json(),
        "steps": [_step_json(step) for step in size.steps],
    }
