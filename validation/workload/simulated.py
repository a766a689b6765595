"""The simulated times of the jobs of a workload: all attempts in one simulation, kept in the store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from apps.recording.events import Recording
from apps.runs.runner import Runner
from apps.spec.run_spec import RunSpec
from apps.spec.settings import Settings
from apps.store import Store
from apps.together.run import Attempt, Ran, run_together, together_hash
from platforms.terminal.progress import doing
from predictor.series.pool import Kept
from predictor.workload.schedule import Placed, Workload, fixed_dates


@dataclass(frozen=True)
class Together:
    """Result of a simulation, for the store: the dates of each attempt; None: it was killed."""

    ran: tuple[Ran | None, ...]


class Simulated:
    """Simulates attempts of a workload's jobs together."""

    def __init__(
        self, workload: Workload, settings: Settings, runner: Runner, store: Store | None, time_limit_s: float | None
    ):
        self.workload, self._runner = workload, runner
        self._settings = replace(settings, iterations="full", engine=None)
        self._kept = Kept("workload", Together, store)
        self._time_limit_s = time_limit_s
        links = {link.name: link for route in workload.some_routes() for link in route.links} if workload.events else {}
        self._links = links

    def ran(self, placed: Sequence[Placed], *, events: bool = True) -> dict[str, Ran]:
        """Return the dates of all attempts that are not stopped, by name."""
        jobs = self.workload.by_name()
        programs = [one for one in placed if jobs[one.job].problem is not None]
        ran = fixed_dates(self.workload, placed)
        if programs:
            attempts = [self._attempt(one) for one in programs]
            changes = [event for event in self.workload.events if not event.fails] if events else []
            identity = {
                "jobs": [attempt.identity() for attempt in attempts],
                "events": [str(event) for event in changes],
                "program": together_hash(),
            }
            answer = self._kept.get(identity)
            if answer is None:
                names = ", ".join(one.name for one in programs[:4])
                with doing(f"simulating {len(programs)} jobs together: {names}{'...' * (len(programs) > 4)}"):
                    made = run_together(
                        attempts, self._recording, events=changes, links=self._links, time_limit_s=self._time_limit_s
                    )
                answer = Together(tuple(made))
                self._kept.put(identity, answer, f"{len(programs)} jobs")
            ran |= {one.name: dates for one, dates in zip(programs, answer.ran, strict=True) if dates is not None}
        return ran

    def ends_s(self, placed: Sequence[Placed]) -> dict[str, float]:
        """Return the ends of attempts, for the schedule."""
        return {name: ran.end_s for name, ran in self.ran(placed).items()}

    def alone(self, one: Placed) -> Ran:
        """Return the dates of an attempt that has the quiet platform to itself from date 0 on."""
        return self.ran([replace(one, start_s=0.0, stop_s=None)], events=False)[one.name]

    def _attempt(self, one: Placed) -> Attempt:
        target = self.workload.by_name()[one.job].target(self.workload.platform, one.hosts)
        return Attempt(one.name, self._settings.spec(target), one.start_s, one.stop_s)

    def _recording(self, spec: RunSpec) -> Recording:
        return self._runner.recording(spec, spec.target.iterations)
