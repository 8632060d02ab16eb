#!/bin/sh
# simt_order.t - the order that a launch makes of edges, run on the CPU by the shim: as on the host; and products with
# edges in any order have the bits of those with sorted edges.
BUILD=${BUILD:-build}
CGTPGEN=${CGTPGEN:-$BUILD/cgtpgen}
export BUILD
folder=$BUILD/simt/order_products
mkdir -p "$folder/specs"

# build PROGRAM SOURCES..
build() {
    program=$1
    shift
    if ! tests/simt/build.sh "$program" "$@" > "$program.log" 2>&1; then
        grep -A5 error "$program.log" | sed 's/^/# /'
        echo "Bail out! $program was not built"
        exit 1
    fi
}

names= specs=
for name in conv_64 conv_sums conv_96_double conv_mixed conv_alike; do
    sed -e 's/^kernels: .*/kernels: [forward, backward, double_backward]/' "tests/simt/specs/$name.yaml" \
        > "$folder/specs/$name.yaml"
    sed -e 's/^name: .*/&_any/' -e 's/^instructions:/edges: any\n&/' "$folder/specs/$name.yaml" \
        > "$folder/specs/${name}_any.yaml"
    names="$names $name ${name}_any"
    specs="$specs $folder/specs/$name.yaml $folder/specs/${name}_any.yaml"
done
if ! "$CGTPGEN" --backend=cuda -Wno-all -o "$folder" $specs > "$folder/log" 2>&1; then
    sed 's/^/# /' "$folder/log"
    echo 'Bail out! the products were not generated'
    exit 1
fi
{
    echo '#include "cgtp.h"'
    for name in $names; do echo "extern const cgtp_product ${name}_product;"; done
    echo 'extern const cgtp_product *const check_products[];'
    echo 'const cgtp_product *const check_products[] = {'
    for name in $names; do echo "    &${name}_product,"; done
    echo '    0, 0};'
} > "$folder/products.c"
build "$BUILD/simt/order" tests/simt/order.cu runtime/cgtp.c
build "$BUILD/simt/permuted" $("$CGTPGEN" --backend=cuda -Wno-all --list -o "$folder" $specs | grep '\.cu*$') \
    "$folder/products.c" tests/simt/permuted.c tests/simt/memory_simt.c runtime/cgtp.c
for program in order permuted; do
    timeout 300 "$BUILD/simt/$program" > "$BUILD/simt/$program.tap"
    echo "# $program ended with $?"
    cat "$BUILD/simt/$program.tap"
done | awk '/^1\.\./ { sub(/1\.\./, ""); n += $0; next }
            /^# .* ended with [^0]/ { print "not ok " ++ran " - " $0; n++; next }
            /^(not )?ok [0-9]/ { sub(/ok [0-9]+/, "ok " ++ran) } { print } END { print "1.." n }'
