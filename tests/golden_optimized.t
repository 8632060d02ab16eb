#!/bin/sh
# Every mode as compilers optimise it, with OpenMP where there is it: vector code, threads, strict aliasing.
. tests/products.sh

cases=$(cd tests/golden && ls g_mode_*_[01].yaml g_mixed_modes.yaml g_mace_large_c40_graph.yaml)
cases=$(echo "$cases" | sed 's|^|tests/golden/|' | tr '\n' ' ')
short="$single -e 's/^kernels: .*/kernels: [forward, backward, double_backward, jvp]/'"
OMP_NUM_THREADS=3 check_products golden_optimized '-O3 -march=native -fopenmp' "$short" "$cases" \
    problems=tests/golden golden sizes
