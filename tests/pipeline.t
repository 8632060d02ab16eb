#!/bin/sh
# pipeline.t - kernels as pipelines: of each spec in tests/pipeline the text of -d e, with the waits and barriers that were
# derived, is what is committed beside it. UPDATE=1 writes it anew.
CGTPGEN=${CGTPGEN:-build/cgtpgen}
n=0
for spec in tests/pipeline/*.yaml; do
    n=$((n + 1))
    expected=${spec%.yaml}.expected
    found=$("$CGTPGEN" -d e --list "$spec" 2>&1 > /dev/null | sed -n '/: pipeline$/,$p')
    [ -z "$UPDATE" ] || echo "$found" > "$expected"
    if [ "$found" ] && echo "$found" | cmp -s - "$expected"; then
        echo "ok $n - $spec"
    else
        echo "not ok $n - $spec"
        echo "$found" | diff "$expected" - | sed 's/^/# /'
    fi
done
echo "1..$n"
