#!/bin/bash
# A compiler for prebuild.py: libraries are sought relative to the place of what is linked.
arguments=("-ffile-prefix-map=@TOP@=gridval")
for word in "$@"; do
    case "$word" in
        -Wl,-rpath,*) word='-Wl,-rpath,$ORIGIN/../../gridval_simgrid/lib' ;;
    esac
    arguments+=("$word")
done
exec @PLACE@ @NAME@ "${arguments[@]}"
