#!/bin/sh
# simt.t - the shim that runs GPU kernels on the CPU: right kernels pass, each seeded mistake is reported;
# built by both compilers where they are there. Also its fibers without assembly, its exit status, and that it
# sees each access once. (How fast it is: build/simt/selftest-g++ speed.)
BUILD=${BUILD:-build}
export BUILD
n=0

# Whatever generated code may use on a GPU is there for the CPU, too.
names() {
    sed -n -e 's/^#define \(CGTP_[A-Z_0-9]*\).*/\1/p' -e 's/^struct.*\(cgtp_[a-z0-9_]*\).*/\1/p' \
        -e 's/.*CGTP_DEVICE[^(]* \**\(cgtp_[a-z0-9_]*\)(.*/\1/p' \
        -e 's/^static inline[^(]* \(cgtp_[a-z0-9_]*\)(.*/\1/p' "$1" | sort -u
}
missing=$(for header in cgtp_cuda.h cgtp_cuda_narrow.h cgtp_mma.h; do
    for name in $(names runtime/$header); do
        [ "$name" = cgtp_status_of ] && continue # of CUDA's errors, which launches on the CPU do not meet
        grep -qw "$name" tests/simt/$header || echo "$name"
    done
done)

report() { # status name
    n=$((n + 1))
    [ "$1" -eq 0 ] && echo "ok $n - $2" || echo "not ok $n - $2"
}
[ "$(names runtime/cgtp_cuda.h | wc -l)" -ge 40 ] && [ -z "$missing" ]
report $? "every operation of runtime/cgtp_cuda.h, cgtp_cuda_narrow.h and cgtp_mma.h"
[ -z "$missing" ] || echo "# missing:" $missing
for compiler in g++ clang++ ucontext; do
    program=$BUILD/simt/selftest-$compiler
    case $compiler in
    ucontext) CXX=g++ SIMT_FIBERS=-DSIMT_UCONTEXT selftest=$BUILD/simt/selftest-g++.objects/selftest.o ;;
    *) CXX=$compiler SIMT_FIBERS= selftest=tests/simt/selftest.cu ;;
    esac
    export CXX SIMT_FIBERS
    if ! command -v "$CXX" > /dev/null; then
        n=$((n + 1))
        echo "ok $n - $compiler # SKIP no $CXX"
        continue
    fi
    mkdir -p "$BUILD/simt"
    tests/simt/build.sh "$program" "$selftest" > "$program.log" 2>&1
    report $? "$compiler: builds"
    [ -s "$program.log" ] && sed 's/^/# /' "$program.log"
    timeout 100 "$program" > "$program.tap" 2>&1
    report $? "$compiler: runs to the end"
    lines=$(sed -n 's/^1\.\.//p' "$program.tap")
    [ "$(grep -c '^ok ' "$program.tap")" = "${lines:-none}" ]
    report $? "$compiler: $lines kernels, right and wrong"
    grep -v '^ok ' "$program.tap" | sed 's/^/# /'
    timeout 100 "$program" exit > /dev/null 2> "$program.log"
    [ $? -eq 97 ] && grep -q '^simt: out of bounds: transpose_kernel.*: from + 12288' "$program.log"
    report $? "$compiler: a program that ends with findings prints them and fails"
    accesses=$("$program" speed)
    accesses=${accesses%% *}
    sought=$((2000 * 128 * 35)) # rounds, threads, a read, 33 accesses of shared memory, a write
    [ "$accesses" -ge $sought ] && [ "$accesses" -le $((sought + sought / 100)) ]
    report $? "$compiler: $accesses accesses of $sought, and few of the launch"
done
echo "1..$n"
