#!/bin/sh
# simt_golden.t - generated CUDA kernels on the CPU, through the shim of tests/simt: right numbers, no
# findings. Cases of e3nn in both precisions, convolutions and batches of all shapes in tests/simt/specs, mixtures
# with the general evaluation, layers narrowed to few channels. A sample; with TEST_ALL every case and layer.
. tests/products.sh
. tests/simt/kernels.sh

three="-e 's/^kernels: .*/kernels: [forward, backward, double_backward]/'"
atomic="-e 's/^instructions:/reduction: atomic\n&/'"
pair="-e 's/^instructions:/tune: {sm_90: {evaluation: paired}}\n&/'" # where others are cheaper
any="-e 's/^name: .*/&_any/' -e '/^reduction:/d' -e 's/^instructions:/edges: any\n&/'"
any_atomic="-e 's/^name: .*/&_any/' -e '/^reduction:/d' -e 's/^instructions:/edges: any\nreduction: atomic\n&/'"
wide="-e 's/^instructions:/index_type: int64\n&/'"
double="-e 's/^kernels: /precision: float64\n&/'"
mixed=tests/simt/specs/conv_mixed.yaml
widths='tests/simt/specs/conv_any.yaml tests/simt/specs/conv_blocks.yaml tests/simt/specs/conv_narrow.yaml'
channels=tests/simt/specs/conv_channels.yaml
layouts='g_mace_large_c32_graph g_mace_large_c32 g_mode_uvu_0 g_mode_uvuv_0 g_mode_uvw_shared g_mixed_modes'
batches=
for name in 128 double even mixed narrow phases plain shared widths; do batches="$batches tests/simt/specs/batch_$name.yaml"; done
tiled='tests/simt/specs/tiled_wide.yaml tests/simt/specs/tiled_modes.yaml'
gemm='tests/simt/specs/gemm_wide.yaml tests/simt/specs/gemm_pairs.yaml tests/simt/specs/gemm_tied.yaml'
gemm="$gemm tests/simt/specs/gemm_large.yaml tests/simt/specs/gemm_pieces.yaml tests/simt/specs/gemm_windows.yaml"
paired_graphs='tests/simt/specs/paired_nodes.yaml tests/simt/specs/paired_pairs.yaml'
paired="$paired_graphs tests/simt/specs/paired_mixed.yaml tests/simt/specs/paired_direct.yaml"
staged='tests/simt/specs/staged_graph.yaml tests/simt/specs/staged_mixed.yaml tests/simt/specs/staged_shared.yaml'
staged="$staged tests/simt/specs/staged_several.yaml tests/simt/specs/staged_channels.yaml tests/simt/specs/staged_blocks.yaml"
staged="$staged tests/simt/specs/staged_ys.yaml"
only="-e '/uvw/d'" # paths that are done by rows alone
graph="-e 's/^instructions:/index: {x: sender, z: receiver}\n&/'"
odd_pairs="-e 's/36x/35x/g' -e 's/8x2e/7x2e/g' -e 's/z: item/z: receiver/'" # rows of nodes of an odd length
lanes='tests/simt/specs/lanes_parities.yaml tests/simt/specs/lanes_columns.yaml tests/simt/specs/lanes_rows.yaml'
parts='tests/simt/specs/staged_parts.yaml tests/simt/specs/staged_parts_graph.yaml'

