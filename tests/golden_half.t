#!/bin/sh
# e3nn's golden cases with arrays of 16 bits, of mixed types, and sums in a wider type: against the reference at rounded
# inputs; sizes, one path at a time, wrong calls, laws. A sample of the cases; with TEST_ALL all of them and every kernel.
. tests/products.sh
. tests/types.sh

kinds='golden descriptor calls paths sizes euler quotients symmetry'
if [ "$TEST_ALL" ]; then
    cases=$(echo $(ls tests/golden/*.yaml | grep -v sugar))
    flags='-O3 -march=native' short=
else
    cases=
    for name in allegro_lmax2 diffdock_l1_graph mace_large_c4_graph mixed_modes mode_uvw_shared mode_uvuv_0 triple_uvu; do
        cases="$cases tests/golden/g_$name.yaml"
    done
    quick_compiler
    flags=$quick short="-e 's/^kernels: .*/kernels: [forward, backward]/'"
fi
{
    check_products golden_bfloat16 "$flags" "$bfloat16 $short" "$cases" problems=tests/golden $kinds
    check_products golden_float16 "$flags" "$float16 $short" "$cases" problems=tests/golden $kinds
    check_products golden_mixed "$flags" "$mixed $short" "$cases" problems=tests/golden $kinds
    check_products golden_narrow "$flags" "$narrow $short" "$cases" problems=tests/golden $kinds
} | awk '/^1\.\./ { next } /^(not )?ok [0-9]/ { sub(/ok [0-9]+/, "ok " ++n) } { print } END { print "1.." n }'
