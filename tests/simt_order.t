#!/bin/sh
# simt_order.t - the order that a launch makes of edges, run on the CPU by the shim: as on the host; products with edges in
# any order have the bits of those with sorted edges, and where sums are invariant, parts of a graph those of the whole.
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
        tests/why.sh "$program.log"
        echo "not ok 1 - $program was not built"
        exit 1
    fi
}

# products FOLDER NAMES..: the file that lists them.
products() {
    to=$1
    shift
    {
        echo '#include "cgtp.h"'
        for name in "$@"; do echo "extern const cgtp_product ${name}_product;"; done
        echo 'extern const cgtp_product *const check_products[];'
        echo 'const cgtp_product *const check_products[] = {'
        for name in "$@"; do echo "    &${name}_product,"; done
        echo '    0, 0};'
    } > "$to/products.c"
}

# generated FOLDER SPECS..: the sources of the specs; fails where there are none.
generated() {
    to=$1
    shift
    if ! "$CGTPGEN" --backend=cuda -Wno-all -o "$to" "$@" > "$to/log" 2>&1; then
        sed 's/^/# /' "$to/log" >&2
        return 1
    fi
    "$CGTPGEN" --backend=cuda -Wno-all --list -o "$to" "$@" | grep '\.cu*$'
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
sources=$(generated "$folder" $specs) || { echo 'not ok 1 - the products were not generated'; exit 1; }
products "$folder" $names
sliced=$BUILD/simt/sliced_products
mkdir -p "$sliced/specs"
sliced_names= sliced_specs=
for name in conv_64 conv_compensated paired_nodes staged_graph; do
    sed -e 's/^kernels: .*/kernels: [forward, backward]/' "tests/simt/specs/$name.yaml" \
        > "$sliced/specs/$name.yaml"
    sed -e 's/^name: .*/&_whole/' -e 's/^instructions:/reduction: invariant\n&/' "$sliced/specs/$name.yaml" \
        > "$sliced/specs/${name}_whole.yaml"
    sliced_names="$sliced_names ${name}_whole $name"
    sliced_specs="$sliced_specs $sliced/specs/${name}_whole.yaml $sliced/specs/$name.yaml"
done
sliced_sources=$(generated "$sliced" $sliced_specs) || { echo 'not ok 1 - the products were not generated'; exit 1; }
products "$sliced" $sliced_names
build "$BUILD/simt/order" tests/simt/order.cu runtime/cgtp.c
build "$BUILD/simt/permuted" $sources "$folder/products.c" tests/simt/permuted.c tests/simt/memory_simt.c runtime/cgtp.c
build "$BUILD/simt/sliced" $sliced_sources "$sliced/products.c" tests/simt/sliced.c tests/simt/memory_simt.c runtime/cgtp.c runtime/cgtp_ranks.c
for program in order permuted sliced; do
    timeout 300 "$BUILD/simt/$program" > "$BUILD/simt/$program.tap"
    echo "# $program ended with $?"
    cat "$BUILD/simt/$program.tap"
done | awk '/^1\.\./ { sub(/1\.\./, ""); n += $0; next }
            /^# .* ended with [^0]/ { print "not ok " ++ran " - " $0; n++; next }
            /^(not )?ok [0-9]/ { sub(/ok [0-9]+/, "ok " ++ran) } { print } END { print "1.." n }'
