"""``python -m tests.adversary.main N [FIRST]``: try N drawn programs; status 1 if one is silently wrong."""

import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.adversary.trial import Report, tried

if __name__ == "__main__":
    number, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    report = Report()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        for trial in pool.map(lambda seed: tried(seed, Path(folder)), range(first, first + number)):
            report.add([trial])
            if len(report.trials) % 50 == 0 or trial.wrong:
                print(report.text(), end="\n\n", flush=True)
    print(report.text())
    for trial in report.trials:
        if trial.program.repeats and not trial.extrapolated:
            print(f"repeats, but in full: seed {trial.seed} ({', '.join(trial.program.features)}): {trial.basis}")
    sys.exit(any(trial.wrong for trial in report.trials))
