#!/bin/sh
# Every published layer, narrowed to few channels: each of its paths alone, in every kernel, against the
# reference.
. tests/products.sh

specs=$(echo specs/*.yaml)
if [ "$TEST_ALL" ]; then
    all='forward, backward, double_backward, triple_backward, jvp, backward_jvp, double_backward_jvp'
    check_products specs_paths -O1 "tests/narrow.py --kernels='$all'" "$specs" descriptor paths
else
    quick_compiler
    check_products specs_paths "$quick" tests/narrow.py "$specs" descriptor paths
fi
