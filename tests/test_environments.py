"""Parts of the suite under ``python -O``, in another locale, and in an environment with nothing but PATH and HOME."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# Readers and writers of every kind, both engines, own programs, the store, predictions, and a whole comparison.
PART = """
    tests/platforms/read/test_read.py tests/platforms/grids/test_scenario.py tests/platforms/files/test_writing.py
    tests/platforms/files/test_commented_csv.py tests/platforms/files/test_spreadsheets.py
    tests/platforms/simgrid/test_compiled_cache.py
    tests/apps/runs/test_engine.py tests/apps/s4u/test_s4u_kernels.py tests/apps/programs/test_own_program_identity.py
    tests/apps/recording/test_recorder_calls.py tests/apps/store/test_store.py tests/apps/store/test_store_payloads.py
    tests/apps/test_broken_kernel_files.py tests/predictor/test_hcf.py tests/predictor/structural/test_structural.py
    tests/predictor/failures/test_reliability_by_hand.py tests/validation/test_validation_run.py
    tests/faults/test_failing_programs.py tests/faults/test_closed_streams.py
""".split()


def german(folder):
    """Return the variables of a locale with a decimal comma; skip the test where it cannot be made."""
    if shutil.which("localedef") is None:
        pytest.skip("there is no localedef")
    subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", str(folder / "de_DE.UTF-8")], capture_output=True)
    if not (folder / "de_DE.UTF-8").is_dir():
        pytest.skip("no German locale can be made")
    return {"LOCPATH": str(folder), "LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8"}


@pytest.mark.slow
@pytest.mark.parametrize("how", ["-O", "German", "C, not UTF-8", "cleaned"])
def test_the_tests_pass_there_too(tmp_path, how):
    environment, options = dict(os.environ), []
    if how == "-O":
        environment |= {"PYTHONOPTIMIZE": "1"}
        options = ["-O"]
    elif how == "German":
        environment |= german(tmp_path)
    elif how == "cleaned":
        environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    else:
        environment |= {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    words = ["-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestConfigWarning", *PART]
    done = subprocess.run(
        [sys.executable, *options, *words], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=1800
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


def test_the_part_of_the_suite_exists():
    assert [name for name in PART if not (ROOT / name).is_file()] == []
