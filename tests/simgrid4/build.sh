#!/bin/sh
# Builds SimGrid 4.1 with SMPI and its Python module in the virtual environment .venv-simgrid4 (bin/, lib/ and include/ of
# that folder).  pip downloads and verifies the source (requirements.txt); `sh setup.sh simgrid4` installs the tools for
# the build.  An interrupted build continues where it stopped; JOBS compilers run at a time.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."
prefix=$PWD/.venv-simgrid4
work=$prefix/build
python=$prefix/bin/python

# The environment does not use packages of the system, because these may include another SimGrid.
[ -x "$python" ] || /usr/bin/python3 -m venv "$prefix"
pip() { "$python" -m pip --disable-pip-version-check "$@"; }

if [ ! -f "$prefix/installed" ]; then
    # pybind11 3 and setuptools 81 are too new for SimGrid 4.1.
    pip install -q 'pybind11<3' 'setuptools<81' wheel
    mkdir -p "$work"
    cd "$work"
    if [ ! -d simgrid-4.1 ]; then
        pip download -q --no-deps --no-build-isolation --no-binary simgrid --require-hashes \
            -r "$here/requirements.txt" -d download
        rm -rf unpacked
        mkdir unpacked
        tar -xzf download/simgrid-4.1.tar.gz -C unpacked
        mv unpacked/simgrid-4.1 . # so that the folder is complete or absent
    fi
    # These compiler options come last: -g0 overrides SimGrid's -g3, which needs a gigabyte.
    PATH="$prefix/bin:$PATH" cmake -S simgrid-4.1 -B objects \
        -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_RPATH="$prefix/lib" \
        -DCMAKE_PROJECT_simgrid_INCLUDE="$here/faster.cmake" \
        -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS_RELEASE='-O1 -g0 -DNDEBUG' -DCMAKE_CXX_FLAGS_RELEASE='-O1 -g0 -DNDEBUG' \
        -Denable_smpi=ON -Denable_sthread=OFF -Denable_python=ON -Dminimal-bindings=ON -Denable_java=OFF -Denable_lto=OFF \
        -Denable_model-checking=OFF -Denable_documentation=OFF \
        -DPython3_ROOT_DIR="$prefix" -DPython3_FIND_VIRTUALENV=ONLY -DPYTHON_EXECUTABLE="$python" \
        -Dpybind11_DIR="$("$python" -m pybind11 --cmakedir)" \
        -DSIMGRID_PYTHON_LIBDIR="$("$python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')" \
        >configure.log || { tail -n 20 configure.log >&2; exit 1; }
    make -C objects -j "${JOBS:-$(nproc)}" simgrid mpi smpimain smpireplaymain graphicator python-bindings >make.log 2>&1 ||
        { tail -n 20 make.log >&2; exit 1; }
    # `make install` would first build all of SimGrid's examples and tests.
    make -C objects install/fast >install.log 2>&1 || { tail -n 20 install.log >&2; exit 1; }
    cd "$prefix"
    touch installed
    rm -rf "$work"
fi
"$prefix/bin/smpirun" -version | head -n 1
"$python" -c '
import simgrid
print("setup: SimGrid", simgrid.simgrid_version, "is in .venv-simgrid4")'
