"""An application of blocks in Python: a pipeline of stages on a user-defined system, with three cost models.

.venv/bin/python examples/blocks/pipeline.py
"""

from pathlib import Path

from gridval.platforms.system.convert import system_named
from gridval.predictor.blocks.application import Application, Label
from gridval.predictor.blocks.evaluation.evaluate import evaluate
from gridval.predictor.blocks.programs import Compute, If, ReadDisk, Receive, Repeat, Send
from gridval.predictor.blocks.setting import Setting

# Stage 0 reads the items and passes them on.  Every stage works on each item; later stages take longer.
PIPELINE = Application(
    "pipeline",
    labels=(
        Label(
            "stage",
            "stages",
            (
                Repeat(
                    "items",
                    (
                        If("index == 0", (ReadDisk("item_bytes"),), (Receive("stage", at="index - 1"),)),
                        Compute("operations * (1 + index / stages)"),
                        If("index < stages - 1", (Send("stage", "item_bytes", at="index + 1", buffered=True),)),
                    ),
                ),
            ),
        ),
    ),
    variables={"stages": 16, "items": 40, "item_bytes": 1e6, "operations": 2e8},
)


def main() -> None:
    """Evaluate the pipeline for several numbers of stages."""
    system = system_named(str(Path(__file__).with_name("cluster.toml")))
    for stages in (4, 16, 64):
        application = PIPELINE.changed(variables={"stages": stages})
        setting = Setting(application, system)
        for model in ("hardware", "simgrid", "galera+"):
            result = evaluate(application, setting.machine(model))
            print(f"{stages:4} stages, {model:8}: {result.time_s:8.4f} s, {result.energy_j:10.1f} J")


if __name__ == "__main__":
    main()
