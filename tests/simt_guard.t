#!/bin/sh
# simt_guard.t - what bindings to frameworks do with lists of edges on a device, run on the CPU by the shim; nvcc compiles
# their launches, where it is there.
BUILD=${BUILD:-build}
export BUILD
mkdir -p "$BUILD/simt"
program=$BUILD/simt/guard
if ! tests/simt/build.sh "$program" tests/simt/guard.cu runtime/cgtp.c runtime/cgtp_check.c > "$program.log" 2>&1; then
    sed 's/^/# /' "$program.log"
    echo 'not ok 1 - guard.cu was not built'
    exit 1
fi
timeout 300 "$program" > "$program.tap"
grep -v '^1\.\.' "$program.tap"
number=$(($(grep -c '^ok\|^not ok' "$program.tap") + 1))
NVCC=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
if [ ! -x "$NVCC" ]; then
    echo "ok $number # SKIP no nvcc"
elif "$NVCC" -std=c++17 -arch=sm_80 -Iruntime -cubin -o "$program.cubin" runtime/cgtp_guard.cu > "$program.log" 2>&1; then
    echo "ok $number - nvcc compiles cgtp_guard.cu"
else
    echo "not ok $number - nvcc compiles cgtp_guard.cu"
    sed 's/^/# /' "$program.log"
fi
grep -q '^1\.\.' "$program.tap" && echo "1..$number"
