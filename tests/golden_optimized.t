#!/bin/sh
# Every mode as compilers optimise it, with OpenMP where there is it: vector code, threads, strict aliasing.
. tests/products.sh

cases=$(echo tests/golden/g_mode_*_[01].yaml tests/golden/g_mixed_modes.yaml tests/golden/g_mace_large_c40_graph.yaml)
short="$single -e 's/^kernels: .*/kernels: [forward, backward, double_backward, jvp]/'"
OMP_NUM_THREADS=3 check_products golden_optimized '-O3 -march=native -fopenmp' "$short" "$cases" \
    problems=tests/golden golden sizes
