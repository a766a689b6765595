"""Answer a question: the expected speed-up of an allocation, the best one, and the smallest that is nearly as good."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

from apps.programs.problem import problem
from platforms.errors import UserError, nearest
from platforms.terminal.quantities import significant
from predictor.hierarchical.allocation import (
    MOST_MARGIN,
    Allocation,
    allocation,
    batch_lines,
    best,
    smallest_within,
    wall_time_s,
)
from predictor.hierarchical.applications import Application, application, applications
from predictor.hierarchical.counts.declared import Plan
from predictor.hierarchical.kernels import BETA, exchanging, exchanging_names
from predictor.hierarchical.model import COUNTED, DERIVED, Beta, check_variant
from predictor.hierarchical.multicore_cluster import MulticoreCluster
from predictor.hierarchical.recorded_plan import Counts, RecordedPlan
from predictor.hierarchical.surface import NO_FORM, Optimum, Surface

MOST_CHOICES = 20_000_000  # limit of the pairs of q and p; a search of that many takes seconds
MOST_KERNEL_NODES = 20_000  # limit of p for kernels, whose #x is computed separately for every number of nodes
MOST_COUNTED = 20_000  # limit of the pairs of q and p whose messages are counted, each separately
_CHARGED_WITHIN_NODES = (
    "several cores per node: the paper's table counts exchanges between the cores of a node, as if each core sent a "
    "whole node's share, so times may also be several times too long"
)
_WITHIN_NODES = "several cores per node: the ranks of a node are assumed to hold a compact part of the problem"
_THIN_SHARE = 0.5  # largest share of a node's cores that counts as thin use
SIMULATED_NODES, SIMULATED_RANKS = 32, 512  # the most on which the counts were compared with simulations
_PEAK = "l_c is the platform's stated speed; the paper's is what DGEMM sustains (--efficiency)"


@dataclass(frozen=True)
class AllocationQuestion:
    """A program on a machine, with the settings of the model."""

    system: MulticoreCluster
    app: str
    n: int | None = None  # size, for a program of the paper's table
    preset: str | None = None  # class, for a kernel with classes
    variant: str = COUNTED
    overlap: bool = False  # True: s(z) = min(1, z)
    beta: Beta | None = None  # None: the program's beta; only for the paper's table and kernels with classes
    cores_per_node: int | None = None  # q of the allocation in question; None: the best
    nodes: int | None = None  # p of the allocation in question; None: the best
    most_nodes: int | None = None  # None: all nodes of the machine
    within: float = 0.05  # share of the best speed-up that the smallest allocation may lose
    margin: float = 0.2  # share of the expected time that is added to the wall time
    whole_nodes: bool = False  # True: an allocation costs all cores of its nodes
    batch: str | None = None  # batch system; None: the machine's
    recorded: RecordedPlan | None = None  # any other program, with its recordings
    own: Application | None = None  # a program by its formulas

    @property
    def program(self) -> Application:
        """The program of the paper's table, or the one by its formulas."""
        return self.own or application(self.app)

    @property
    def has_classes(self) -> bool:
        """True for a kernel with classes that declares its exchanges; False for a program of the paper's table."""
        return self.recorded is None and self.own is None and self.app in exchanging_names()


@dataclass(frozen=True)
class AllocationAnswer:
    """The answer to a question; speed-ups are relative to one core at its full speed."""

    question: AllocationQuestion
    equation: str
    operations: float
    asked: Allocation
    best: Allocation
    smallest: Allocation
    one_core: Allocation  # its speed-up is below 1 where a core waits for memory
    optimum_cores: Optimum  # best q for the nodes in question
    optimum_nodes: Optimum  # best p for the cores per node in question
    cautions: tuple[str, ...]

    def counts(self, shown: Allocation) -> Counts | None:
        """Return #op, #b and #x of an allocation; None where they are not from a recording."""
        plan = self.question.recorded
        return None if plan is None else plan.counts(shown.cores_per_node, shown.nodes)

    @property
    def parameters(self) -> Parameters:
        """The paper's parameters on the allocation in question."""
        return parameters(self.question, self.operations, self.asked)

    def time_s(self, advised_allocation: Allocation) -> float:
        """Return the expected run time, #op / (l_c S), s; it is no bound (``cautions``)."""
        return self.operations / (float(self.question.system.core_flops) * advised_allocation.speedup)

    @property
    def wall_time_s(self) -> int | None:
        """Wall time to request for the smallest allocation, with the margin, s; None if longer than any job may run."""
        return wall_time_s(self.time_s(self.smallest), self.question.margin)

    @property
    def batch_script(self) -> list[str]:
        """Lines of a batch script that request the smallest allocation; none where no job may run for so long."""
        question = self.question
        if self.wall_time_s is None:
            return []
        batch = question.batch or question.system.batch
        return batch_lines(batch, self.smallest, self.wall_time_s, exclusive=question.whole_nodes)


