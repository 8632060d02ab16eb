#!/bin/sh
# e3nn's golden cases in single precision: kernels against the reference at rounded inputs; sizes around the
# width of a vector; one path at a time; wrong calls. The two kernels that take least time to compile: the others are
# those of golden_double.t, but for type and constants, which precisions.t shows. With TEST_ALL every kernel.
. tests/products.sh

cases=$(echo $(ls tests/golden/*.yaml | grep -v sugar))
kinds='golden calls paths sizes'
if [ "$TEST_ALL" ]; then
    check_products golden_single '-O3 -march=native' "$single" "$cases" problems=tests/golden $kinds \
        descriptor euler quotients symmetry
else
    short="$single -e 's/^kernels: .*/kernels: [forward, backward]/'"
    quick_compiler
    check_products golden_single "$quick" "$short" "$cases" problems=tests/golden $kinds
fi
