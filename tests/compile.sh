#!/bin/sh
# compile.sh COMPILER FLAG... -- FILE.c... - compiles each FILE.c, or FILE.cu, to FILE.o.
#
# Clang takes longer to start than to compile most of what is generated. The compiler proper, which clang calls for
# each file and shows with -###, takes several: so it starts once for many. Where clang shows something else, and
# with other compilers, files are compiled one by one.
many=100 # files at a time

command=
while [ "$1" != -- ]; do
    command="$command $1"
    shift
done
shift

# shellcheck disable=SC2086
proper=$($command -c -o FILE.o "$1" '-###' 2>&1 | sed -n \
    's/^ \("[^ ]*clang[^ ]*" "-cc1" .*\) "-main-file-name" "[^"]*"\(.*\) "-o" "FILE\.o" \("-x" "c[+]*"\) "[^"]*"$/\1\2 \3/p')
proper=$(echo "$proper" | sed 's/ "-disable-free"//') # the memory of one file serves the next
if [ -z "$proper" ]; then
    for file; do
        $command -c -o "${file%.*}.o" "$file" || exit 1
    done
    exit
fi
echo "$@" | xargs -n "$many" sh -c "exec $proper \"\$@\"" sh