def answer(question: AllocationQuestion) -> AllocationAnswer:
    """Answer a question.

    Raises:
        UserError: A value of the question is wrong, or its values do not fit together.
    """
    if not 0 <= question.margin <= MOST_MARGIN:
        raise UserError(f"--margin {question.margin:g}", "not a share", f"Give 0 to {MOST_MARGIN:g}, such as 0.2")
    surface, operations = _surface(question)
    cores, nodes = _ranges(question)
    top = best(surface, cores, nodes)
    charged = question.system.cores if question.whole_nodes else None
    smallest = smallest_within(surface, cores, nodes, of=top, share=question.within, charged=charged)
    asked = _asked(question, surface, cores, nodes)
    return AllocationAnswer(
        question, surface.source, operations, asked, top, smallest, allocation(surface, 1, 1),
        *_optima(question, asked), cautions=_cautions(question, asked, top, smallest),
    )  # fmt: skip


def surface_of(question: AllocationQuestion) -> Surface:
    """Return the speed-up surface of the question's program on its machine."""
    return _surface(question)[0]


def is_counted(question: AllocationQuestion) -> bool:
    """Return whether the answer uses the counts of this project's kernels, not the paper's table."""
    special = question.has_classes or question.recorded is not None or question.own is not None
    return question.variant == COUNTED and not special


class _Choices(TypedDict):
    variant: str
    beta: Beta | None
    overlap: bool


def _surface(question: AllocationQuestion) -> tuple[Surface, float]:
    if question.variant != COUNTED:
        check_variant(question.variant, others=(COUNTED,))
    if question.recorded is not None:
        return _recorded(question, question.recorded)
    choices = _Choices(variant=question.variant, beta=question.beta, overlap=question.overlap)
    if question.own is not None:
        if question.variant not in (COUNTED, DERIVED):
            raise UserError(f"--variant {question.variant}", "the paper prints nothing of it", "Leave it out")
        choices["variant"] = DERIVED
        n = 1 if question.n is None else question.n
        return question.own.surface(n, question.system, **choices), question.own.operations(n)
    if question.has_classes:
        if question.variant == COUNTED:
            choices["variant"] = DERIVED  # its #op, #b and #x are counted in any case
        if question.n is not None:
            raise UserError(f"--n {question.n}", f"{question.app} has classes", "Give --class instead")
        if question.preset is None:
            raise UserError(f"--app {question.app}", "its class is not given", "Give --class, such as B")
        kernel, params = exchanging(question.app), dict(problem(question.app, question.preset).params)
        return kernel.surface(params, question.system, **choices), kernel.operations(params)
    if question.app not in applications():
        raise UserError(f"--app {question.app}", "no such program", nearest(question.app, known_apps(), limit=20))
    if question.preset is not None:
        raise UserError(f"--class {question.preset}", f"{question.app} has a size", "Give --n instead")
    if question.n is None:
        raise UserError(f"--app {question.app}", "its size is not given", "Give --n, such as 20000")
    if is_counted(question):
        if question.beta is not None:
            text = "the variant counted has a link for every node"
            raise UserError(f"--beta {question.beta}", text, "Leave it out, or add --variant derived")
        plan = Plan(question.app, question.n, question.system)
        return plan.surface(overlap=question.overlap), plan.operations
    model = application(question.app)
    return model.surface(question.n, question.system, **choices), model.operations(question.n)


def _recorded(question: AllocationQuestion, plan: RecordedPlan) -> tuple[Surface, float]:
    for name, value, without in (
        ("--n", question.n, None),
        ("--variant", question.variant, COUNTED),
        ("--beta", question.beta, None),
    ):
        if value != without:
            problem = "goes with the programs of the paper's table and kernels that declare their exchanges"
            raise UserError(f"{name} {value}", problem, f"Leave it out: {question.app} is recorded")
    return plan.surface(overlap=question.overlap), plan.operations


def known_apps() -> tuple[str, ...]:
    """Return the names of the programs of the paper's table, followed by the kernels with classes."""
    return (*applications(), *exchanging_names())


