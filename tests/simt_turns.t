#!/bin/sh
# simt_turns.t - kernels with a buffer of edges, run on the CPU by the shim with less memory than they would like: the same
# bits. Backward and double backward of all kinds of rows, sums, orders of edges and types.
BUILD=${BUILD:-build}
CGTPGEN=${CGTPGEN:-$BUILD/cgtpgen}
export BUILD
folder=$BUILD/simt/turns_products
mkdir -p "$folder/specs"
names= specs=

# kind SPEC KIND [KEYS]: a spec of the shim with further keys.
kind()
{
    name=$1_$2
    sed -e 's/^kernels: .*/kernels: [backward, double_backward]/' -e "s/^name: .*/name: $name/" \
        -e "${3:+s/^instructions:/$3\\n&/}" "tests/simt/specs/$1.yaml" > "$folder/specs/$name.yaml"
    names="$names $name"
    specs="$specs $folder/specs/$name.yaml"
}
for name in conv_96_double conv_alike conv_any conv_mixed conv_narrow conv_sums; do
    kind "$name" plain
done
kind conv_compensated plain
kind conv_64 strided 'rows: strided'
kind conv_64 whole 'reduction: invariant'
kind conv_64 wide 'index_type: int64\nedges: any'
kind conv_64 half 'precision: {x: bfloat16, y: bfloat16, w: bfloat16, z: bfloat16}'
kind conv_64 sum 'precision: {sum: float64}'
if ! "$CGTPGEN" --backend=cuda -Wno-all -o "$folder" $specs > "$folder/log" 2>&1; then
    sed 's/^/# /' "$folder/log"
    echo 'not ok 1 - the products were not generated'
    exit 1
fi
{
    echo '#include "cgtp.h"'
    for name in $names; do echo "extern const cgtp_product ${name}_product;"; done
    echo 'extern const cgtp_product *const check_products[];'
    echo 'const cgtp_product *const check_products[] = {'
    for name in $names; do echo "    &${name}_product,"; done
    echo '    0};'
} > "$folder/products.c"
sources=$("$CGTPGEN" --backend=cuda -Wno-all --list -o "$folder" $specs | grep '\.cu*$')
program=$BUILD/simt/turns
if ! tests/simt/build.sh "$program" $sources "$folder/products.c" tests/simt/turns.c tests/simt/memory_simt.c \
    runtime/cgtp.c > "$program.log" 2>&1; then
    tests/why.sh "$program.log"
    echo 'not ok 1 - the program was not built'
    exit 1
fi
timeout 300 "$program" > "$program.tap"
status=$?
grep -v '^1\.\.' "$program.tap"
n=$(grep -c -E '^(not )?ok' "$program.tap")

# Counters that a later turn finds as the one before has left them are seen: nobody takes that turn's edges.
n=$((n + 1))
name=conv_64_strided
sed 's/!turn\.first && (status = cgtp_clear/false \&\& (status = cgtp_clear/' "$folder/${name}_backward.cu" \
    > "$folder/${name}_uncleared.cu"
echo "#include \"cgtp.h\"
extern const cgtp_product ${name}_product;
extern const cgtp_product *const check_products[];
const cgtp_product *const check_products[] = {&${name}_product, 0};" > "$folder/uncleared.c"
if cmp -s "$folder/${name}_backward.cu" "$folder/${name}_uncleared.cu"; then
    echo "not ok $n - a kernel whose later turns find counters uncleared: there is no such line"
elif ! tests/simt/build.sh "${program}_uncleared" "$folder/${name}_uncleared.cu" "$folder/${name}_double_backward.cu" \
    "$folder/$name.c" "$folder/uncleared.c" tests/simt/turns.c tests/simt/memory_simt.c runtime/cgtp.c \
    > "$program.log" 2>&1; then
    tests/why.sh "$program.log"
    echo "not ok $n - a kernel whose later turns find counters uncleared was not built"
elif ! timeout 100 "${program}_uncleared" 2> /dev/null | grep -q "^not ok"; then
    echo "not ok $n - a kernel whose later turns find counters uncleared is not right"
else
    echo "ok $n - a kernel whose later turns find counters uncleared is not right"
fi
echo "1..$n"
exit $status
