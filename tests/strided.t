#!/bin/sh
# rows: strided - rows that are parts of longer ones: e3nn's golden cases with strides of all kinds, rows that follow each
# other among them; what is between rows is neither read nor written; wrong strides. With other layouts and types, too, and
# on the shim every evaluation.
. tests/products.sh
. tests/types.sh
. tests/simt/kernels.sh

# Adds a suffix to the name and gives strides to the arrays of all slots, of some.
strided="sed -e 's/^name: .*/&_strided/' -e 's/^instructions:/rows: strided\n&/'"
some="sed -e 's/^name: .*/&_stridedsome/' -e 's/^instructions:/rows: {x: strided, z: strided}\n&/'"
few="-e 's/^kernels: .*/kernels: [forward, backward]/'"
cases=
for name in mace_large_c32_graph mixed_modes mode_uvw_shared allegro_lmax2 diffdock_l1_graph; do
    cases="$cases tests/golden/g_$name.yaml"
done
if [ "$TEST_ALL" ]; then
    cases=$(echo $(ls tests/golden/*.yaml | grep -v sugar)) few=
fi
quick_compiler
c_backend()
{
    check_products strided "$quick" "$strided $few" "$cases" problems=tests/golden golden descriptor paths calls sizes
    check_products strided_irmul "$quick" "$strided $few | $irmul" "$cases" problems=tests/golden golden calls
    check_products strided_half "$quick" "$some $few | $mixed" "$cases" problems=tests/golden golden calls
}
c_backend > "$BUILD/strided.tap"
if [ "$(grep -c '^1\.\.' "$BUILD/strided.tap")" != 3 ]; then
    grep '^not ok' "$BUILD/strided.tap"
    echo "not ok 1 - a program of the C backend did not end"
    exit 1
fi
awk '/^1\.\./ { next } /^(not )?ok [0-9]/ { sub(/ok [0-9]+/, "ok " ++n) } { print }' "$BUILD/strided.tap"
n=$(grep -cE '^(not )?ok' "$BUILD/strided.tap")

from=tests/simt/specs
all="$from/conv_32.yaml $from/conv_sums.yaml $from/conv_mixed.yaml $from/batch_plain.yaml $from/paired_nodes.yaml \
    $from/staged_graph.yaml $from/staged_parts.yaml $from/tiled_modes.yaml $from/gemm_wide.yaml $from/lanes_rows.yaml"
[ -z "$TEST_ALL" ] || all=$(echo $from/[bcglpt]*.yaml $from/staged_[gmps]*.yaml)
check_kernels strided "$strided $few" "$all" sizes paths calls
general="sed -e '/^tune/d' -e 's/^name: .*/&_general/' -e 's/^instructions:/tune: {sm_90: {evaluation: general}}\n&/'"
check_kernels strided_general "$strided $few | $general" "$from/conv_mixed.yaml $from/tiled_modes.yaml" sizes calls
check_kernels strided_bf16 "$strided $few | $bfloat16" "$from/conv_sums.yaml $from/batch_plain.yaml $from/paired_nodes.yaml" \
    sizes calls
echo "1..$n"
