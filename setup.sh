#!/bin/sh
# Installs what is missing: SimGrid and a compiler from the distribution, and the project in .venv.  An argument adds:
#   types    mypy and the libraries' types (make types)
#   docs     Sphinx (make docs)
#   mutation mutmut, which changes equations to see whether tests notice (make mutation)
#   fuzz     atheris, which searches for inputs that break readers (make fuzz)
#   mpi      Open MPI and mpi4py, for programs that are recorded under mpirun, and for tests (make test)
#   machine  the same and MPICH, for the longer ones (make test-machine)
#   slow     valgrind, for slow tests (make test-slow)
#   browser  Chromium with its driver, and pj_dump, for the tests of pages and timelines (make test-browser)
#   extrap   Extra-P, for the predictor of that name (make test-extrap), 650 MB in .venv-extrap, because it needs numpy 1.26
#   wheels   what builds the project's wheels (make wheels)
#   simgrid4 SimGrid 4.1, built from source beside the distribution's (make test-simgrid4), in .venv-simgrid4
set -eu

wanted="libsimgrid-dev python3-simgrid python3-venv gcc g++ gfortran"
browser="" tools="" extras="test"
case "${1-}" in
    "" | extrap) ;;
    types) extras="test,types" ;;
    mutation) extras="test,mutation" ;;
    fuzz) extras="test,fuzz" ;;
    wheels)
        extras="test,wheels" tools="binutils patch"
        [ "$(id -u)" -ne 0 ] || command -v debootstrap >/dev/null || tools="$tools debootstrap"
        ;;
    docs) extras="test,docs" ;;
    mpi) tools="openmpi-bin libopenmpi-dev python3-mpi4py" ;;
    machine) tools="openmpi-bin libopenmpi-dev python3-mpi4py mpich libmpich-dev" ;;
    slow) command -v valgrind >/dev/null || tools="valgrind" ;;
    browser)
        browser="chromium chromium-driver" extras="test,browser,docs"
        command -v pj_dump >/dev/null || tools="pajeng"
        ;;
    simgrid4)
        command -v cmake >/dev/null && command -v make >/dev/null || tools="cmake make"
        [ -f /usr/include/boost/version.hpp ] || tools="$tools libboost-dev"
        /usr/bin/python3 -c 'import os, sysconfig as s; os.stat(s.get_path("include") + "/Python.h")' 2>/dev/null ||
            tools="$tools python3-dev"
        ;;
    *)
        echo "error: setup: unknown argument $1, give types, docs, mutation, fuzz, mpi, machine, slow, browser, extrap," \
            "wheels, simgrid4, or nothing." >&2
        exit 2
        ;;
esac

has_package() {
    dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q 'install ok installed'
}

wheel=$(find dist -maxdepth 1 -name "gridval_simgrid-*$(uname -m).whl" 2>/dev/null | head -n 1)
if [ -n "$wheel" ] && ! command -v smpirun >/dev/null; then
    wanted="python3-venv gcc g++ gfortran" # SimGrid comes from the wheel
else
    wheel=""
fi
if ! command -v apt-get >/dev/null; then
    if [ -n "$wheel" ] && command -v c++ >/dev/null && /usr/bin/python3 -c 'import ensurepip' 2>/dev/null; then
        wanted=""
    elif command -v smpirun >/dev/null && command -v smpicc >/dev/null && command -v c++ >/dev/null &&
        /usr/bin/python3 -c 'import ensurepip' 2>/dev/null; then
        wanted=""
    else
        echo "error: setup: there is no apt-get here, install by hand: SimGrid 3.32 or newer with SMPI (smpirun and" \
            "smpicc on the PATH), a C and C++ compiler, /usr/bin/python3 3.11 or newer with venv." >&2
        exit 2
    fi
elif command -v smpirun >/dev/null && ! has_package libsimgrid-dev; then
    wanted="python3-venv gcc g++ gfortran" # keep a SimGrid that was built by hand as the only one
fi

if command -v chromedriver >/dev/null; then
    browser="" # a browser is installed with its driver
fi
if [ -n "$browser$tools" ] && ! command -v apt-get >/dev/null; then
    echo "error: setup: there is no apt-get here, install by hand: ${browser:-$tools}." >&2
    exit 2
fi

missing=""
for package in $wanted $browser $tools; do
    has_package "$package" || missing="$missing $package"
done
if [ -n "$missing" ]; then
    sudo=""
    [ "$(id -u)" -eq 0 ] || sudo="sudo"
    echo "setup: installing$missing"
    $sudo apt-get update -q
    # shellcheck disable=SC2086
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing
fi

if [ ! -x .venv/bin/python ]; then
    # Use the system's own python3, which has Debian's simgrid module; another python3 may come first on the PATH.
    /usr/bin/python3 -m venv --system-site-packages .venv
fi
.venv/bin/python -m pip install -q --disable-pip-version-check --upgrade 'pip>=23.1'
[ -z "$wheel" ] || .venv/bin/python -m pip install -q --disable-pip-version-check --no-index --no-deps \
    --force-reinstall "$wheel"
.venv/bin/python -m pip install -q --disable-pip-version-check -e ".[$extras]"

.venv/bin/python -m predictor.prepare

if [ "${1-}" = extrap ]; then
    [ -x .venv-extrap/bin/python ] || /usr/bin/python3 -m venv .venv-extrap
    .venv-extrap/bin/python -m pip install -q --disable-pip-version-check -r predictor/extrap/requirements.txt
    .venv-extrap/bin/python -c 'import extrap; print("setup: Extra-P", extrap.__version__, "is in .venv-extrap")'
fi

if [ "${1-}" = simgrid4 ]; then
    sh tests/simgrid4/build.sh
    .venv-simgrid4/bin/python -m pip install -q --disable-pip-version-check -e ".[test]"
fi
