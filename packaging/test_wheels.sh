#!/bin/sh
# Tries the wheels of dist/ where there is nothing: in a bare Debian, as a user who is not root, without network, without
# compiler (make test-wheels).  It takes minutes, and root to make the Debian folders (debootstrap); the test itself runs in
# a user namespace of its own.
#
#   sh packaging/test_wheels.sh [SUITE ...]     bookworm and trixie if none is given
#
# Debian 11 has no Python that is new enough: give its folder in ROOT_bullseye, with one in /opt/python311/bin.
set -eu
cd "$(dirname "$0")/.."
work=$PWD/build/test-wheels
mkdir -p "$work"
suites=${*:-bookworm trixie}
status=0

for suite in $suites; do
    root=$(eval echo "\${ROOT_$suite:-$work/$suite}")
    if [ ! -x "$root/usr/bin/python3" ] && [ ! -x "$root/opt/python311/bin/python3" ]; then
        umount "$root/proc" "$root/sys" 2>/dev/null || true # of an interrupted debootstrap
        rm -rf --one-file-system "$root"
        debootstrap --variant=minbase --include=python3,python3-venv "$suite" "$root" >"$work/$suite.log"
    fi
    python=/usr/bin/python3
    [ ! -x "$root/opt/python311/bin/python3" ] || python=/opt/python311/bin/python3
    version=$(chroot "$root" "$python" -c 'import sys; print("%d%d" % sys.version_info[:2])')
    glibc=$(chroot "$root" ldd --version | sed -n '1s/.* //p')

    # All wheels that the environment needs, for this Python.
    house=$work/house-$version
    mkdir -p "$house"
    rm -f "$house"/gridval*.whl
    cp dist/gridval*.whl "$house/"
    .venv/bin/python -m pip download -q -q --disable-pip-version-check --find-links dist -d "$house" \
        --only-binary :all: --python-version "$version" --platform manylinux_2_31_x86_64 --platform manylinux_2_28_x86_64 \
        --platform manylinux_2_27_x86_64 --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64 gridval
    home=$root/home/user
    rm -rf "$home"
    mkdir -p "$home/house" "$home/apps" "$home/predictor"
    cp "$house"/*.whl packaging/test_wheels_inside.sh examples/jacobi/jacobi.c "$home/"
    mv "$home"/*.whl "$home/house/"
    for package in apps predictor; do # a user's own modules
        echo 'raise ImportError("the user has a module of this name")' >"$home/$package/__init__.py"
    done
    chown -R 65534:65534 "$home"
    echo "== $suite, Python $version, glibc $glibc"
    # It is nobody who makes the namespaces, so it can be no more than nobody inside.  --net: no network.
    if setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs \
        unshare --user --map-root-user --net --mount sh -euc '
            mount --rbind /proc "$1/proc"
            cd "$1"
            exec chroot "$1" /usr/bin/env -i -C /home/user HOME=/home/user LANG=C.UTF-8 PATH=/usr/bin:/bin \
                PYTHON="$2" sh test_wheels_inside.sh' test "$root" "$python"; then
        echo "$suite passed"
    else
        echo "$suite failed"
        status=1
    fi
done
exit $status
