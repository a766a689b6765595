"""The predictors ``learned``: the time of a program on more ranks than it was ever run on.

The program is recorded at a few small numbers of ranks.  What its calls have in common on all of them is continued to
the target's number of ranks, and evaluated as the graph predictors evaluate a recording.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from apps.programs.problem import Problem
from apps.recording.events import Recording
from apps.spec.target import Target
from platforms.terminal.progress import doing
from platforms.wording import number_of
from predictor.base import CallCertainty, Cost, Evidence, EvidenceRequest, OutOfRange, Prediction
from predictor.dpgraph.predictors import (
    DPGRAPH,
    DPGRAPH_KNOWN,
    MANY_PAIRS,
    GraphModel,
    GraphPredictor,
    RoutesOf,
    iterations_to_record,
)
from predictor.learned.errors import CannotContinue, TooMany
from predictor.learned.numbers import (
    LEAST,
    alike,
    next_counts,
    numbers_of,
    parse_known,
    parse_recorded,
    problem_on,
    sizes_by_count,
)

if TYPE_CHECKING:  # these modules import NumPy, which takes long to import
    from predictor.dpgraph.network import NetworkModel
    from predictor.dpgraph.program import Sections
    from predictor.learned.folding import FoldedSections
    from predictor.learned.models import Notes
    from predictor.learned.structure import Structure

# Factor by which computation that was timed may be off at the target at least: there more ranks share the caches of the
# computer that times them (docs/validation/extrapolation.md).
_TIMED = 2.0
_MOST_NAMED = 3  # calls that a caution names
_OWN = "what was learned is exact, or has a range of its own"
_NO_RANGE = "how wrong it is if what is assumed or not confirmed does not hold is not known"


@dataclass(frozen=True)
class Failed:
    """A number of ranks on which the program did not run."""

    problem: Problem
    nranks: int
    error: str


@dataclass(frozen=True)
class _Expected:
    """Recording that a program is expected to have; if one iteration stands for all, the largest that was made."""

    recording: Recording
    notes: Notes
    folded: FoldedSections | None  # the expected iterations, if one stands for all


@dataclass(frozen=True)
class _ExpectedGraph(GraphModel):
    folded: FoldedSections | None = None  # the iteration that is repeated

    def sections(self, target: Target) -> Sections:
        """Return the iterations of the program."""
        return super().sections(target) if self.folded is None else self.folded

    @property
    def sizes(self) -> None:
        """None: the network is measured before it is known what will be sent."""

    def network(self, target: Target, routes: RoutesOf | None = None) -> NetworkModel:
        """Return the network between the target's hosts; of very many that are alike, without reading all routes."""
        # Imported here for a quick start: it is slow to import.
        from predictor.learned.alike_hosts import alike_network

        options = self.surroundings[target.platform.content_hash].options
        many = self.folded is not None and len(self.folded.pairs) > MANY_PAIRS
        made = alike_network(target, options) if many and options is not None and routes is None else None
        return super().network(target, routes) if made is None else made


