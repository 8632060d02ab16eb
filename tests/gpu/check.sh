#!/bin/sh
# check.sh FOLDER PREFIX: runs the programs that make gpu-check built in FOLDER/PREFIXnarrow, PREFIXgolden and
# sanitize. Prints each one's TAP under its name, then one summary line; exits 1 if anything failed.
# What needs the device for itself runs alone; the rest, mostly arithmetic of the host, at once.
#
# SANITIZER_TOOL: compute-sanitizer, or another's path; where it is missing its part is skipped, and said so.

folder=$1
prefix=$2
tool=${SANITIZER_TOOL:-compute-sanitizer}
logs=$folder/logs
rm -rf "$logs"
mkdir -p "$logs"
export OMP_NUM_THREADS=1

command -v nvidia-smi > /dev/null &&
    nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader | sed 's/^/# GPU: /'

# start NAME COMMAND...: in the background; its output and, at the end, its exit status.
start() {
    name=$1
    shift
    { "$@" > "$logs/$name.tap" 2>&1; echo $? > "$logs/$name.status"; } &
}

begin=$(date +%s)
kinds='descriptor sizes paths calls symmetry euler quotients'
for program in "$folder/${prefix}narrow"/check_?; do
    start "narrow-${program##*_}" "$program" $kinds
done
for program in "$folder/${prefix}golden"/check_?; do
    start "golden-${program##*_}" "$program" problems=tests/golden golden calls
done
for program in "$folder/sanitize"/check_?; do
    start "sanitize-${program##*_}" "$program" sizes
done
for part in 0 1 2 3 4 5 6 7; do
    start "device-$part" "$folder/${prefix}narrow/device" --part=$part/8 repeat capture streams
done
[ -x "$folder/${prefix}narrow/types" ] && start types "$folder/${prefix}narrow/types"
wait
start device-crowd "$folder/${prefix}narrow/device" crowd
wait
start device-large "$folder/${prefix}narrow/device" large graphs multiply
wait

# Findings of the sanitizer make it exit with 99. It slows kernels down a lot: small sizes, few runs. A program
# that never uses the device, having no product to check, makes it exit with 255: those are left out.
if command -v "$tool" > /dev/null; then
    for check in memcheck racecheck initcheck synccheck; do
        for program in "$folder/sanitize"/check_?; do
            grep -q '^1\.\.0$' "$logs/sanitize-${program##*_}.tap" && continue
            start "$check-${program##*_}" "$tool" --tool $check --error-exitcode 99 "$program" sizes
        done
        start "$check-device" "$tool" --tool $check --error-exitcode 99 \
            "$folder/sanitize/device" --runs=2 repeat streams
        [ $check = racecheck ] && wait
    done
    start memcheck-graphs "$tool" --tool memcheck --error-exitcode 99 "$folder/sanitize/device" graphs
    wait
else
    echo "# SKIP $tool is not there: no memcheck, racecheck, initcheck, synccheck"
fi

programs=0
bad=0
for status in "$logs"/*.status; do
    name=$(basename "$status" .status)
    programs=$((programs + 1))
    echo "# ---- $name"
    cat "$logs/$name.tap"
    if [ "$(cat "$status")" != 0 ]; then
        bad=$((bad + 1))
        echo "# $name exited with $(cat "$status")"
        failed="$failed $name"
    fi
done
passed=$(cat "$logs"/*.tap | grep -c '^ok')
failures=$(cat "$logs"/*.tap | grep -c '^not ok')
skipped=$(cat "$logs"/*.tap | grep -c '^ok.*# SKIP')
findings=$(cat "$logs"/*.tap | sed -n 's/^=* \(ERROR SUMMARY\|RACECHECK SUMMARY\): \([0-9]*\).*/\2/p' |
    awk '{ n += $1 } END { print n + 0 }')
largest=$(cat "$logs"/*.tap | sed -n 's/.*error up to \([0-9.]*\) u sum.*/\1/p' | sort -n | tail -1)
echo "# gpu-check: $programs programs, $passed passed ($skipped of them skipped), $failures failed," \
    "$findings findings of the sanitizer, largest error $largest u sum|terms|," \
    "$(($(date +%s) - begin)) s${failed:+; exited badly:$failed}"
[ $bad = 0 ] && [ "$failures" = 0 ] && [ $programs -gt 0 ]
