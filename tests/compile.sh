#!/bin/sh
# compile.sh COMPILER FLAG... -- FILE.c... - compiles each FILE.c, or FILE.cu, to FILE.o; with -fsyntax-only it says what
# it warns of.
#
# Clang takes longer to start than to compile most of what is generated. The compiler proper, which clang calls for
# each file and shows with -###, takes several: so it starts once for many. Where clang shows something else, and
# with other compilers, files are compiled one by one.
many=100 # files at a time

command= folders=
while [ "$1" != -- ]; do
    case $1 in
    -I*) folders="$folders $1" ;;
    *) command="$command $1" ;;
    esac
    shift
done
shift

# What clang shows is kept, as it takes as long to say as to compile a short file; folders to include from are added.
kept=${BUILD:-build}/compile/$(echo "$command ${1##*.} $PWD $(realpath "$(command -v ${command%% -*})")" | cksum | tr ' ' -)
if [ ! -e "$kept" ]; then
    mkdir -p "${kept%/*}"
    # shellcheck disable=SC2086
    $command -c -o FILE.o "$1" '-###' 2>&1 | sed -n \
        's/ "-o" "FILE\.o"//
         s/^ \("[^ ]*clang[^ ]*" "-cc1" .*\) "-main-file-name" "[^"]*"\(.*\) \("-x" "c[+]*"\) "[^"]*"$/\1\2 \3/p' |
        sed 's/ "-disable-free"//' > "$kept.$$" # the memory of one file serves the next
    mv "$kept.$$" "$kept"
fi
proper=$(cat "$kept")
if [ -z "$proper" ]; then
    for file; do
        $command $folders -c -o "${file%.*}.o" "$file" || exit 1
    done
    exit
fi
echo "$@" | xargs -n "$many" sh -c "exec $proper $folders \"\$@\"" sh
