#!/bin/sh
# Random valid products against the reference: whole, at many sizes, path by path, wrongly called. The
# same ones each time: a sample, and several hundred with TEST_ALL. A failing one is made small by
# `tests/random_spec.py shrink N`, into tests/regress, which is checked here too.
. tests/products.sh

folder=$BUILD/products/random_specs
kinds='descriptor sizes paths calls'
${PYTHON:-python3} tests/random_spec.py write "$folder" 0 25 || exit 1
cp tests/regress/*.yaml tests/regress/*.problem "$folder"
specs=$(cd "$folder" && ls random_?.yaml random_1?.yaml random_2[0-4].yaml)
if [ "$TEST_ALL" ]; then
    ${PYTHON:-python3} tests/random_spec.py write "$folder" 0 400 || exit 1
    specs=$(cd "$folder" && ls *.yaml)
    flags=-O2
else
    regress=$(cd tests/regress && ls *.yaml)
    specs=$(printf '%s\n' $specs $regress | sort -u)
    quick_compiler
    flags=$quick
fi
specs=$(echo "$specs" | sed "s|^|$folder/|" | tr '\n' ' ')
check_products random "$flags" cat "$specs" problems="$folder" $kinds
