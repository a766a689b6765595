"""The verbs of ``gridval`` and the commands that they start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from platforms.addons import is_there

SIMULATE, BACKGROUND, WHAT_IF, TERMS, EVENT = "--simulate", "--background", "--what-if", "--terms", "--event"
DGEMM, CORE_GFLOPS, AGAINST = "--dgemm", "--core-gflops", "--against"
FILE = "FILE"  # stands for a first word that is no option


@dataclass(frozen=True)
class Verb:
    """One word after ``gridval``: a command, or a group of further words."""

    purpose: str  # one line of the help
    # Module of the Command, or ``module:NAME``; imported only when the verb is used, for a quick help.
    place: str = ""
    # Options that choose another command of the same verb, with their help, and these commands' places by options.
    choosers: Mapping[str, str] = field(default_factory=dict)
    others: Mapping[frozenset[str], str] = field(default_factory=dict)
    verbs: Mapping[str, Verb] = field(default_factory=dict)  # of a group, or further commands below this one


def _with_simulation(purpose: str, place: str, help: str, simulated: str = "") -> Verb:
    """Return a verb with --simulate, which compares what the verb predicts, by the room of the same name."""
    simulated = simulated or place.replace("predictor", "validation")
    return Verb(purpose, place, {SIMULATE: help}, {frozenset({SIMULATE}): simulated})


_PREDICT = Verb(
    "predict run times without running the targets",
    "predictor.costs.command" if is_there("predictor.costs") else "predictor.predict",
    {
        BACKGROUND: "predict how run times vary on a grid with background load",
        EVENT: 'with a link or host that changes: "t=9 link NAME bandwidth=0.1"',
        WHAT_IF: "rank what would make a program faster on a platform, by its graph",
        DGEMM: "with --app hpl: predict HPL on a calibrated cluster from a FILE.csv of times of matrix products",
        CORE_GFLOPS: "the same from the speed of a core, in Gflop/s",
        SIMULATE: "with --background or --what-if: compare with simulations",
        AGAINST: "by how much a change of a program changes its predicted time (with --fail-above: a limit)",
    },
    {
        frozenset({BACKGROUND}): "predictor.background.cli",
        frozenset({EVENT}): "predictor.workload.event_command",
        frozenset({BACKGROUND, SIMULATE}): "validation.background.cli",
        frozenset({DGEMM}): "predictor.factorisation.cli",
        frozenset({CORE_GFLOPS}): "predictor.factorisation.cli:COMMAND_SPEED",
        frozenset({WHAT_IF}): "predictor.graph.cli",
        frozenset({WHAT_IF, SIMULATE}): "validation.graph.cli",
        frozenset({AGAINST}): "validation.change",
    },
)
_PLAN = {
    "nodes": _with_simulation(
        "choose nodes, and processes on each", "predictor.nodes.cli", "compare the choice with the simulated optimum"
    ),
    "cores": _with_simulation(
        "choose the number of cores and nodes to request",
        "predictor.hierarchical.cli",
        "compare the model with simulations",
        "validation.cores.cli",
    ),
    "clock": _with_simulation(
        "choose the frequency of the nodes of each cluster",
        "predictor.clock.cli",
        "compare predicted times and energies with simulated ones",
    ),
    "shares": _with_simulation(
        "divide the data among clusters of unequal speed",
        "predictor.shares.cli",
        "simulate equal and advised shares, and search for the best ones",
        "validation.shares",
    ),
    "grid": Verb("find the grid to buy within a budget", "predictor.grid.cli"),
    "instance": Verb("compare cloud instances for a program: time and cost", "predictor.instances.command"),
    "job": Verb("choose time and nodes to request for a batch script", "predictor.job.cli"),
    "failures": Verb(
        "expect failures, restarts and checkpoints, of a run or of an APP.toml of blocks",
        "predictor.failures.cli",
        {SIMULATE: "check the formulas with drawn and simulated failures"},
        {
            frozenset({SIMULATE}): "validation.failures.cli",
            frozenset({FILE}): "predictor.checkpoints.cli",
            frozenset({FILE, SIMULATE}): "validation.checkpoints.cli",
        },
    ),
}
_SERIES = {
    "campaign": Verb("run a product of platforms, networks, problems and mappings", "validation.campaign"),
    "league": Verb("rank predictors by error, cost and the choices they lead to", "validation.league"),
    "map": Verb("find where predictors are valid: their error by compute share", "validation.map.cli"),
    "intervals": Verb("measure how often intervals of predictions hold the truth", "validation.intervals.cli"),
    "workload": Verb("several jobs on one platform, or a log of a batch system", "validation.workload.cli"),
    "measured": Verb(
        "predict measured runs of a cluster from a few of them",
        "validation.measured.cli",
        {TERMS: "runs of any programs, by models with few terms"},
        {frozenset({TERMS}): "validation.few_terms.cli"},
    ),
}
_BLOCKS = {
    "run": _with_simulation(
        "evaluate an application described as blocks",
        "predictor.blocks.run_command",
        "compare with a simulation of the same description",
        "validation.blocks.cli",
    ),
    "block": Verb("time, power and energy of one block", "predictor.blocks.block_command"),
    "calibrate": Verb("coefficients of all blocks on a platform", "predictor.blocks.calibrate_command"),
    "figures": Verb("draw the formulas of a published model", "predictor.blocks.figures_command"),
    "volunteers": _with_simulation(
        "expect the time of work units on volunteers that join and leave",
        "predictor.blocks.volunteers.cli",
        "simulate each draw",
        "validation.blocks.volunteers",
    ),
}
_PLATFORM = {
    "show": Verb("show clusters, hosts, links and anything unusual, or draw them", "platforms.show.cli"),
    "make": Verb("write a scenario or a system as a SimGrid platform file", "platforms.make"),
    "system": Verb("show a system of levels, and place processes on it", "platforms.system.cli"),
    "hardware": Verb("list and search processors, networks and disks, with sources", "platforms.system.catalogue"),
    "check": Verb("say whether programs can run on all hosts of a platform", "platforms.show.check"),
    "calibrate": Verb("measure a machine, or read measured times, and make its platform", "apps.calibrate.cli"),
    "emulate": Verb("run MPI programs on a small grid that this computer emulates", "apps.emulate.cli"),
    "modes": Verb("simulate messages in each of MPI's send modes, and fit Li's lines", "validation.modes.cli"),
}
_PROGRAM = {
    "run": Verb("run one kernel, or a program of your own, and print its record", "apps.run"),
    "build": Verb("build real code for SimGrid by its own Makefile, CMake or configure", "apps.build"),
    "speed": Verb("measure the share of peak speed that kernels sustain here", "apps.speed"),
}
_PREDICTOR = {
    "list": Verb("list the predictors, by family", "predictor.listing"),
    "check": Verb("check that predictors keep the rules, also those of your own", "predictor.check"),
}
_STORE = {
    "list": Verb("one line per entry", "apps.store.cli:COMMAND_LIST"),
    "show": Verb("one entry, completely, as JSON", "apps.store.cli:COMMAND_SHOW"),
    "export": Verb("the runs as a table", "apps.store.cli:COMMAND_EXPORT"),
    "prune": Verb("remove entries, and files without an entry", "apps.store.cli:COMMAND_PRUNE"),
    "same": Verb("compare the results in two folders", "validation.same"),
}
_WORKBENCH = {"user": Verb("add, list and remove accounts of a workbench", "validation.workbench.cli:COMMAND_USER")}

# All verbs by group, in the order of the help.
_GROUPS: dict[str, dict[str, Verb]] = {
    "Predict, and compare with simulations": {
        "run": Verb(
            "predict, simulate, and report errors and costs of predictions",
            "validation.costs" if is_there("validation.costs") else "validation.run",
            {EVENT: "with a link or host that changes"},
            {frozenset({EVENT}): "validation.workload.event_command"},
        ),
        "predict": _PREDICT,
        "scale": _with_simulation(
            "predict how a program scales: time, speed-up, critical path",
            "predictor.scale.cli",
            "simulate every point too",
            "validation.scale",
        ),
        "series": Verb("many runs: campaigns, leagues, maps, intervals, measured runs", verbs=_SERIES),
    },
    "Choose and plan": {
        "plan": Verb("choose nodes, cores, clocks, shares, grids, jobs; expect failures", verbs=_PLAN),
    },
    "Look into models": {
        "blocks": Verb("evaluate and calibrate applications described as blocks", verbs=_BLOCKS),
        "graph": _with_simulation(
            "draw a program's graph, its critical path, and what speeds it up",
            "predictor.graph.cli",
            "compare its times and what speeds it up with simulations",
        ),
        "predictor": Verb("list predictors, or check one of your own", verbs=_PREDICTOR),
    },
    "Platforms, programs and results": {
        "platform": Verb("show, make, check, calibrate or emulate a platform", verbs=_PLATFORM),
        "program": Verb("build or run a program, or measure the speed of kernels", verbs=_PROGRAM),
        "workbench": Verb(
            "make platforms, queue suites and see results in a browser", "validation.workbench.cli", verbs=_WORKBENCH
        ),
        "report": Verb("draw the page of results that were kept", "validation.report.command"),
        "store": Verb("list, show, export, remove and compare stored runs", verbs=_STORE),
    },
    "This computer": {
        "doctor": Verb("say what is installed, found and missing, and how to get it", "validation.doctor"),
        "completion": Verb("print the script that completes gridval in a shell", "validation.entrance.completion"),
    },
}


def _present(verbs: Mapping[str, Verb]) -> dict[str, Verb]:
    """Return the verbs whose rooms are there: an add-on that is not there has no verb, and no --simulate."""
    present = {}
    for name, verb in verbs.items():
        others = {options: place for options, place in verb.others.items() if is_there(place)}
        choosers = {word: help for word, help in verb.choosers.items() if any(word in options for options in others)}
        kept = replace(verb, verbs=_present(verb.verbs), others=others, choosers=choosers)
        if kept.verbs or (verb.place and is_there(verb.place)):
            present[name] = kept
    return present


GROUPS = {title: present for title, group in _GROUPS.items() if (present := _present(group))}
VERBS: dict[str, Verb] = {name: verb for group in GROUPS.values() for name, verb in group.items()}

# What verbs were called before, and are called now.
RENAMED = {
    "shared": "predict --background",
    "campaign": "series campaign",
    "league": "series league",
    "measured": "series measured",
    "map": "series map",
    "intervals": "series intervals",
    "choose": "plan nodes",
    "design": "plan grid",
    "clock": "plan clock",
    "cores": "plan cores",
    "shares": "plan shares",
    "failures": "plan failures",
    "checkpoints": "plan failures",
    "modes": "platform modes",
    "conform": "predictor check",
    "same": "store same",
    "emulate": "platform emulate",
    "calibrate": "program speed",
}


def commands() -> dict[str, Verb]:
    """Return the verbs that are commands, by all their words.

    >>> commands()["plan clock"].place
    'predictor.clock.cli'
    """
    by_words: dict[str, Verb] = {}
    for name, verb in VERBS.items():
        by_words |= {name: verb} if verb.place else {}
        by_words |= {f"{name} {key}": inner for key, inner in verb.verbs.items()}
    return by_words
