#!/bin/bash
# A compiler for prebuild.py: libraries are sought relative to the place of what is linked, and C++ is C++17 unless it is
# said, as in compilers that are newer than Debian 11's.
arguments=("-ffile-prefix-map=@TOP@=gridval")
[[ " $* " == *" -std="* || " $* " != *".cpp "* ]] || arguments+=("-std=gnu++17")
for word in "$@"; do
    case "$word" in
        -Wl,-rpath,*) word='-Wl,-rpath,$ORIGIN/../../gridval_simgrid/lib' ;;
    esac
    arguments+=("$word")
done
exec @PLACE@ @NAME@ "${arguments[@]}"
