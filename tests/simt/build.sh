#!/bin/sh
# build.sh OUTPUT FILE... - compiles a program that runs kernels through the shim. .cu: kernels, every access
# checked; .cc and .c: drivers and descriptors, as they are; .o: linked. Run from the repository root; CXX,
# CC, BUILD as in make; SIMT_FLAGS adds options for all but the shim, SIMT_FIBERS one for how its fibers switch. Objects
# newer than source and headers are kept; those of the shim and of C sources of this repository are shared by all
# programs. Without CXX it is clang++ where there is it, which takes less time for kernels than g++. Both compile
# simt.t, g++ also selftest.t.
set -e
CC=${CC:-gcc} BUILD=${BUILD:-build}
[ "$CXX" ] || CXX=$(command -v clang++ > /dev/null && echo clang++ || echo g++)
output=$1
shift
case $CXX in
*clang* | *g++) kind=$CXX ;;
*) kind=$("$CXX" --version) ;;
esac
case $kind in
*clang*) # reads that a write to the same place follows; loops that would become memset or memcpy
    check='-fsanitize=thread -mllvm -tsan-instrument-read-before-write=1
           -mllvm -tsan-instrument-func-entry-exit=0
           -fno-builtin-memset -fno-builtin-memcpy -fno-builtin-memmove -fno-vectorize -fno-slp-vectorize'
    quick=${CXX%++}
    ;;
*)
    check='-fsanitize=thread --param=tsan-instrument-func-entry-exit=0 -fno-tree-loop-distribute-patterns
           -fno-tree-vectorize -Wno-tsan'
    quick=$CC
    ;;
esac
link=$(command -v ld.gold > /dev/null && echo -fuse-ld=gold || true) # the quickest of those that are common
# Is the first file there, and none of the others newer?
fresh() {
    made=$1
    [ -e "$made" ] || return
    shift
    for file; do
        [ ! "$file" -nt "$made" ] || return
    done
}

plain=$BUILD/simt/$(basename "$CXX")
shim=$plain${SIMT_FLAGS:+-$(echo "$SIMT_FLAGS" | tr -c 'A-Za-z0-9\n' _)}
objects=$output.objects
mkdir -p "$plain" "$shim" "$objects"
files=
for source in tests/simt/simt.cc tests/simt/simt_memory.cc tests/simt/simt_findings.cc tests/simt/simt_async.cc; do
    name=${source##*/}
    fibers=
    [ "$name" != simt.cc ] || fibers=$SIMT_FIBERS
    object=$plain/${name%.cc}$fibers.o
    if ! fresh "$object" "$source" tests/simt/*.h; then
        "$CXX" -std=c++17 -O2 -Wall -Wextra $fibers -c -o "$object.$$" "$source"
        mv "$object.$$" "$object"
    fi
    files="$files $object"
done
include='-Itests/simt -Iruntime -Itests'
# rounds of short tiles for graphs as small as those here, too, and teams not for all of them; few warps for any path; turns of few edges
short='-DCGTP_SHORT_PART=2 -DCGTP_SHORT_WORTH=0 -DCGTP_TEAM_GAIN=4000 -DCGTP_GENERAL_WARPS=20 -DCGTP_LEAST_BYTES=16000
       -DCGTP_MEET_EDGES=2 -DCGTP_MEET_TILES=0'
header=$(ls -t tests/simt/*.h tests/simt/build.sh runtime/*.h tests/*.h | head -n 1) # the newest
kernels= generated= folders=
for source; do
    case $source in
    *.o)
        files="$files $source"
        continue
        ;;
    tests/*.c | runtime/*.c) object=$shim/${source##*/}.o ;;
    *.cc) object=$objects/${source##*/}.o ;;
    *)
        object=${source##*/}
        object=$objects/${object%.*}.o
        ;;
    esac
    files="$files $object"
    ! fresh "$object" "$source" "$header" || continue
    case $source in
    tests/*.c | runtime/*.c)
        "$CC" -std=c11 -D_POSIX_C_SOURCE=200809L -O2 -Wall -Wextra $SIMT_FLAGS $include -c -o "$object.$$" "$source"
        mv "$object.$$" "$object" # whole, for others who look for it now
        ;;
    *.cc)
        "$CXX" -std=c++17 -O2 -Wall -Wextra $SIMT_FLAGS $include -I"$(dirname "$source")" \
            -c -o "$object" "$source"
        ;;
    *) # compiled together, where their objects are to be
        copy=$objects/${source##*/}
        ln -sf "$(realpath "$source")" "$copy"
        case $source in
        *.cu) kernels="$kernels $copy" ;;
        *) generated="$generated $copy" ;;
        esac
        case "$folders " in
        *" -I$(dirname "$source") "*) ;;
        *) folders="$folders -I$(dirname "$source")" ;;
        esac
        ;;
    esac
done
if [ "$kernels" ]; then
    compile="$CXX -std=c++17 -O0 -fno-strict-aliasing $check -Wall -Wextra -Wno-unused-function -Wno-unknown-pragmas
        -Werror=unused-variable -Werror=unused-but-set-variable
        $SIMT_FLAGS $short $folders $include -x c++"
    # What a kernel begins with, the type of its numbers and the first headers of the runtime, takes clang half of the time: it
    # is compiled once for all that begin so, but for those beside headers of their own.
    precompiled=
    case $check in
    *tsan-instrument-read-before-write*) precompiled=1 ;;
    esac
    for folder in $folders; do
        ! ls "${folder#-I}"/cgtp_*.h > /dev/null 2>&1 || precompiled=
    done
    begins=$(awk -v precompiled="$precompiled" '
        function next_file() { if (file) print begin, file }
        FNR == 1 { next_file(); file = FILENAME; begin = "-"; type = last = "" }
        /^typedef [a-z]+ real;$/ { type = $2 }
        precompiled && type && last == "#include \"cgtp_cuda.h\"" && /^#include "cgtp_[a-z]+\.h"$/ {
            begin = type "-" substr($2, 2, length($2) - 2)
        }
        { last = $0 }
        END { next_file() }' $kernels)
    for begin in $(echo "$begins" | cut -d ' ' -f 1 | sort -u); do
        with=
        if [ "$begin" != - ]; then
            with=$shim/$begin.pch
            if ! fresh "$with" "$header"; then
                printf 'typedef %s real;\n#include "cgtp_cuda.h"\n#include "%s"\n' "${begin%%-*}" "${begin#*-}" |
                    ${compile}-header -o "$with.$$" -
                mv "$with.$$" "$with"
            fi
            with="-include-pch $with"
        fi
        tests/compile.sh $compile $with -- $(echo "$begins" | sed -n "s/^$begin //p")
    done
fi
[ ! "$generated" ] || tests/compile.sh "$quick" -std=c11 -D_POSIX_C_SOURCE=200809L -O0 -Wall -Wextra $SIMT_FLAGS $folders \
    $include -- $generated
linker=$(command -v g++ || echo "$CXX") # which starts sooner than clang++
"$linker" $SIMT_FLAGS $link -o "$output" $files -ldl -lm 2> "$objects/link" || # not every gold finds all libraries
    "$CXX" $SIMT_FLAGS -o "$output" $files -ldl -lm