@dataclass(frozen=True)
class LearnedModel:
    """Recordings at small numbers of ranks, and the evidence on networks."""

    name: str
    graph: GraphPredictor
    recordings: tuple[Evidence, ...]
    networks: tuple[Evidence, ...]
    known: tuple[tuple[str, int], ...] = ()
    failed: tuple[Failed, ...] = ()

    def predict(self, target: Target) -> Prediction:
        """Return the time of the program that is expected on the target's ranks.

        Raises:
            OutOfRange: A call follows no rule that leads there, there are too few smaller numbers of ranks, or the
                network has options that the evaluation does not follow.
        """
        # Imported here for a quick start: it is slow to import.
        from predictor.learned.skeleton import with_places

        self._check_options(target)
        structure, evidence = self._structure(target)
        made = self._made(target, structure, lean=0)
        notes, prediction = made.notes, self._evaluated(target, made, evidence)
        times_s = [prediction.time_s]
        if notes.differs or notes.fitted:
            for lean in (-1, 1):
                try:
                    other = self._made(target, structure, lean=lean)
                    times_s.append(self._evaluated(target, other, evidence).time_s)
                except OutOfRange:
                    continue
        exact = not structure.unconfirmed and not (notes.differs or notes.fitted or notes.assumed)
        calls = _certainties(target, structure, notes)
        timed_s = prediction.parts.get("compute_s", 0.0) if made.recording.measured else 0.0
        # Answers differ where formulas do or something was fitted; how wrong an assumption may be, nothing tells.
        known = not exact and (len(times_s) > 1 or timed_s > 0)
        low_s, high_s = _range_s(times_s, target.nranks, structure, timed_s) if known else (None, None)
        return replace(
            prediction,
            low_s=low_s,
            high_s=high_s,
            flags=(*prediction.flags, *with_places(_cautions(structure, notes), target.problem)),
            remarks=(
                *prediction.remarks,
                _remark(structure, calls, exact=exact),
                *_advice(calls, structure),
            ),
            no_interval=prediction.no_interval or (_OWN if exact or known else _NO_RANGE),
            calls=calls,
        )

    def sections(self, target: Target) -> Sections:
        """Return the iterations of the program that is expected on the target's ranks.

        Raises:
            OutOfRange: As ``predict``; so do the next two.
        """
        return self._graph(target).sections(target)

    def network(self, target: Target) -> NetworkModel:
        """Return the network between the target's hosts."""
        return self._graph(target).network(target)

    def recording_of(self, target: Target) -> Recording:
        """Return the recording that is expected on the target's ranks."""
        return self._graph(target).recording_of(target)

    def _graph(self, target: Target) -> GraphModel:
        structure, evidence = self._structure(target)
        return self._fitted(target, self._made(target, structure, lean=0, fold=False), evidence)

    def settles(self, target: Target) -> bool:
        """Return whether what was learned is exact, as far as the recordings tell, and leads to the target.

        Also true where no further recording would lead to an answer.
        """
        try:
            self._check_options(target)
        except OutOfRange:
            return True
        try:
            structure, _ = self._structure(target)
            notes = self._made(target, structure, lean=0).notes
        except OutOfRange:
            return False
        return not structure.unconfirmed and not (notes.differs or notes.assumed)

    def _check_options(self, target: Target) -> None:
        """Refuse options of a declared network that are not followed, before anything is learned.

        Raises:
            OutOfRange: There is such an option.
        """
        # Imported here for a quick start: it is slow to import.
        from predictor.dpgraph.known import known_network

        for piece in self.networks:
            if piece.request.kind == "declared" and piece.request.target.platform == target.platform:
                known_network((), dict(piece.declared.options))

    def _structure(self, target: Target) -> tuple[Structure, list[Evidence]]:
        where = f"{self.name}, {target.problem.on(target.nranks)}"
        known = dict(self.known)
        evidence = [piece for piece in self.recordings if piece.request.target.nranks < target.nranks]
        evidence = [
            piece
            for piece in evidence
            if piece.request.target.problem == problem_on(target.problem, known, piece.request.target.nranks)
        ]
        if len(evidence) < LEAST:
            problem = f"it learns from recordings on at least {LEAST} smaller numbers of ranks"
            for failed in (failed for failed in self.failed if failed.problem == target.problem):
                problem += f"; on {number_of(failed.nranks, 'rank')} it fails ({failed.error})"
                break
            raise OutOfRange(where, problem, "Use dpgraph, which records the target's own number of ranks")
        numbers, sizes = numbers_of(target.problem, known), sizes_by_count(target.problem, known)
        seen = [piece.request.target.nranks for piece in evidence]
        best: Structure | None = None
        refused: list[CannotContinue] = []
        for counts in alike(target.nranks, seen):
            some = tuple(piece for piece in evidence if piece.request.target.nranks in counts)
            made = _learned(_Recordings(some), numbers, tuple(sizes.items()))
            if isinstance(made, CannotContinue):
                refused.append(made)
            elif best is None or len(made.unconfirmed) < len(best.unconfirmed):
                best = made
            if best is not None and not best.unconfirmed:
                break
        if best is None:
            raise _refusal(where, refused[0], target.problem, evidence)
        return best, evidence

    def _made(self, target: Target, structure: Structure, *, lean: int, fold: bool = True) -> _Expected:
        fold = fold and target.problem.iterative and iterations_to_record(target) < target.iterations
        try:
            return _generated(structure, target.nranks, lean, _Recordings(self.recordings), fold)
        except CannotContinue as err:
            where = f"{self.name}, {target.problem.on(target.nranks)}"
            raise _refusal(where, err, target.problem, self.recordings) from None

    def _fitted(self, target: Target, made: _Expected, evidence: Sequence[Evidence]) -> GraphModel:
        cost = sum((piece.cost for piece in evidence), Cost())
        request = EvidenceRequest("recording", target, iterations=iterations_to_record(target))
        recorded = Evidence(request, made.recording, " ".join(piece.id for piece in evidence), cost)
        model = self.graph.fit([recorded, *self.networks])
        return _ExpectedGraph(model.name, model.programs, model.surroundings, made.folded)

    def _evaluated(self, target: Target, made: _Expected, evidence: Sequence[Evidence]) -> Prediction:
        prediction = self._fitted(target, made, evidence).predict(target)
        return replace(prediction, evidence=(*(piece.id for piece in evidence), *prediction.evidence[1:]))