def _ranges(question: AllocationQuestion) -> tuple[range, range]:
    system, most = question.system, question.most_nodes
    if most is not None and not 1 <= most <= system.nodes:
        problem = f"{system.name} has {system.nodes} nodes"
        raise UserError(f"--most-nodes {most}", problem, f"Give 1 to {system.nodes}")
    nodes = most or system.nodes
    limit = min(MOST_CHOICES // system.cores, MOST_KERNEL_NODES if question.has_classes else MOST_CHOICES)
    if is_counted(question):
        limit = MOST_COUNTED // system.cores
    if question.recorded is not None:
        nodes = min(nodes, max(question.recorded.recordings))
    elif nodes > limit:
        problem = f"{nodes} nodes of {system.cores} cores are more than can be searched"
        remedy = f"Give --most-nodes, at most {limit}" if limit else "Add --variant derived"
        raise UserError(f"system {system.name!r}", problem, remedy)
    return range(1, system.cores + 1), range(1, nodes + 1)


def _asked(question: AllocationQuestion, surface: Surface, cores: range, nodes: range) -> Allocation:
    """Return the allocation in question; a number that is not given takes its best value."""
    for option, value, allowed, what in (
        ("--cores-per-node", question.cores_per_node, cores, "cores per node"),
        ("--nodes", question.nodes, nodes, "nodes available"),
    ):
        if value is not None and value not in allowed:
            if question.recorded is not None:
                raise _not_recorded(f"{option} {value}", question.recorded)
            problem = f"{question.system.name} has {allowed[-1]} {what}"
            raise UserError(f"{option} {value}", problem, f"Give 1 to {allowed[-1]}")
    if question.cores_per_node is not None:
        cores = range(question.cores_per_node, question.cores_per_node + 1)
    if question.nodes is not None:
        nodes = range(question.nodes, question.nodes + 1)
    best_allocations = best(surface, cores, nodes)
    if best_allocations.efficiency == 0:
        given = (("--cores-per-node", question.cores_per_node), ("--nodes", question.nodes))
        where = " ".join(f"{option} {value}" for option, value in given if value is not None)
        if question.recorded is not None:
            raise _not_recorded(where, question.recorded)
        problem = f"the kernel for {question.app} does not run on that many"
        raise UserError(where, problem, "Give powers of two, or fewer")
    return best_allocations


def _not_recorded(where: str, plan: RecordedPlan) -> UserError:
    known = ", ".join(map(str, sorted(plan.recordings)))
    problem = f"{plan.problem} was recorded on {known} ranks, on nodes of {plan.system.cores} cores"
    return UserError(where, problem, "Give an allocation of as many ranks, or record others with --ranks")


def _optima(question: AllocationQuestion, asked: Allocation) -> tuple[Optimum, Optimum]:
    by_formulas = question.own is not None
    if question.has_classes or (question.n is None and not by_formulas) or is_counted(question):
        return Optimum(None, NO_FORM), Optimum(None, NO_FORM)
    return question.program.optima(
        1 if question.n is None else question.n, question.system, asked.cores_per_node, asked.nodes,
        variant=DERIVED if by_formulas else question.variant, beta=question.beta, overlap=question.overlap,
    )  # fmt: skip


def parameters(question: AllocationQuestion, operations: float, asked: Allocation) -> Parameters:
    """Return the paper's parameters of a question's program on an allocation."""
    system, q, p = question.system, asked.cores_per_node, asked.nodes
    v = None if system.v is None else float(system.v)
    if question.recorded is not None:
        counts = question.recorded.counts(q, p)
        moved = counts.memory_bytes, p * counts.link_bytes
    elif question.has_classes:
        kernel, params = exchanging(question.app), dict(problem(question.app, str(question.preset)).params)
        moved = kernel.bytes_per_operation(params) * operations, kernel.exchanged_bytes(params, p)
    elif is_counted(question):
        path = Plan(question.app, int(question.n or 1), system).path(q, p)
        assert path is not None  # the allocation in question can be run
        moved = p * path.memory_bytes, p * path.link_bytes
    else:
        n = 1 if question.n is None else question.n
        values = {"n": float(n), "q": float(q), "p": float(p)}
        moved = float(question.program.b.evaluate(**values)), float(question.program.x.evaluate(**values))
    return Parameters(operations, *moved, float(system.a_star), v)


def _thin_use(question: AllocationQuestion, advised: tuple[Allocation, ...]) -> list[str]:
    """Return a caution if advised allocations use at most half of the cores of several nodes."""
    cores = question.system.cores
    thin = [
        advised_allocation
        for advised_allocation in advised
        if advised_allocation.nodes > 1 and advised_allocation.cores_per_node <= _THIN_SHARE * cores
    ]
    if not thin:
        return []
    which = " and ".join(
        f"{advised_allocation.cores_per_node} of {cores} cores on {advised_allocation.nodes} nodes"
        for advised_allocation in thin
    )
    reason = (
        "the model leaves out what many nodes cost"
        if question.has_classes or question.own is not None
        else "the model charges more cores per node too much, and leaves out what many nodes cost"
    )
    remedy = "before you ask for that many nodes, simulate fewer nodes with more cores (gridval plan cores --simulate)"
    return [f"{which}: {reason}; {remedy}"]


def _counted_cautions(question: AllocationQuestion, shown: tuple[Allocation, ...]) -> tuple[str, ...]:
    cautions = []
    if (
        max(advised_allocation.nodes for advised_allocation in shown) > SIMULATED_NODES
        or max(advised_allocation.cores for advised_allocation in shown) > SIMULATED_RANKS
    ):
        cautions.append(
            f"the counts were compared with simulations on up to {SIMULATED_NODES} nodes and {SIMULATED_RANKS} cores"
        )
    if (
        max(advised_allocation.nodes for advised_allocation in shown)
        == (question.most_nodes or question.system.nodes)
        > 1
    ):
        cautions.append("an allocation uses all nodes: more may be faster")
    if question.system.is_peak:
        cautions.append(_PEAK)
    return tuple(cautions)


def _recorded_cautions(
    question: AllocationQuestion, plan: RecordedPlan, shown: tuple[Allocation, ...]
) -> tuple[str, ...]:
    known = ", ".join(map(str, sorted(plan.recordings)))
    cautions = [*plan.cautions]
    cautions.append(f"recorded on {known} ranks: allocations of other numbers of cores are left out (--ranks)")
    if not plan.bytes_per_operation and question.system.memory_Bps is not None:
        cautions.append("#b is not known: memory is taken never to limit (--bytes-per-flop gives it)")
    most = max(plan.recordings)
    if max(advised_allocation.cores for advised_allocation in shown) == most > 1:
        cautions.append(f"an allocation uses all {most} ranks of the largest recording: more may be faster (--ranks)")
    if question.system.is_peak:
        cautions.append(_PEAK)
    return tuple(cautions)


def _cautions(
    question: AllocationQuestion, asked: Allocation, top: Allocation, smallest: Allocation
) -> tuple[str, ...]:
    shown = tuple(dict.fromkeys((asked, top, smallest)))
    if question.recorded is not None:
        return _recorded_cautions(question, question.recorded, shown)
    if is_counted(question):
        return _counted_cautions(question, shown)
    with_latency = question.has_classes or (question.own is not None and question.own.messages is not None)
    left_out = "waiting for slower nodes" if with_latency else "latency and waiting"
    cautions = [f"eq. (1) and (3) leave out {left_out}: times may be too short, above all on many nodes"]
    if any(advised_allocation.cores_per_node > 1 for advised_allocation in shown):
        within_nodes = question.has_classes or question.own is not None
        cautions.append(_WITHIN_NODES if within_nodes else _CHARGED_WITHIN_NODES)
    cautions += _thin_use(question, tuple(dict.fromkeys((top, smallest))))
    if top.nodes == (question.most_nodes or question.system.nodes) and top.nodes > 1:
        cautions.append(f"the best allocation uses all {top.nodes} nodes: more nodes would be faster by the model")
    if question.system.is_peak:
        cautions.append(_PEAK)
    if question.has_classes and question.beta is not None and question.beta.per_core != BETA.per_core:
        cautions.append(
            f"#x of {question.app} is for whole nodes: a beta that is divided by q counts their cores twice"
        )
    return tuple(cautions)


@dataclass(frozen=True)
class Parameters:
    """The paper's parameters of a program on an allocation; None: not defined, because a part is 0 or not known."""

    operations: float  # #op
    memory_bytes: float  # #b
    exchanged_bytes: float  # #x, on this allocation
    a_star: float  # l_c / b_m, flop/byte; 0: memory never limits
    v: float | None  # b_cl / b_m

    @property
    def a(self) -> float | None:
        """#op / #b, flop/byte."""
        return self.operations / self.memory_bytes if self.memory_bytes else None

    @property
    def x(self) -> float | None:
        """The operational intensity relative to the machine's, a / a*."""
        return self.a / self.a_star if self.a is not None and self.a_star else None

    @property
    def r(self) -> float | None:
        """#b / #x."""
        return self.memory_bytes / self.exchanged_bytes if self.memory_bytes and self.exchanged_bytes else None

    def line(self) -> str:
        """Return the parameters as a line of text."""
        values = (("a", self.a), ("a*", self.a_star or None), ("x", self.x), ("r", self.r), ("v", self.v))
        shown = ", ".join(f"{name} {'-' if value is None else significant(value)}" for name, value in values)
        amounts = (("#op", self.operations), ("#b", self.memory_bytes), ("#x", self.exchanged_bytes))
        return f"{', '.join(f'{name} {significant(value)}' for name, value in amounts)}; {shown} (a, a* in flop/byte)"

    def to_json(self) -> dict[str, float | None]:
        """Return the parameters as JSON values."""
        return {
            "operations": self.operations,
            "memory_bytes": self.memory_bytes,
            "exchanged_bytes": self.exchanged_bytes,
            "a_flop_per_byte": self.a,
            "a_star_flop_per_byte": self.a_star or None,
            "x": self.x,
            "r": self.r,
            "v": self.v,
        }
