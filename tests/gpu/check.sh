#!/bin/sh
# check.sh FOLDER PREFIX: runs the programs that make gpu-check built in FOLDER/PREFIXnarrow, PREFIXgolden, regress and
# sanitize; with random for the prefix, those that make gpu-random built in FOLDER/random; with some, those that make gpu-some
# built in FOLDER/narrow. Prints each one's TAP under its
# name, then one summary line; exits 1 if anything failed. What needs the device for itself runs alone; the rest, mostly
# arithmetic of the host, at once.
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

# checked SET ARGUMENT..: the set's programs of checks (tests/check_main.c).
checked() {
    set_name=$1
    shift
    for program in "$folder/$set_name"/check_?; do
        start "$set_name-${program##*_}" "$program" "$@"
    done
}

# devices SET ARGUMENT..: what only a device shows of the set, in eight parts.
devices() {
    set_name=$1
    shift
    for part in 0 1 2 3 4 5 6 7; do
        start "$set_name-device-$part" "$folder/$set_name/device" --part=$part/8 "$@"
    done
}

# sanitized SET TOOL ARGUMENT..: the set's programs again, under a tool of the sanitizer. Findings make it exit with 99. It
# slows kernels down a lot: small sizes. A program that never uses the device, having no product to check, makes it exit
# with 255: those are left out.
sanitized() {
    set_name=$1 of=$2
    shift 2
    for program in "$folder/$set_name"/check_?; do
        grep -q '^1\.\.0$' "$logs/$set_name-${program##*_}.tap" ||
            start "$of-${program##*_}" "$tool" --tool "$of" --error-exitcode 99 "$program" "$@"
    done
}

# Random products, also under the tools that find what numbers do not show.
check_random() {
    checked random problems="$folder/random/specs" descriptor sizes paths calls
    devices random --problems="$folder/random/specs" --runs=10 repeat capture streams
    wait
    if [ "$tool" ]; then
        sanitized random memcheck problems="$folder/random/specs" sizes
        wait
        sanitized random racecheck problems="$folder/random/specs" sizes
        wait
    fi
}

# A few products: what shows an error soonest.
check_some() {
    checked narrow descriptor sizes paths calls
    devices narrow --runs=10 repeat capture streams
    wait
    if [ "$tool" ]; then
        sanitized narrow memcheck sizes
        wait
    fi
}

check_all() {
    narrow=${prefix}narrow
    checked "$narrow" descriptor sizes paths calls symmetry euler quotients
    checked "${prefix}golden" problems=tests/golden golden calls
    checked regress problems=tests/regress descriptor sizes paths calls
    checked sanitize sizes
    devices "$narrow" repeat capture streams
    [ -x "$folder/$narrow/types" ] && start types "$folder/$narrow/types"
    wait
    start device-crowd "$folder/$narrow/device" crowd
    wait
    start device-large "$folder/$narrow/device" large graphs multiply
    wait
    [ "$tool" ] || return
    for check in memcheck racecheck initcheck synccheck; do
        sanitized sanitize $check sizes
        start "$check-device" "$tool" --tool $check --error-exitcode 99 \
            "$folder/sanitize/device" --runs=2 repeat streams
        [ $check = racecheck ] && wait
    done
    start memcheck-graphs "$tool" --tool memcheck --error-exitcode 99 "$folder/sanitize/device" graphs
    wait
}

begin=$(date +%s)
if ! command -v "$tool" > /dev/null; then
    echo "# SKIP $tool is not there: no memcheck, racecheck, initcheck, synccheck"
    tool=
fi
case $prefix in
random) check_random ;;
some) check_some ;;
*) check_all ;;
esac

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
