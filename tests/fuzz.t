#!/bin/sh
# The fuzzers (tests/fuzz): a few inputs, from an empty corpus and always the same seed; `make fuzz` goes on for as
# long as it is to. Inputs that once failed (tests/regress/fuzz) are among those that it starts from, and everything that
# is known to reach some code. Compiled with -O1 where most of the time is spent: elsewhere that saves less than it takes.
set -u
. tests/products.sh
if ! echo 'int LLVMFuzzerTestOneInput(const char *s, unsigned long n) { return s && n > 4096; }' |
    clang -fsanitize=fuzzer -x c -o /dev/null - 2> /dev/null
then
    echo '1..0 # SKIP no clang with libFuzzer'
    exit 0
fi
echo 1..3
folder=$BUILD/fuzz/quick
rm -rf "$folder/corpus" "$folder/found"
quickly="make -s BUILD=$BUILD FUZZ_DIR=$folder FUZZ_CFLAGS=-O1 FUZZ_CFLAGS_REST=-O0 FUZZ_QUICK=1"

# NUMBER NAME COMMAND...: TAP of a command, with the last line of what it says, or all of it where it fails.
report()
{
    number=$1 name=$2
    shift 2
    if "$@" > "$folder.log" 2>&1; then
        echo "ok $number - $name: $(grep ' inputs, ' "$folder.log")"
    else
        echo "not ok $number - $name (inputs that fail are in $folder/found)"
        tail -n 60 "$folder.log" | sed 's/^/# /'
    fi
}

mkdir -p "$BUILD/fuzz"
report 1 'the fuzzers build' $quickly fuzz-programs
report 2 'reader' $quickly fuzz FUZZ=reader RUNS=5000 FUZZ_SEED=1
report 3 'everything' $quickly fuzz FUZZ=all RUNS=600 FUZZ_SEED=1