def _certainties(target: Target, structure: Structure, notes: Notes) -> tuple[CallCertainty, ...]:
    # Imported here for a quick start: they are slow to import.
    from predictor.learned.certainty import certainties
    from predictor.learned.skeleton import with_places

    made = certainties(structure, notes, target.problem, target.nranks)
    named = with_places([part.call for part in made], target.problem)
    return tuple(replace(part, call=name) for part, name in zip(made, named, strict=True))


def _refusal(where: str, err: CannotContinue, problem: Problem, evidence: Sequence[Evidence]) -> OutOfRange:
    # Imported here for a quick start: they are slow to import.
    from predictor.learned.axes import between_neighbours
    from predictor.learned.certainty import missing
    from predictor.learned.skeleton import with_places

    remedy = "Record other numbers of ranks (--recorded), name sizes of the problem (--known), or use dpgraph"
    seen = [piece.request.target.nranks for piece in evidence]
    grid = between_neighbours([piece.recording for piece in evidence])
    advice = [] if isinstance(err, TooMany) else list(islice(missing(seen, problem.allows, grid=grid), 1))
    for shown, count in advice:
        counts = ",".join(map(str, sorted({*seen, count})))
        remedy = f"The recordings cannot tell {shown}: try --recorded {counts}. {remedy}"
    if isinstance(err, TooMany):
        remedy = "Use a computer with more memory, or structural, which does not evaluate each message of its kernels"
    elif not advice and not grid:
        no_grid = (
            "Its messages go between neighbours on no grid that is known: no further number of ranks can be advised"
        )
        remedy = f"{no_grid}. {remedy}"
    return OutOfRange(where, with_places([str(err)], problem)[0], remedy)


def _range_s(times_s: Sequence[float], nranks: int, structure: Structure, timed_s: float) -> tuple[float, float]:
    """Return the range of the answers, widened by the residuals of fits as they grow with the number of ranks.

    ``timed_s``: the part of the time that is computation which was measured.
    """
    # Imported here for a quick start: it is slow to import.
    import math

    beyond = 1 + math.log(nranks / max(structure.seen))
    middle_s = times_s[0]
    low_s = min(*times_s, middle_s - timed_s * (1 - 1 / _TIMED))
    high_s = max(*times_s, middle_s + timed_s * (_TIMED - 1))
    return max(0.0, middle_s - beyond * (middle_s - low_s)), middle_s + beyond * (high_s - middle_s)


def _remark(structure: Structure, calls: Sequence[CallCertainty], *, exact: bool) -> str:
    states = Counter(call.state for call in calls)
    sure = "" if exact else f"; {', '.join(f'{number} {state}' for state, number in states.items())}"
    seen = ", ".join(map(str, structure.seen[:-1])) + f" and {structure.seen[-1]}"
    paths = number_of(len(structure.leaves), "call path")
    grid = structure.space.grid
    held = f"what the recordings on fewer ranks lead to is that on {structure.seen[-1]} ranks"
    if structure.unconfirmed:
        held = f"{number_of(len(structure.unconfirmed), 'part')} of it took that on {structure.seen[-1]} ranks to learn"
    return f"{paths} learned from recordings on {seen} ranks ({'exact, ' if exact else ''}grid: {grid}){sure}; {held}"


