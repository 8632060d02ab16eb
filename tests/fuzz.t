#!/bin/sh
# Mutants of all specs, right and wrong, through spec_read, problem_build and form_build built with ASan and UBSan.
# The seed is fixed (FUZZ_SEED changes it), and how many there are (FUZZ_MUTANTS). One that fails is kept in
# $BUILD/fuzz/.
set -u
folder=${BUILD:-build}/fuzz
mkdir -p "$folder" || exit 1
keep=$folder/current.$$.yaml
trap 'rm -f "$keep"' EXIT

echo 1..2
program=$folder/fuzz_spec
sources=$(ls cgtpgen/util/*.c cgtpgen/algebra/*.c cgtpgen/spec/*.c cgtpgen/problem/*.c cgtpgen/form/*.c)
# shellcheck disable=SC2086
if ${CC:-cc} -std=c11 -D_POSIX_C_SOURCE=200809L -Icgtpgen -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all \
    -o "$program" tests/fuzz_spec.c $sources -lyaml > "$folder/log" 2>&1
then
    echo "ok 1 - the fuzzer builds"
else
    echo "not ok 1 - the fuzzer builds"
    sed 's/^/# /' "$folder/log"
    exit 1
fi

# shellcheck disable=SC2046
if FUZZ_KEEP=$keep "$program" --mutate "${FUZZ_SEED:-1}" "${FUZZ_MUTANTS:-30000}" \
    $(ls tests/bad/*.yaml specs/*.yaml) > "$folder/log" 2>&1
then
    echo "ok 2 - $(tail -n 1 "$folder/log")"
else
    mv "$keep" "$folder/failed.yaml"
    echo "not ok 2 - mutants: the one that failed is $folder/failed.yaml"
    head -n 60 "$folder/log" | sed 's/^/# /'
    exit 1
fi
