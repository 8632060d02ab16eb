#!/bin/sh
# simt_graph.t - the device's check of a graph and rows that go between devices, run on the CPU by the shim.
BUILD=${BUILD:-build}
export BUILD
mkdir -p "$BUILD/simt"
program=$BUILD/simt/graph
if ! tests/simt/build.sh "$program" tests/simt/graph.cu runtime/cgtp.c runtime/cgtp_check.c runtime/cgtp_ranks.c > "$program.log" 2>&1; then
    sed 's/^/# /' "$program.log"
    echo 'not ok 1 - graph.cu was not built'
    exit 1
fi
timeout 300 "$program"
