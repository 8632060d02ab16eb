#!/bin/sh
# simt_compensated.t - compensated sums, and sums in float64 of what is computed in float32, run on the CPU by the shim.
BUILD=${BUILD:-build}
CGTPGEN=${CGTPGEN:-$BUILD/cgtpgen}
export BUILD
folder=$BUILD/simt/carried_products
mkdir -p "$folder/specs"
specs=
# write NAME KEY: the product with another key
write()
{
    cat > "$folder/specs/$1.yaml" << END
cgtp: 1
name: $1
irreps: {x: 32x0e, y: 0e, z: 32x0e}
instructions: [[0, 0, 0, uvu]]
index: {x: sender, z: receiver}
$2
kernels: [forward, backward]
END
    specs="$specs $folder/specs/$1.yaml"
}
wide='precision: {sum: float64}'
write plain 'accumulate: plain'
write compensated 'accumulate: compensated'
write wide "$wide"
write general "$wide
tune: {sm_90: {evaluation: general}}"
write any "$wide
edges: any"
cat > "$folder/products.c" << 'END'
#include "cgtp.h"
extern const cgtp_product plain_product, compensated_product, wide_product, general_product, any_product;
extern const cgtp_product *const check_products[];
const cgtp_product *const check_products[] = {&plain_product, &compensated_product, &wide_product, &general_product,
                                              &any_product, 0};
END
"$CGTPGEN" --backend=cuda -o "$folder" $specs || exit 1
sources=$("$CGTPGEN" --backend=cuda --list -o "$folder" $specs | grep '\.cu*$')
program=$BUILD/simt/carried
if ! tests/simt/build.sh "$program" $sources "$folder/products.c" tests/simt/carried.c tests/simt/memory_simt.c \
    runtime/cgtp.c > "$program.log" 2>&1; then
    tests/why.sh "$program.log"
    echo 'not ok 1 - carried.c was not built'
    exit 1
fi
timeout 300 "$program"
