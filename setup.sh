#!/bin/sh
# Installs what is missing: SimGrid and a compiler from the distribution, the project in .venv.
set -eu

wanted="libsimgrid-dev python3-simgrid python3-venv gcc g++ gfortran"

has_package() {
    dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q 'install ok installed'
}

if ! command -v apt-get >/dev/null; then
    if command -v smpirun >/dev/null && command -v smpicc >/dev/null && command -v c++ >/dev/null &&
        /usr/bin/python3 -c 'import ensurepip' 2>/dev/null; then
        wanted=""
    else
        echo "error: setup: there is no apt-get here, install by hand: SimGrid 3.32 or newer with SMPI (smpirun and" \
            "smpicc on the PATH), a C and C++ compiler, /usr/bin/python3 3.11 or newer with venv." >&2
        exit 2
    fi
elif command -v smpirun >/dev/null && ! has_package libsimgrid-dev; then
    wanted="python3-venv gcc g++ gfortran" # a SimGrid that was built by hand stays the only one
fi

missing=""
for package in $wanted; do
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
    # The system's own python3: Debian's simgrid module belongs to it, and another may come first on the PATH.
    /usr/bin/python3 -m venv --system-site-packages .venv
fi
.venv/bin/python -m pip install -q --disable-pip-version-check --upgrade 'pip>=23.1'
.venv/bin/python -m pip install -q --disable-pip-version-check -e '.[test]'