def _advice(calls: Sequence[CallCertainty], structure: Structure) -> tuple[str, ...]:
    """Return the sentence about the further recordings that would settle what is doubtful, if any are known."""
    further = {call.settled_by for call in calls if call.settled_by is not None}
    if not further:
        return ()
    counts = ",".join(map(str, sorted({*structure.seen, *further})))
    more = " and ".join(number_of(count, "rank") for count in sorted(further))
    return (f"further recordings, on {more}, may settle what is doubtful: --recorded {counts}",)


def _cautions(structure: Structure, notes: Notes) -> tuple[str, ...]:
    said = []
    unsure = [what for what in structure.unconfirmed if what not in structure.fitted]
    for what, calls in (
        ("formulas that agree on all recordings differ", [f"{k} ({t})" for k, (_, t) in notes.differs.items()]),
        ("only fitted", [f"{call} (residuals {100 * width:.3g} %)" for call, width in notes.fitted.items()]),
        ("a step, as where a share begins to fit into a cache", [f"{k}: {t}" for k, t in notes.steps.items()]),
        ("not confirmed by a recording on more ranks", unsure),
        ("assumed", [f"{call}: {what}" for call, what in notes.assumed.items()]),
    ):
        if calls:
            more = f", and {len(calls) - _MOST_NAMED} more" if len(calls) > _MOST_NAMED else ""
            said.append(f"{what}: {'; '.join(calls[:_MOST_NAMED])}{more}")
    return tuple(said)


@dataclass(frozen=True)
class LearnedPredictor:
    """A predictor that learns a program from small recordings.

    Attributes:
        name: Its name.
        graph: The graph predictor that evaluates what was learned.
        recorded: The numbers of ranks to record; empty: those that the predictor chooses.
        known: Sizes of the problem by their names, as ``parse_known`` gives them.
    """

    name: str
    graph: GraphPredictor
    recorded: tuple[int, ...] = ()
    known: tuple[tuple[str, int], ...] = field(default=())
    failed: tuple[Failed, ...] = ()

    def without(self, request: EvidenceRequest, error: Exception) -> LearnedPredictor | None:
        """Return the predictor that does without a recording, unless the user asked for it."""
        if request.kind != "recording" or self.recorded:
            return None
        target = request.target
        return replace(self, failed=(*self.failed, Failed(target.problem, target.nranks, str(error))))

    def with_options(self, recorded: str | None, known: Sequence[str]) -> LearnedPredictor:
        """Return the predictor with the options --recorded and --known.

        Raises:
            UserError: An option cannot be read.
        """
        counts = () if recorded is None else parse_recorded(recorded)
        return replace(self, recorded=counts, known=tuple(parse_known(known).items()))

    def requests(self, targets: Sequence[Target]) -> list[EvidenceRequest]:
        """Return the requests for recordings at small numbers of ranks, and on the network."""
        asked: dict[EvidenceRequest, None] = {}
        for problem, nranks in dict.fromkeys((target.problem, target.nranks) for target in targets):
            target = next(t for t in targets if (t.problem, t.nranks) == (problem, nranks))
            counts = self.recorded or next_counts(problem, nranks, ())
            if len(counts) >= LEAST:
                asked |= dict.fromkeys(self._recording(target, count) for count in counts if count < nranks)
        unlike: dict[tuple[Problem, int], EvidenceRequest] = {}
        for request in asked:  # one recording serves the targets on all platforms
            unlike.setdefault((request.target.problem, request.target.nranks), request)
        network = [request for request in self.graph.requests(targets) if request.kind != "recording"]
        return [*unlike.values(), *network]

    def further(self, targets: Sequence[Target], evidence: Sequence[Evidence]) -> list[EvidenceRequest]:
        """Return the requests for one more recording where what was learned is not exact, and on the network."""
        networks = [piece for piece in evidence if piece.request.kind != "recording"]
        asked = self.graph.further(targets, networks)
        if self.recorded:
            return asked
        model = self.fit(evidence)
        for target in {(target.problem, target.nranks): target for target in targets}.values():
            known = dict(self.known)
            small = [(e.request.target.problem, e.request.target.nranks) for e in model.recordings]
            small += [(failed.problem, failed.nranks) for failed in self.failed]
            tried = {count for problem, count in small if problem == problem_on(target.problem, known, count)}
            left = next_counts(target.problem, target.nranks, tried)
            if left and len(tried) >= LEAST and not model.settles(target):
                asked += [self._recording(target, count) for count in left]
        return asked

    def _recording(self, target: Target, nranks: int) -> EvidenceRequest:
        problem = problem_on(target.problem, dict(self.known), nranks)
        small = Target(problem, target.platform, target.placement[:nranks])
        return EvidenceRequest("recording", small, iterations=iterations_to_record(small))

    def fit(self, evidence: Sequence[Evidence]) -> LearnedModel:
        """Return the model from all evidence."""
        recordings = tuple(piece for piece in evidence if piece.request.kind == "recording")
        networks = tuple(piece for piece in evidence if piece.request.kind != "recording")
        return LearnedModel(self.name, self.graph, recordings, networks, self.known, self.failed)