if [ "$TEST_ALL" ]; then
    cases=$(echo $(ls tests/golden/*.yaml | grep -v sugar))
    check_kernels golden_double cat "$cases" problems=tests/golden golden
    check_kernels golden_single "$single $three" "$cases" problems=tests/golden golden paths calls
    check_kernels pipelined_double cat tests/golden/g_mace_large_c32_graph.yaml problems=tests/golden sizes
    check_kernels convolutions cat "$(echo tests/simt/specs/conv_*.yaml)" sizes paths calls
    check_kernels convolutions_any "sed $any" "$(echo tests/simt/specs/conv_*.yaml)" sizes paths calls
    check_kernels convolutions_any_atomic "sed $any_atomic" "$(echo tests/simt/specs/conv_*.yaml)" sizes paths
    check_kernels convolutions_any_wide "sed $any $wide" tests/simt/specs/conv_64.yaml sizes
    check_kernels staged_any "sed $any" 'tests/simt/specs/staged_graph.yaml tests/simt/specs/staged_parts_graph.yaml' \
        sizes paths calls
    check_kernels paired_any "sed $any" 'tests/simt/specs/paired_nodes.yaml tests/simt/specs/paired_pairs.yaml' sizes paths calls
    check_kernels golden_any "sed $any" tests/golden/g_mace_large_c32_graph.yaml problems=tests/golden golden
    check_kernels convolutions_compensated "sed -e '/^accumulate:/d' -e 's/^instructions:/accumulate: compensated\n&/'" \
        "$(echo tests/simt/specs/conv_*.yaml)" sizes paths calls
    check_kernels joined "sed -e 's/share: 2/share: 3/'" tests/simt/specs/conv_alike.yaml sizes paths
    check_kernels alike_double_atomic "sed $double $atomic" tests/simt/specs/conv_alike.yaml sizes paths
    check_kernels batches cat "$batches" sizes paths calls
    check_kernels staged cat "$staged $parts" sizes paths calls
    check_kernels staged_several_parts "sed -e '\$atune: {sm_90: {parts: 4}}'" tests/simt/specs/staged_several.yaml \
        sizes paths
    check_kernels staged_channels "sed $graph $only" tests/simt/specs/staged_channels.yaml sizes paths
    check_kernels staged_blocks "sed $graph" tests/simt/specs/staged_blocks.yaml sizes paths
    check_kernels blocks_general "sed -e '\$atune: {sm_90: {evaluation: general}}'" tests/simt/specs/staged_blocks.yaml paths
    check_kernels staged_shares "sed -e '\$atune: {sm_90: {share: 2}}'" "$staged" sizes paths
    check_kernels staged_alike cat tests/simt/specs/staged_alike.yaml sizes paths calls
    check_kernels staged_two "$irmul -e 's/share: 2, channels: 1/channels: 2/'" tests/simt/specs/staged_alike.yaml sizes paths
    check_kernels staged_shares_parts "sed -e 's/parts: /share: 2, parts: /'" "$parts" sizes paths
    check_kernels staged_odd "sed $graph -e 's/12x0e/13x0e/'" tests/simt/specs/staged_several.yaml sizes paths
    check_kernels paired_odd "sed $odd_pairs" tests/simt/specs/paired_nodes.yaml sizes paths
    check_kernels staged_double_atomic "sed $double $atomic" \
        'tests/simt/specs/staged_graph.yaml tests/simt/specs/staged_parts_graph.yaml' sizes paths
    check_kernels staged_layouts "$irmul" "$staged $parts" sizes paths
    check_kernels tiled cat "$tiled" sizes paths calls
    check_kernels tiled_double_layouts "$irmul $double" "$tiled" sizes paths
    check_kernels gemm cat "$gemm" sizes paths calls
    check_kernels gemm_layouts "$irmul $three" 'tests/simt/specs/gemm_wide.yaml tests/simt/specs/gemm_pairs.yaml tests/simt/specs/gemm_tied.yaml' \
        sizes paths
    check_kernels paired cat "$paired" sizes paths calls
    check_kernels paired_direct_any "$irmul $double $any" tests/simt/specs/paired_direct.yaml sizes
    check_kernels paired_double_atomic "sed $double $atomic $pair" "$paired_graphs" sizes paths
    check_kernels nodal cat 'tests/simt/specs/nodal_pairs.yaml tests/simt/specs/nodal_parities.yaml tests/simt/specs/nodal_many.yaml' sizes paths calls
    check_kernels nodal_any "sed $any" tests/simt/specs/nodal_pairs.yaml sizes paths
    check_kernels nodal_double_layouts "$irmul $double" tests/simt/specs/nodal_pairs.yaml sizes paths
    check_kernels nodal_received "sed -e 's/y: sender/y: receiver/'" tests/simt/specs/nodal_pairs.yaml sizes paths
    check_kernels lanes cat "$lanes tests/simt/specs/lanes_natural.yaml tests/simt/specs/lanes_split.yaml" sizes paths calls
    check_kernels lanes_copies "sed -e 's/80x/48x/g' -e 's/evaluation: lanes/&, warps: 12/'" tests/simt/specs/lanes_parities.yaml sizes paths
    check_kernels lanes_meets cat tests/simt/specs/lanes_meets.yaml sizes paths
    check_kernels lanes_any "sed $any" tests/simt/specs/lanes_columns.yaml sizes paths
    check_kernels lanes_double_layouts "$irmul $double" \
        'tests/simt/specs/lanes_natural.yaml tests/simt/specs/lanes_rows.yaml tests/simt/specs/lanes_split.yaml' sizes paths
    check_kernels lanes_received "sed -e 's/y: sender/y: receiver/'" tests/simt/specs/lanes_columns.yaml sizes paths
    check_kernels paired_layouts "$irmul $pair" "$paired" sizes paths
    check_kernels mixed_atomic "sed $atomic" $mixed sizes paths
    check_kernels mixed_double "sed $double" $mixed sizes paths
    check_kernels mixed_double_atomic "sed $double $atomic" $mixed sizes paths
    check_kernels golden_layouts "$irmul" "$cases" problems=tests/golden golden paths
    check_kernels golden_layout_x "$irmulx" "$cases" problems=tests/golden golden
    check_kernels golden_layouts_yz "$single | $irmulyz" "$cases" problems=tests/golden golden
    for layout in "$irmul" "$irmulx" "$irmulyz"; do
        name=$(printf '%s\n' "$layout" | sed 's/.*&_\([a-z]*\).*/\1/')
        check_kernels "convolutions_$name" "$layout" "$(echo tests/simt/specs/conv_*.yaml)" sizes paths
        check_kernels "batches_$name" "$layout" "$batches" sizes paths
        check_kernels "mixed_double_atomic_$name" "$layout $double $atomic" $mixed sizes paths
    done
    check_kernels layers tests/narrow.py "$(echo specs/*.yaml)" paths
else
    cases=
    for name in g_mace_large_c32_graph g_mace_large_c32 g_mode_uvu_0 g_mode_uvw_shared g_mode_uuu_0 g_mode_ultvw_0 \
        g_mixed_modes g_variances; do
        cases="$cases tests/golden/$name.yaml"
    done
    check_kernels sample_single "$single $three" "$cases" problems=tests/golden golden paths calls
    # two paths a copy of weights, some at another distance than most
    check_kernels sample_double "sed -e 's/^kernels: .*/kernels: [backward]/'" \
        tests/golden/g_mace_large_c32_graph.yaml problems=tests/golden golden
    cases=
    for name in conv_32 conv_64 conv_128 conv_96_double conv_sums; do
        cases="$cases tests/simt/specs/$name.yaml"
    done
    check_kernels sample_convolutions "sed $three" "$cases" sizes calls
    check_kernels sample_channels cat "$channels" sizes paths calls
    # channels that fill no warp, rows that begin anywhere
    check_kernels sample_widths cat "$widths" sizes paths calls
    check_kernels sample_widths_any "$irmul $double $any" "$widths" sizes
    check_kernels sample_widths_atomic "sed $atomic -e 's/, channels: 2//' -e 's/evaluation: convolution/&, channels: 2/'" "$widths" sizes
    check_kernels sample_widths_compensated "sed -e 's/^instructions:/accumulate: compensated\n&/'" "$widths" paths
    check_kernels sample_any "sed $any $three" \
        "tests/simt/specs/conv_sums.yaml $mixed tests/simt/specs/staged_graph.yaml tests/simt/specs/staged_parts_graph.yaml" \
        sizes calls
    check_kernels sample_any_atomic "sed $any_atomic $three" \
        'tests/simt/specs/conv_sums.yaml tests/simt/specs/conv_mixed.yaml tests/simt/specs/staged_graph.yaml tests/simt/specs/paired_nodes.yaml' \
        sizes
    check_kernels sample_paired_any "sed $any $three" 'tests/simt/specs/paired_nodes.yaml tests/simt/specs/paired_pairs.yaml' sizes
    check_kernels sample_any_wide "sed $any $wide $three" tests/simt/specs/conv_64.yaml sizes
    check_kernels sample_compensated "sed $three -e 's/^instructions:/accumulate: compensated\n&/'" \
        "tests/simt/specs/conv_sums.yaml $mixed" sizes paths calls
    # the loops of both parities' paths shared; paths joined
    check_kernels sample_alike "sed -e 's/^kernels: .*/kernels: [backward, double_backward]/'" \
        tests/simt/specs/conv_alike.yaml sizes
    check_kernels sample_alike_compensated \
        "sed -e 's/^kernels: .*/kernels: [forward]/' -e 's/^instructions:/accumulate: compensated\n&/'" \
        tests/simt/specs/conv_alike.yaml sizes
    check_kernels sample_joined "sed -e 's/share: 2/share: 3/' -e 's/^kernels: .*/kernels: [forward]/'" \
        tests/simt/specs/conv_alike.yaml sizes
    check_kernels sample_together "sed -e 's/^kernels: .*/kernels: [double_backward]/'" \
        tests/simt/specs/conv_together.yaml sizes paths
    check_kernels sample_batches "sed $three" "$batches" sizes paths
    check_kernels sample_staged "sed $three" \
        "tests/simt/specs/staged_graph.yaml tests/simt/specs/staged_shared.yaml" sizes paths calls
    divided=
    for name in uvv_1 uuw_0 ultvw_0 uvultv_1 uvultv_noweight; do divided="$divided tests/golden/g_mode_$name.yaml"; done
    check_kernels sample_divided "$single $three -e '\$atune: {sm_90: {evaluation: staged, warps: 16}}'" \
        "$divided tests/golden/g_mixed_modes.yaml" problems=tests/golden golden sizes
    check_kernels sample_staged_blocks "sed -e 's/^kernels: .*/kernels: [backward]/'" tests/simt/specs/staged_blocks.yaml paths
    check_kernels sample_staged_channels "sed $three" tests/simt/specs/staged_channels.yaml sizes
    check_kernels sample_staged_channels_graph "$irmul $three $graph $only" tests/simt/specs/staged_channels.yaml paths
    check_kernels sample_staged_several "$irmul $three" tests/simt/specs/staged_several.yaml sizes
    check_kernels sample_staged_several_odd "sed $three $graph -e 's/12x0e/13x0e/' -e '\$atune: {sm_90: {parts: 4}}'" \
        tests/simt/specs/staged_several.yaml paths
    check_kernels sample_paired_odd "sed $three $odd_pairs" tests/simt/specs/paired_nodes.yaml paths
    check_kernels sample_staged_mixed "sed -e 's/^kernels: .*/kernels: [double_backward]/'" \
        tests/simt/specs/staged_mixed.yaml sizes
    check_kernels sample_staged_double_atomic "$irmul $three $double $atomic" \
        tests/simt/specs/staged_graph.yaml sizes paths calls
    check_kernels sample_staged_parts "sed $three" tests/simt/specs/staged_parts.yaml sizes paths
    # passes that share their code, as where it is long
    check_kernels sample_staged_shares "$irmul $three -e 's/parts: /share: 2, parts: /'" \
        tests/simt/specs/staged_parts.yaml sizes paths
    check_kernels sample_staged_shares_channels "sed $three -e '\$atune: {sm_90: {share: 2}}'" \
        tests/simt/specs/staged_channels.yaml sizes
    check_kernels sample_staged_alike cat tests/simt/specs/staged_alike.yaml sizes paths
    check_kernels sample_staged_two "sed -e 's/share: 2, channels: 1/channels: 2/'" tests/simt/specs/staged_alike.yaml sizes
    check_kernels sample_staged_parts_double_atomic "$irmul $three $double $atomic" \
        tests/simt/specs/staged_parts_graph.yaml sizes paths
    check_kernels sample_tiled "sed -e 's/^kernels: .*/kernels: [backward, double_backward]/'" "$tiled" sizes paths
    check_kernels sample_tiled_double_layouts "$irmulyz $three $double" "$tiled" sizes
    check_kernels sample_gemm "sed $three" \
        'tests/simt/specs/gemm_wide.yaml tests/simt/specs/gemm_pairs.yaml tests/simt/specs/gemm_tied.yaml' sizes paths calls
    check_kernels sample_gemm_double_layouts "$irmulyz $three $double" \
        'tests/simt/specs/gemm_wide.yaml tests/simt/specs/gemm_pairs.yaml tests/simt/specs/gemm_tied.yaml' sizes
    # e3nn's cases of few channels, none of which fill a block
    check_kernels sample_gemm_golden "sed $three -e '\$atune: {sm_90: {evaluation: gemm}}'" \
        'tests/golden/g_mode_uvw_shared.yaml tests/golden/g_mode_ultvw_shared.yaml
         tests/golden/g_mode_uuw_shared.yaml tests/golden/g_class_fully_connected_shared.yaml' \
        problems=tests/golden golden paths
    check_kernels sample_gemm_large "sed -e 's/^kernels: .*/kernels: [backward]/'" tests/simt/specs/gemm_large.yaml sizes
    check_kernels sample_paired "sed $three" "$paired_graphs" sizes paths calls
    check_kernels sample_nodal "sed $three" 'tests/simt/specs/nodal_pairs.yaml tests/simt/specs/nodal_parities.yaml tests/simt/specs/nodal_many.yaml' \
        sizes paths calls
    check_kernels sample_nodal_double_any "$irmul $three $double $any" tests/simt/specs/nodal_pairs.yaml sizes
    check_kernels sample_nodal_received "sed $three -e 's/y: sender/y: receiver/'" tests/simt/specs/nodal_pairs.yaml sizes
    check_kernels sample_lanes "sed $three" "$lanes" sizes paths calls
    check_kernels sample_lanes_split "sed -e 's/^kernels: .*/kernels: [backward]/'" tests/simt/specs/lanes_split.yaml sizes
    # nodes without edges; no more parts than components, which are three
    check_kernels sample_lanes_meets cat tests/simt/specs/lanes_meets.yaml sizes
    check_kernels sample_lanes_parts "sed -e 's/warps: 8/warps: 16/'" \
        'tests/simt/specs/lanes_meets.yaml tests/simt/specs/paired_free.yaml' sizes
    check_kernels sample_lanes_double_any "$irmul $three $double $any" \
        'tests/simt/specs/lanes_natural.yaml tests/simt/specs/lanes_rows.yaml' sizes
    # warps with channels copy, some one row of a tile, some two
    check_kernels sample_lanes_copies "sed -e 's/^kernels: .*/kernels: [double_backward]/' -e 's/80x/48x/g' -e 's/evaluation: lanes/&, warps: 12/'" \
        tests/simt/specs/lanes_parities.yaml sizes
    check_kernels sample_lanes_received "sed $three -e 's/y: sender/y: receiver/'" tests/simt/specs/lanes_columns.yaml sizes
    check_kernels sample_paired_direct "sed $three" tests/simt/specs/paired_direct.yaml sizes paths calls
    check_kernels sample_paired_direct_any "$irmul $three $double $any" tests/simt/specs/paired_direct.yaml sizes
    check_kernels sample_paired_mixed "sed -e 's/^kernels: .*/kernels: [backward]/'" \
        tests/simt/specs/paired_mixed.yaml sizes calls
    check_kernels sample_paired_double_atomic "$irmul $three $double $atomic $pair" "$paired_graphs" sizes paths
    check_kernels sample_mixed "sed $three" $mixed sizes paths calls
    check_kernels sample_mixed_double_atomic "sed $three $double $atomic" $mixed sizes paths
    cases=
    for name in $layouts; do
        cases="$cases tests/golden/$name.yaml"
    done
    check_kernels sample_layouts "$irmul -e 's/^kernels: .*/kernels: [backward]/'" "$cases" \
        problems=tests/golden golden
    cases=
    for name in conv_64 conv_128 conv_96_double; do
        cases="$cases tests/simt/specs/$name.yaml"
    done
    check_kernels sample_layouts_convolutions "$irmul $three" "$cases" sizes
    check_kernels sample_layouts_batches "$irmul $three" \
        'tests/simt/specs/batch_mixed.yaml tests/simt/specs/batch_128.yaml tests/simt/specs/batch_even.yaml tests/simt/specs/batch_narrow.yaml tests/simt/specs/batch_shared.yaml' sizes paths
    check_kernels sample_layout_x_atomic "$irmulx $three $atomic" $mixed paths
    check_kernels sample_layouts_yz "$irmulyz $three" $mixed paths
    check_kernels sample_layers "tests/narrow.py --kernels=forward,backward" \
        'specs/tetris_poly_1.yaml specs/allegro_lmax1.yaml' sizes paths
fi
check_kernels regress cat "$(echo tests/regress/*.yaml)" problems=tests/regress sizes paths
check_kernels idle cat "tests/simt/specs/idle.yaml tests/simt/specs/staged_idle.yaml" problems=tests/simt/specs sizes paths
check_kernels batch_outputs cat "tests/simt/specs/batch_outputs.yaml tests/simt/specs/staged_outputs.yaml" \
    problems=tests/simt/specs sizes paths calls
check_kernels outputs cat tests/simt/specs/outputs.yaml problems=tests/simt/specs sizes paths calls
echo "1..$n"
