#!/bin/sh
# Installs the wheels, made with the distribution's SimGrid, in an environment of their own, and runs tests against them
# in a folder that has none of the packages (make test-installed).
#
#   sh packaging/test_installed.sh [PYTEST'S ARGUMENTS]     some quick tests of every package if none are given
set -eu
cd "$(dirname "$0")/.."
python=$PWD/.venv/bin/python
work=$PWD/build/test-installed
rm -rf "$work"
mkdir -p "$work/tests"
DIST=$work/dist sh packaging/wheels.sh system
/usr/bin/python3 -m venv --system-site-packages "$work/environment"
"$work/environment/bin/python" -m pip install -q --disable-pip-version-check --no-index --no-deps --find-links "$work/dist" \
    gridval
"$work/environment/bin/python" -m pip install -q --disable-pip-version-check --no-index --no-deps --find-links "$work/dist" \
    gridval-simgrid
# What the project and its tests need comes from .venv, whose own link to the checkout is not followed from here.
"$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' >"$("$work/environment/bin/python" -c \
    'import sysconfig; print(sysconfig.get_path("purelib"))')/with.pth"
[ $# -gt 0 ] || set -- tests/validation/gridval tests/validation/test_own_program.py tests/predictor/test_hcf.py \
    tests/apps/smpi tests/platforms/read
exec "$python" packaging/installed_tests.py "$work/environment/bin/python" "$work/tests" -n 2 "$@"
