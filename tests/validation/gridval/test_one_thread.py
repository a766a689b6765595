"""The command starts no threads for linear algebra, and leaves the environment as it is."""

import json
import os
import subprocess
import sys

import pytest

COUNT = """
import json, os, sys
from validation.gridval.blas import use_one_thread
use_one_thread()
use_one_thread()
import numpy, scipy.linalg
given = sum(getattr(finder, "__name__", "") == "_OneThread" for finder in sys.meta_path)
print(json.dumps([len(os.listdir("/proc/self/task")), os.environ.get("OPENBLAS_NUM_THREADS"), given]))
"""


@pytest.mark.parametrize("number", [None, "1"])
def test_numpy_and_scipy_start_no_thread_and_the_variable_is_as_before(number):
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    environment |= {} if number is None else {"OPENBLAS_NUM_THREADS": number}
    done = subprocess.run([sys.executable, "-c", COUNT], env=environment, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [1, number, 0 if number else 1]
