#!/bin/sh
# simt_types.t - generated CUDA kernels on the CPU, through the shim of tests/simt, with arrays of 16 bits and of mixed
# types: every evaluation. A sample; with TEST_ALL all kernels and specs.
. tests/products.sh
. tests/types.sh
. tests/simt/kernels.sh

from=tests/simt/specs
three="-e 's/^kernels: .*/kernels: [forward, backward, double_backward]/'"
if [ "$TEST_ALL" ]; then
    all=$(echo $from/conv_*.yaml $from/batch_*.yaml $from/paired_*.yaml $from/staged_[gmsp]*.yaml $from/tiled_*.yaml $from/gemm_[wpt]*.yaml \
        $from/lanes_*.yaml)
    all=$(echo "$all" | sed 's/[^ ]*\(compensated\|outputs\|meets\).yaml//g')
    for types in "$bfloat16" "$float16" "$device" "$mixed" "$sum64"; do
        name=$(printf '%s\n' "$types" | sed 's/.*&_\([a-z0-9]*\).*/\1/')
        check_kernels "types_$name" "$types" "$all" sizes paths calls
    done
    check_kernels types_golden "$bfloat16" "$(echo $(ls tests/golden/*.yaml | grep -v sugar))" problems=tests/golden golden
else
    check_kernels types_bf16 "$bfloat16 $three" "$from/conv_32.yaml $from/conv_128.yaml $from/conv_sums.yaml $from/conv_mixed.yaml \
        $from/batch_plain.yaml $from/batch_128.yaml" sizes calls
    # rows that begin at odd numbers are copies, others are moved by 4 bytes
    check_kernels types_widths "$bfloat16" "$from/conv_any.yaml $from/conv_narrow.yaml" sizes
    check_kernels types_even "$float16 -e 's/37x/34x/' -e 's/7x2e/6x2e/' -e 's/3x1e/2x1e/'" \
        "$from/conv_any.yaml $from/conv_narrow.yaml" sizes paths
    check_kernels types_batch_widths "$bfloat16 $three" "$from/batch_widths.yaml $from/batch_even.yaml" sizes
    check_kernels types_any "$bfloat16 $three -e 's/^kernels: /edges: any\nkernels: /'" $from/conv_32.yaml sizes paths
    check_kernels types_f16 "$float16 -e 's/^kernels: .*/kernels: [backward]/'" "$from/paired_nodes.yaml \
        $from/staged_graph.yaml $from/tiled_modes.yaml" sizes paths
    check_kernels types_device "$device $three" $from/conv_32.yaml sizes paths calls
    check_kernels types_rows "$bfloat16 -e 's/^kernels: .*/kernels: [backward]/'" "$from/staged_parts.yaml \
        $from/staged_shared.yaml $from/gemm_wide.yaml $from/tiled_wide.yaml $from/lanes_columns.yaml" sizes
    check_kernels types_sums "$sum64 $three" "$from/conv_sums.yaml $from/conv_mixed.yaml $from/staged_graph.yaml \
        $from/paired_nodes.yaml" sizes calls
    check_kernels types_golden "$bfloat16 -e 's/^kernels: .*/kernels: [forward, backward]/'" \
        "tests/golden/g_mace_large_c32_graph.yaml tests/golden/g_mixed_modes.yaml" problems=tests/golden golden
fi
echo "1..$n"
