#!/bin/sh
# e3nn's golden cases in single precision: every kernel against the reference at rounded inputs; sizes
# around the width of a vector; one path at a time; wrong calls.
. tests/products.sh

cases=$(echo $(ls tests/golden/*.yaml | grep -v sugar))
kinds='golden calls paths sizes'
if [ "$TEST_ALL" ]; then
    check_products golden_single '-O3 -march=native' "$single" "$cases" problems=tests/golden $kinds \
        descriptor euler quotients symmetry
else
    short="$single -e '/^name: g_nequip_lmax[345]/,\$s/^kernels: .*/$three/'"
    quick_compiler
    check_products golden_single "$quick" "$short" "$cases" problems=tests/golden $kinds
fi
