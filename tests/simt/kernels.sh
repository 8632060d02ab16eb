# kernels.sh - sourced, after tests/products.sh, by scripts that run generated CUDA kernels on the CPU, through the shim.

n=0

# check_kernels NAME FILTER 'SPECS' ARGUMENTS...: builds one program for the specs and runs it; its
# lines become ours.
check_kernels()
{
    folder=$BUILD/simt/$1 filter=$2 specs=$3 group=$1
    shift 3
    mkdir -p "$folder/specs"
    local_specs= sources=
    for spec in $specs; do
        copy=$folder/specs/$(basename "$spec")
        eval "$filter" < "$spec" > "$copy"
        local_specs="$local_specs $copy"
    done
    if ! "$CGTPGEN" --backend=cuda -o "$folder" $local_specs > "$folder/log" 2>&1; then
        sed 's/^/# /' "$folder/log"
        echo "not ok $((n + 1)) - $group was not generated"
        exit 1
    fi
    for file in $("$CGTPGEN" --backend=cuda --list -o "$folder" $local_specs); do
        case $file in
        *.cu | *.c) sources="$sources $file" ;;
        esac
    done
    names=$(sed -n 's/^name: *//p' $local_specs)
    {
        echo '#include "cgtp.h"'
        for name in $names; do echo "extern const cgtp_product ${name}_product;"; done
        echo 'extern const cgtp_product *const check_products[];'
        echo 'const cgtp_product *const check_products[] = {'
        for name in $names; do echo "    &${name}_product,"; done
        echo '    0};'
    } > "$folder/products.new"
    cmp -s "$folder/products.new" "$folder/products.c" || mv "$folder/products.new" "$folder/products.c"
    if ! tests/simt/build.sh "$folder/check" $sources "$folder/products.c" $drivers > "$folder/log" 2>&1; then
        tests/why.sh "$folder/log"
        echo "not ok $((n + 1)) - $group was not built"
        exit 1
    fi
    "$folder/check" "$@" > "$folder/tap" 2> "$folder/findings"
    status=$?
    lines=$(sed -n 's/^1\.\.//p' "$folder/tap")
    sed "/^1\.\./d" "$folder/tap" | awk -v n="$n" '
        /^(not )?ok [0-9]/ { sub(/ok [0-9]+/, "ok " ++n) } { print }'
    n=$((n + ${lines:-0} + 1))
    if [ $status -eq 0 ] && ! grep -q '^# simt:' "$folder/tap"; then
        echo "ok $n - $group: no findings"
    else
        echo "not ok $n - $group: no findings (exit status $status)"
        head -n 20 "$folder/findings" | sed 's/^/# /'
    fi
}

# What checks them: objects that make has built for all scripts; with sanitizers, which do not go with the shim, others.
drivers="tests/simt/memory_simt.c tests/simt/check_sizes_simt.c"
case $BUILD in
*/san) from=tests to=c drivers="$drivers runtime/cgtp.c" ;;
*) from=$BUILD/obj/tests to=o drivers="$drivers $BUILD/obj/runtime/cgtp.o" ;;
esac
for part in check_main check check_golden check_paths check_calls check_laws driver reference \
    reference_kernels reference_wigner golden_case; do
    drivers="$drivers $from/$part.$to"
done
