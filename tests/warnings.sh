#!/bin/sh
# warnings.sh FOLDER FLAG... -- FILE.c... - what clang warns of in generated C that another compiler compiles. Most of a
# short file is what it includes: for each type that is read once, and kept in FOLDER.
set -e
folder=$1 flags=
shift
while [ "$1" != -- ]; do
    flags="$flags $1"
    shift
done
shift
for real in double float; do
    files=$(grep -El "^typedef $real real;" "$@" || true)
    [ "$files" ] || continue
    kept=$folder/$real
    printf 'typedef %s real;\n#include "cgtp_c.h"\n' "$real" > "$kept.h"
    clang $flags -Iruntime -x c-header -o "$kept.pch" "$kept.h"
    tests/compile.sh clang $flags -fsyntax-only -include-pch "$kept.pch" -Iruntime "-I$folder" -- $files
done
files=$(grep -EL '^typedef (double|float) real;' "$@" || true)
[ ! "$files" ] || tests/compile.sh clang $flags -fsyntax-only -Iruntime "-I$folder" -- $files
