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

# mutant WHAT SPEC_KIND KERNEL EDIT: the kernel, so edited, is not right.
mutant()
{
    n=$((n + 1))
    sed "$4" "$folder/$2_$3.cu" > "$folder/$2_mutant.cu"
    other=$([ "$3" = backward ] && echo double_backward || echo backward)
    echo "#include \"cgtp.h\"
extern const cgtp_product $2_product;
extern const cgtp_product *const check_products[];
const cgtp_product *const check_products[] = {&$2_product, 0};" > "$folder/mutant.c"
    if cmp -s "$folder/$2_$3.cu" "$folder/$2_mutant.cu"; then
        echo "not ok $n - $1: there is no such line"
    elif ! tests/simt/build.sh "${program}_mutant" "$folder/$2_mutant.cu" "$folder/$2_$other.cu" \
        "$folder/$2.c" "$folder/mutant.c" tests/simt/turns.c tests/simt/memory_simt.c runtime/cgtp.c \
        > "$program.log" 2>&1; then
        tests/why.sh "$program.log"
        echo "not ok $n - $1 was not built"
    elif ! timeout 100 "${program}_mutant" 2> /dev/null | grep -q "^not ok"; then
        echo "not ok $n - $1 is not right"
    else
        echo "ok $n - $1 is not right"
    fi
}
# Counters that a later turn finds as the one before has left them: nobody takes that turn's edges. And those that a launch
# needs whose warps have more than a range of edges each.
mutant 'a kernel whose later turns find counters uncleared' conv_mixed_plain double_backward \
    's/!turn\.first && (status = cgtp_clear/false \&\& (status = cgtp_clear/'
mutant 'a kernel whose tickets are not cleared' conv_64_strided backward \
    's/(few || partition\.rounds\[0\]) &&/false \&\&/'
echo "1..$n"
exit $status
