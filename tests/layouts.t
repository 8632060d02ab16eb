#!/bin/sh
# layout: ir_mul for all rows, and for those of some operands: e3nn's golden cases, their rows rearranged on the
# way in and out; one path at a time; rotations; wrong calls. (On a GPU: simt_golden.t.)
. tests/products.sh

folder=$BUILD/products/layouts_specs
mkdir -p "$folder"
specs=

# write FILTER NAMES: the cases of these names in another layout.
write()
{
    for name in $2; do
        eval "$1" < "tests/golden/$name.yaml" > "$folder/new"
        product=$(sed -n 's/^name: *//p' "$folder/new")
        mv "$folder/new" "$folder/$product.yaml"
        specs="$specs $folder/$product.yaml"
    done
}

if [ "$TEST_ALL" ]; then
    flags='-O3 -march=native' short=
    all=$(cd tests/golden && ls *.yaml | grep -v sugar | sed 's/\.yaml$//') few=$all
else
    short=" -e 's/^kernels: .*/$three/'"
    few='g_mace_large_c32_graph g_mode_uvuv_0 g_mode_uvw_shared g_mixed_modes g_diffdock_l1_graph'
    all="$few g_mode_uvu_0 g_mode_uvv_0 g_mode_uuw_0 g_mode_uuu_0 g_mode_uvultv_0 g_mode_ultvw_0 g_class_full"
    quick_compiler
    flags=$quick
fi
write "$irmul$short" "$all"
write "$irmulx$short" "$few"
write "$irmulyz$short" "$few"
write "$single | $irmul$short" "$few"
check_products layouts "$flags" cat "$specs" problems=tests/golden golden paths symmetry calls