@dataclass(frozen=True)
class _Recordings:
    """Recordings as a key: those of the same evidence are equal."""

    evidence: tuple[Evidence, ...]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Recordings) and self._ids == other._ids

    def __hash__(self) -> int:
        return hash(self._ids)

    @property
    def _ids(self) -> tuple[str, ...]:
        return tuple(piece.id for piece in self.evidence)


@lru_cache(maxsize=8)
def _learned(
    recordings: _Recordings, numbers: tuple[int, ...], sizes: tuple[tuple[int, tuple[int, ...]], ...]
) -> Structure | CannotContinue:
    """Return what is learned, or why nothing is; both are remembered."""
    # Imported here for a quick start: it is slow to import.
    from predictor.learned.learn import learn
    from predictor.learned.skeleton import with_calls_merged

    made = [piece.recording for piece in recordings.evidence]
    try:
        merged, text = with_calls_merged(made, recordings.evidence[0].request.target.problem)
        ranks = ", ".join(str(recording.nranks) for recording in made)
        with doing(f"learning the program from its recordings on {ranks} ranks"):
            return learn(merged, numbers, text, dict(sizes))
    except CannotContinue as err:
        return err


@lru_cache(maxsize=1)  # on many ranks it takes much memory
def _generated(structure: Structure, nranks: int, lean: int, sources: _Recordings, fold_it: bool) -> _Expected:
    # Imported here for a quick start: they are slow to import.
    from predictor.learned.folding import fold, folded
    from predictor.learned.generate import generate
    from predictor.learned.models import Notes

    made = [piece.recording for piece in sources.evidence]

    def completed(recording: Recording) -> Recording:
        return replace(
            recording,
            measured=any(source.measured for source in made),
            replayed=all(source.replayed for source in made),
            spread_rel=max(source.spread_rel for source in made),
            timed_rank=made[0].timed_rank if len({source.timed_rank for source in made}) == 1 else None,
            remarks=tuple(dict.fromkeys(text for source in made for text in source.remarks)),
            cautions=tuple(dict.fromkeys(text for source in made for text in source.cautions)),
        )

    short = folded(structure) if fold_it else None
    if short is not None:
        notes, recording = Notes(lean=lean), completed(max(made, key=lambda source: source.nranks))
        try:
            sections = fold(short, nranks, notes, recording.timed_rank)
        except TooMany:  # three iterations have more events still
            raise
        except CannotContinue:  # an iteration may take over what the one before began
            sections = None
        if sections is not None:
            return _Expected(recording, notes, sections)
    notes = Notes(lean=lean)
    return _Expected(completed(generate(structure, nranks, notes=notes)), notes, None)


LEARNED = LearnedPredictor("learned", DPGRAPH)
LEARNED_KNOWN = LearnedPredictor("learned:known", DPGRAPH_KNOWN)
