#!/bin/sh
# Many random products, as `make random-test` asks for them (tests/random.t runs a few): COUNT of them from number
# FIRST on against the reference, in C, and the first SIMT of each piece of them on the shim, too. Pieces of PIECE, so that
# what is built does not pile up; what fails is named, and made small by `tests/random_spec.py shrink N`.
. tests/products.sh
. tests/simt/kernels.sh
quick_compiler
passed=0 failed=0 on_shim=0
first=${FIRST:-0} end=$((${FIRST:-0} + ${COUNT:-100}))
while [ "$first" -lt "$end" ]; do
    count=$((end - first < ${PIECE:-20} ? end - first : ${PIECE:-20}))
    folder=$BUILD/random/specs
    rm -rf "$BUILD/random" "$BUILD/products/random_many" "$BUILD/simt/random_many"*
    ${PYTHON:-python3} tests/random_spec.py write "$folder" "$first" "$count" || exit 1
    for backend in c cuda; do
        specs=
        of=$([ $backend = c ] && echo "$count" || echo "${SIMT:-2}")
        [ "$of" -gt 0 ] || continue
        for n in $(seq "$first" $((first + of - 1))); do specs="$specs $folder/random_$n.yaml"; done
        if [ $backend = c ]; then
            (check_products random_many "$quick" cat "$specs" problems="$folder" descriptor sizes paths calls)
        else
            (check_kernels random_many cat "$specs" problems="$folder" sizes paths calls)
            on_shim=$((on_shim + of))
        fi > "$BUILD/random/log" 2>&1
        if grep -q '^not ok\|^Bail out' "$BUILD/random/log" || ! grep -q '^ok' "$BUILD/random/log"; then
            failed=$((failed + 1))
            echo "$backend, $first to $((first + count - 1)):"
            grep -B3 -A3 '^not ok\|^Bail out\|error:' "$BUILD/random/log" | head -n 20
        fi
    done
    first=$((first + count))
    passed=$((passed + count))
    echo "$passed products, $on_shim of them on the shim; $failed pieces failed"
done
[ "$failed" -eq 0 ]
