#!/bin/sh
# e3nn's golden cases in double precision: every kernel against e3nn's numbers and the reference; the
# laws that hold for any product; one path at a time; wrong calls. (What is said with sugar: sugar.t.)
. tests/products.sh

cases=$(echo $(ls tests/golden/*.yaml | grep -v sugar))
kinds='golden descriptor calls paths euler quotients symmetry'
if [ "$TEST_ALL" ]; then
    check_products golden_double '-O3 -march=native' cat "$cases" problems=tests/golden $kinds sizes
else
    # the largest products do without third derivatives and tangents, which take most of the time to compile and whose
    # paths have them in g_sevennet_l3_graph; of those that are there with a graph, too, not both have second ones
    short="sed -e '/^name: g_nequip_lmax[345]/,\$s/^kernels: .*/$three/'"
    short="$short -e '/^name: g_nequip_lmax[45]\$/,\$s/^kernels: .*/kernels: [forward, backward]/'"
    quick_compiler
    check_products golden_double "$quick" "$short" "$cases" problems=tests/golden $kinds
fi
