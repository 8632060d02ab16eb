#!/bin/sh
# simt_compensated.t - compensated sums of the pipelined convolution, run on the CPU by the shim.
BUILD=${BUILD:-build}
CGTPGEN=${CGTPGEN:-$BUILD/cgtpgen}
export BUILD
folder=$BUILD/simt/carried_products
mkdir -p "$folder/specs"
for how in plain compensated; do
    cat > "$folder/specs/$how.yaml" << END
cgtp: 1
name: $how
irreps: {x: 32x0e, y: 0e, z: 32x0e}
instructions: [[0, 0, 0, uvu]]
index: {x: sender, z: receiver}
accumulate: $how
kernels: [forward, backward]
END
done
cat > "$folder/products.c" << 'END'
#include "cgtp.h"
extern const cgtp_product plain_product, compensated_product;
extern const cgtp_product *const check_products[];
const cgtp_product *const check_products[] = {&plain_product, &compensated_product};
END
specs="$folder/specs/plain.yaml $folder/specs/compensated.yaml"
"$CGTPGEN" --backend=cuda -o "$folder" $specs || exit 1
sources=$("$CGTPGEN" --backend=cuda --list -o "$folder" $specs | grep '\.cu*$')
program=$BUILD/simt/carried
if ! tests/simt/build.sh "$program" $sources "$folder/products.c" tests/simt/carried.c tests/simt/memory_simt.c \
    runtime/cgtp.c > "$program.log" 2>&1; then
    grep -A5 error "$program.log" | sed 's/^/# /'
    echo 'Bail out! carried.c was not built'
    exit 1
fi
timeout 300 "$program"
