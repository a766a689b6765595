#!/bin/sh
# Builds SimGrid with SMPI from its released source in FOLDER (made if absent), and prints the folder of the result, for
# pack.py.  It runs as root, because it works in a Debian 11 of its own (debootstrap): what is linked there runs with
# glibc 2.31 and newer.  An interrupted build continues where it stopped.  x86_64; the same steps serve aarch64, untried.
#
#   sh packaging/simgrid/build.sh FOLDER
#
# In the result: prefix/ as SimGrid installs it, python/simgrid.cpython-*.so for each Python whose headers are given or
# found, and the source's archive with its licence.  PYTHON_HEADERS lists folders with Python.h, by default those of
# the Debian releases 12 (3.11) and 13 (3.13).
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
mkdir -p "$1"
work=$(cd "$1" && pwd)
root=$work/bullseye
jobs=${JOBS:-$(nproc)}
say() { echo "build: $*" >&2; }

for command in debootstrap dpkg-deb patch python3; do
    command -v "$command" >/dev/null || {
        echo "error: build: $command is missing. Run: apt-get install debootstrap dpkg patch python3-venv" >&2
        exit 2
    }
done
[ "$(id -u)" -eq 0 ] || {
    echo "error: build: debootstrap needs root. Run it as root, or pack the distribution's SimGrid (pack.py --system)" >&2
    exit 2
}

# A Debian in a folder of the suite's name, complete or absent; an interrupted debootstrap leaves /proc mounted in it.
debian() {
    [ ! -f "$work/$1.ready" ] || return 0
    say "making a Debian in $work/$1"
    umount "$work/$1/proc" "$work/$1/sys" 2>/dev/null || true
    rm -rf --one-file-system "${work:?}/$1"
    debootstrap --variant=minbase --include="$2" "$1" "$work/$1" >"$work/$1.log"
    touch "$work/$1.ready"
}
debian bullseye gcc,g++,gfortran,make,libboost-dev,python3

venv=$work/venv
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
# Debian 11's CMake is too old for faster.cmake; pybind11 3 is too new for SimGrid 4.1.
"$venv/bin/python" -m pip install -q --disable-pip-version-check 'cmake>=3.19' 'pybind11<3' 'setuptools<81' wheel

if [ ! -d "$root/build/simgrid-4.1" ]; then
    "$venv/bin/python" -m pip download -q --disable-pip-version-check --no-deps --no-build-isolation \
        --no-binary simgrid --require-hashes -r "$top/tests/simgrid4/requirements.txt" -d "$work/source"
    rm -rf "$work/unpacked"
    mkdir -p "$work/unpacked" "$root/build"
    tar -xzf "$work/source/simgrid-4.1.tar.gz" -C "$work/unpacked"
    patch -s -d "$work/unpacked" -p0 <"$here/gfortran.patch"
    mv "$work/unpacked/simgrid-4.1" "$root/build/" # so that the folder is complete or absent
fi
rm -rf "$root/opt/cmake" "$root/opt/pybind11"
packages=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
cp -r "$packages/cmake" "$packages/pybind11" "$root/opt/"
cp "$top/tests/simgrid4/faster.cmake" "$root/build/"

if [ ! -f "$root/build/installed" ]; then
    say "compiling SimGrid 4.1, $jobs files at a time (log: $root/build/make.log)"
    # These compiler options come last: they override SimGrid's -O3 and -g3.  Its assertions stay, which refuse a
    # program's wrong calls.
    chroot "$root" /bin/sh -euc '
        cd /build
        /opt/cmake/data/bin/cmake -S simgrid-4.1 -B objects -DCMAKE_INSTALL_PREFIX=/build/prefix \
            -DCMAKE_PROJECT_simgrid_INCLUDE=/build/faster.cmake \
            -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS_RELEASE="-O2 -g0" -DCMAKE_CXX_FLAGS_RELEASE="-O2 -g0" \
            -Denable_smpi=ON -Denable_sthread=OFF -Denable_python=OFF -Dminimal-bindings=ON -Denable_java=OFF \
            -Denable_lto=OFF -Denable_model-checking=OFF -Denable_documentation=OFF >configure.log 2>&1
        make -C objects -j "$1" simgrid mpi smpimain smpireplaymain graphicator >make.log 2>&1
        make -C objects install/fast >install.log 2>&1
        touch installed' build "$jobs" || { tail -n 20 "$root/build/make.log" >&2; exit 1; }
fi

# The Python module needs nothing of an interpreter but its headers, so those of other Debian releases serve.
if [ -z "${PYTHON_HEADERS-}" ]; then
    PYTHON_HEADERS=""
    for release in bookworm:3.11 trixie:3.13; do
        suite=${release%:*} version=${release#*:}
        headers=$work/headers-$version
        if [ ! -d "$headers" ]; then
            say "fetching the headers of Python $version"
            debian "$suite" ca-certificates
            chroot "$work/$suite" /bin/sh -euc "apt-get update -q; cd /var/tmp; apt-get download libpython$version-dev" \
                >>"$work/$suite.log" 2>&1
            rm -rf "$headers.part"
            dpkg-deb -x "$work/$suite"/var/tmp/libpython"$version"-dev_*.deb "$headers.part"
            mv "$headers.part" "$headers"
        fi
        PYTHON_HEADERS="$PYTHON_HEADERS $headers/usr/include/python$version"
    done
fi
mkdir -p "$root/build/python"
for headers in $PYTHON_HEADERS; do
    name=$(basename "$headers" | tr -d .) # python313
    module=$root/build/python/simgrid.cpython-${name#python}-$(uname -m)-linux-gnu.so
    [ ! -f "$module" ] || continue
    [ -f "$headers/Python.h" ] || {
        echo "error: build: $headers has no Python.h. Install the headers (python3-dev), or correct PYTHON_HEADERS" >&2
        exit 2
    }
    say "compiling the module for $(basename "$headers")"
    rm -rf "$root/opt/$name"
    mkdir -p "$root/opt/$name"
    cp -r "$(dirname "$headers")/." "$root/opt/$name/" # Debian keeps pyconfig.h beside, in a folder of the machine type
    chroot "$root" g++ -std=c++17 -O2 -g0 -shared -fPIC -fvisibility=hidden -Wl,--as-needed \
        -I/opt/pybind11/include "-I/opt/$name/$(basename "$headers")" "-I/opt/$name" -I/build/prefix/include \
        -I/build/simgrid-4.1 -I/build/simgrid-4.1/include -I/build/objects -I/build/objects/include \
        /build/simgrid-4.1/src/bindings/python/simgrid_python.cpp -L/build/prefix/lib -lsimgrid \
        -o "/build/python/part.so"
    mv "$root/build/python/part.so" "$module"
done
cp "$work/source/simgrid-4.1.tar.gz" "$root/build/"
echo "$root/build"
