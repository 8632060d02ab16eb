#!/bin/sh
# simt_guard.t - what bindings to frameworks do with lists of edges on a device, run on the CPU by the shim.
BUILD=${BUILD:-build}
export BUILD
mkdir -p "$BUILD/simt"
program=$BUILD/simt/guard
if ! tests/simt/build.sh "$program" tests/simt/guard.cu runtime/cgtp.c > "$program.log" 2>&1; then
    sed 's/^/# /' "$program.log"
    echo 'Bail out! guard.cu was not built'
    exit 1
fi
timeout 300 "$program"
