"""The verbs of ``gridval`` and the commands that they start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Verb:
    """One word after ``gridval``: a command, or a group of further words."""

    purpose: str  # one line of the help
    module: str = ""  # has ``main``; imported only when the verb is used, because imports decide how fast help comes
    twin: str = ""  # the module that --simulate starts instead; empty: there is none
    twin_help: str = ""
    twin_of: str = ""  # the sub-command whose twin that is; empty: of the whole command
    verbs: Mapping[str, Verb] = field(default_factory=dict)  # of a group

    @property
    def own_name(self) -> str:
        """The name of the command with ``python -m``."""
        return own_name(self.module)

    @property
    def twin_name(self) -> str:
        """The name with ``python -m`` of the command that --simulate starts."""
        return own_name(self.twin)


def own_name(module: str) -> str:
    """Return how a command is called without ``gridval``.

    >>> own_name("predictor.frequency.cli")
    'python -m predictor.frequency'
    """
    return f"python -m {module.removesuffix('.cli')}"


_PLATFORM = {
    "show": Verb("show clusters, hosts, links and anything unusual, or draw them", "platforms.inspect.cli"),
    "make": Verb("write a scenario or a system as a SimGrid platform file", "platforms.generate"),
    "system": Verb("show a system of levels, and place processes on it", "platforms.system.cli"),
    "hardware": Verb("list and search processors, networks and disks, with sources", "platforms.system.catalogue"),
    "calibrate": Verb("measure a machine, or read measured times, and make its platform", "apps.calibration.cli"),
    "check": Verb("say whether programs can run on all hosts of a platform", "platforms.inspect.check"),
}

# The verbs by group, in the order of the help.
GROUPS: dict[str, dict[str, Verb]] = {
    "Predict, and compare with simulations": {
        "run": Verb("predict, simulate, and report errors and costs of predictions", "validation.run"),
        "predict": Verb("predict run times without running the targets", "predictor.predict"),
        "shared": Verb(
            "predict how run times vary on a grid with background load", "predictor.shared.cli",
            twin="validation.shared.cli", twin_help="simulate runs under drawn load, and judge the predictions",
        ),
        "campaign": Verb("run for a product of platforms, networks, problems and mappings", "validation.campaign"),
        "league": Verb("rank predictors by error, cost and the choices they lead to", "validation.league.cli"),
        "measured": Verb("predict measured runs of a cluster from a few of them", "validation.measured.cli"),
        "map": Verb("find where predictors are valid: their error by compute share", "validation.regimes.cli"),
        "intervals": Verb("measure how often intervals of predictions hold the truth", "validation.intervals.cli"),
    },
    "Choose and plan": {
        "choose": Verb(
            "choose nodes, and processes on each", "predictor.optimize.cli",
            twin="validation.optimize.cli", twin_help="compare the choice with the simulated optimum",
        ),
        "design": Verb("find the grid to buy within a budget", "predictor.design.cli"),
        "clock": Verb(
            "choose the frequency of the nodes of each cluster", "predictor.frequency.cli",
            twin="validation.frequency.cli", twin_help="compare predicted times and energies with simulated ones",
        ),
        "cores": Verb(
            "choose the number of cores and nodes to request", "predictor.hierarchical.cli",
            twin="validation.hierarchical.cli", twin_help="compare the model with simulations",
        ),
        "shares": Verb(
            "divide the data among clusters of unequal speed", "predictor.shares.cli",
            twin="validation.shares.cli", twin_help="simulate equal and advised shares, and search for the best ones",
        ),
        "failures": Verb(
            "expect failures of nodes, restarts and checkpoints", "predictor.reliability.cli",
            twin="validation.reliability.cli", twin_help="check the formulas with drawn and simulated failures",
        ),
        "checkpoints": Verb(
            "expect failures of the hardware under an application of blocks", "predictor.checkpoints.cli",
            twin="validation.checkpoints.cli", twin_help="check expected times and energies with drawn failures",
        ),
    },
    "Look into models": {
        "blocks": Verb(
            "evaluate applications described as blocks", "predictor.blocks.cli",
            twin="validation.blocks.cli", twin_help="compare with a simulation of the same description",
            twin_of="run",
        ),
        "graph": Verb(
            "draw a program's graph, its critical path, and what speeds it up", "predictor.dpgraph.cli",
            twin="validation.graph.cli", twin_help="compare its times and what speeds it up with simulations",
        ),
        "modes": Verb("simulate messages in each of MPI's send modes, and fit Li's lines", "validation.sendmodes.cli"),
        "conform": Verb("check that predictors keep the rules, also those of your own", "predictor.check"),
    },
    "Platforms, programs and results": {
        "platform": Verb("show, make or check a platform", verbs=_PLATFORM),
        "program": Verb("run one kernel, or a program of your own, and print its record", "apps.run"),
        "workbench": Verb("make platforms, queue suites and see results in a browser", "validation.workbench.cli"),
        "store": Verb("list, show, export and remove stored runs", "apps.store.cli"),
        "same": Verb("compare the results in two folders", "validation.same"),
    },
    "This computer": {
        "doctor": Verb("say what is installed, found and missing, and how to get it", "validation.doctor.cli"),
        "completion": Verb("print the script that completes gridval in a shell", "validation.entrance.completion"),
        "emulate": Verb("run MPI programs on a small grid that this computer emulates", "apps.emulation.cli"),
        "calibrate": Verb("measure the share of peak speed that kernels sustain here", "apps.calibrate"),
    },
}  # fmt: skip

VERBS: dict[str, Verb] = {name: verb for group in GROUPS.values() for name, verb in group.items()}


def calls() -> dict[str, str]:
    """Return how each command is called with ``gridval``, keyed by its name with ``python -m``.

    >>> calls()["python -m validation.frequency"]
    'gridval clock --simulate'
    """
    found = {}
    for name, group in VERBS.items():
        for verb_name, verb in {f"{name} {key}": verb for key, verb in group.verbs.items()}.items() or [(name, group)]:
            found[verb.own_name] = f"gridval {verb_name}"
            if verb.twin:
                found[verb.twin_name] = f"gridval {verb_name} --simulate"
    return found
