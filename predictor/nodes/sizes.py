"""The problems of a search at other sizes N than the asked one, to which measured models are fitted.

Sizes of a kernel with classes are those of its classes; a program of the user's own has sizes if {size} stands in its
arguments.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

from apps.programs.problem import Problem
from platforms.errors import UserError
from platforms.model.platform import Platform
from platforms.wording import number_of
from predictor.allocation.configuration import Limits
from predictor.allocation.sizes import kernel_sizes
from predictor.nodes.options import SearchOptions
from predictor.npt.smaller import Sized, smaller
from predictor.npt.tables import class_size, names_with_equations
from predictor.options import problems_from_request

SIZE = "{size}"  # in the arguments of a program: its N
HALVINGS = 5  # of N, down to which a program is measured
PAPER_SCENARIOS = ("ichikawa", "ichikawa-two-switches")  # the NP-T paper's cluster, with one switch and with two


def sized_program(request: SearchOptions) -> Callable[[int], Problem]:
    """Return the problem of the user's own program for any N.

    Raises:
        UserError: No argument of the program is its size.
    """
    if SIZE not in (request.program_args or ""):
        problem = f"no argument of {request.program} is its size"
        raise UserError(f"--size {request.size}", problem, f"Write {SIZE} into --program-args")

    @cache
    def at_size(size: int) -> Problem:
        arguments = (request.program_args or "").replace(SIZE, str(size))
        return problems_from_request(replace(request, size=None, program_args=arguments))[0]

    return at_size


def classes_as_sizes(asked: Problem) -> tuple[int, Callable[[int], Problem]] | None:
    """Return N of a kernel's class, and its classes by their N; None where N of a class is not known."""
    if asked.program is not None or asked.preset is None or asked.name not in names_with_equations():
        return None
    size = class_size(asked)
    known = {one.N: one.problem for one in (*smaller(asked), Sized(size, asked))}

    def at_size(size: int) -> Problem:
        if size not in known:
            have = ", ".join(f"{N} ({one.preset})" for N, one in sorted(known.items()))
            raise UserError(f"N = {size}", f"{asked.name} has no such class up to {asked}", f"Known: {have}")
        return known[size]

    return size, at_size


def usual_construction(app: str, asked: Problem, size: int) -> tuple[int, ...]:
    """Return the sizes that are measured by default, ascending.

    They are those of the kernel's sizes.toml; else the smaller classes; else N halved up to HALVINGS times.

    Raises:
        UserError: There are fewer than two.
    """
    known = kernel_sizes(app) if asked.program is None else None
    if known is not None:
        return known.construction
    if asked.preset is not None:
        sizes = tuple(one.N for one in smaller(asked))
    else:
        sizes = tuple(sorted({size >> halvings for halvings in range(1, HALVINGS + 1)} - {0}))
    if len(sizes) < 2:
        problem = f"{number_of(len(sizes), 'size')} below {asked} to measure"
        raise UserError(
            "--construction", problem, "Name two sizes or more, choose a larger problem, or another --predictor"
        )
    return sizes


def default_limits(app: str, platform: Platform, scenario: str | None, *, by_cores: bool = False) -> Limits:
    """Return the default limits of a search.

    For the paper's benchmarks on the paper's cluster they are the paper's limits.  Otherwise they allow all nodes, with
    one process on each of the slowest nodes and two on each of the others.

    Args:
        app: Name of the kernel.
        platform: The platform.
        scenario: Name of the scenario of which the platform was made; None: a platform file.
        by_cores: Allow at least as many processes on a node as it has cores.
    """
    clusters, sizes = platform.clusters, kernel_sizes(app)
    paper = None if sizes is None else sizes.limits
    if paper is not None and scenario in PAPER_SCENARIOS and _has(platform, paper):
        return paper
    slowest = min(cluster.speed_flops for cluster in clusters)
    return Limits(
        tuple(len(cluster.hosts) for cluster in clusters),
        tuple(
            max(cluster.cores if by_cores else 1, 1 if cluster.speed_flops == slowest else 2) for cluster in clusters
        ),
    )


def _has(platform: Platform, limits: Limits) -> bool:
    """Return whether the platform has as many clusters, and at least as many nodes, as the limits."""
    nodes = [len(cluster.hosts) for cluster in platform.clusters]
    return len(nodes) == limits.sub_clusters and all(
        most <= there for most, there in zip(limits.pes, nodes, strict=True)
    )
