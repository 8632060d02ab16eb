#!/bin/bash
# Measures the tables of docs/papers.md: generated kernels beside the libraries whose papers they are from, on one GPU.
#
#     tests/papers/run.sh fetch PARTS                     where there is a network: the libraries, for Python 3.12 and CUDA 13, as
#                                                         PARTS/papers.tar.xz (some 30 MB)
#     tests/papers/run.sh run PARTS RESULTS [TABLE[/LAYER]..]  where there are a GPU, nvcc, make, gcc, PyTorch and e3nn, and no network:
#                                                         unpacks them into RESULTS, builds all there is to build at once, and times
#                                                         the tables of rows.py (default: all), what matters most first
#
# RESULTS gets papers.tsv, written anew after each layer of a contender, and stability.tsv. It fails where a contender's own kernels
# did not run; one that cannot be built or has no package is left out by name. CGTPGEN names the generator (build/static/cgtpgen of
# make static needs no libyaml), PYTHON the Python that has PyTorch; PATIENCE are the seconds that all may take to get ready.
set -euo pipefail
cd "$(dirname "$0")/../.."
PYTHON=${PYTHON:-python3}
FLASHTP=https://github.com/SNU-ARC/flashTP/archive/refs/heads/main.tar.gz

fetch() {
    local parts work version
    parts=$(realpath -m "$1")
    work=$(mktemp -d)
    mkdir -p "$parts" "$work/wheels" "$work/site"
    version=(--no-deps --only-binary=:all: --python-version 3.12 --implementation cp)
    for libc in 2_17 2_24 2_27 2_28 2_34; do version+=(--platform "manylinux_${libc}_x86_64"); done
    $PYTHON -m pip download -q "${version[@]}" --platform manylinux2014_x86_64 -d "$work/wheels" cuequivariance==0.13.0 \
        cuequivariance-torch==0.13.0 cuequivariance-ops-torch-cu13==0.13.0 cuequivariance-ops-cu13==0.13.0 platformdirs e3nn==0.6.0
    for wheel in "$work"/wheels/*.whl; do $PYTHON -m zipfile -e "$wheel" "$work/site"; done
    # OpenEquivariance's own build wants a libtorch; its sources compile what they need when they are imported.
    $PYTHON -m pip download -q --no-deps --no-binary=:all: -d "$work" openequivariance==0.7.0
    tar -C "$work" -xf "$work"/openequivariance-*.tar.gz
    mkdir "$work/site/openequivariance-0.7.0.dist-info"
    cp "$work"/openequivariance-*/PKG-INFO "$work/site/openequivariance-0.7.0.dist-info/METADATA"
    cp -r "$work"/openequivariance-*/openequivariance "$work/site"
    if [ -n "${FLASHTP_SOURCE:-}" ]; then cp -r "$FLASHTP_SOURCE" "$work/flashtp"; else
        mkdir "$work/flashtp" && curl -sL "$FLASHTP" | tar -C "$work/flashtp" --strip-components=1 -xz
    fi
    tar -C "$work" -cf - site flashtp | xz -6 -T2 > "$parts/papers.tar.xz"
    rm -rf "$work"
    ls -l "$parts"
}

# FlashTP's own setup.py compiles one library after the other, and a third for LAMMPS; this is the same command for each file, all at
# once. FLAGS are its flags.
flashtp() {
    local source=$1 site=$2 objects=$3 include suffix kind file
    mkdir -p "$objects"
    include=$($PYTHON -c 'import sysconfig, torch.utils.cpp_extension as e
print(*(f"-isystem {p}" for p in [*e.include_paths(), sysconfig.get_paths()["include"]]))')
    suffix=$($PYTHON -c 'import sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX"))')
    for kind in large extcg; do
        for file in "$source/flashTP_e3nn/sptp_exp_opt_$kind"/*.c[pu]*; do
            [ "$(basename "$file")" != torch_register.cpp ] || continue
            # shellcheck disable=SC2086
            nvcc -std=c++20 -O2 -lineinfo -arch="${ARCH:-native}" -w -Xcompiler -fPIC -DTORCH_EXTENSION_NAME="flashtp_${kind}_kernel" \
                -DTORCH_API_INCLUDE_EXTENSION_H $include -c -o "$objects/${kind}_$(basename "$file").o" "$file" &
        done
    done
    wait
    for kind in large extcg; do
        nvcc -shared -o "$source/flashTP_e3nn/flashtp_${kind}_kernel$suffix" "$objects/${kind}"_*.o \
            -L"$($PYTHON -c 'import os, torch; print(os.path.dirname(torch.__file__))')/lib" -ltorch -ltorch_cuda -ltorch_cpu -ltorch_python -lc10
    done
    sed -i '/lammps import/d' "$source/flashTP_e3nn/flashTP.py"
    cp -r "$source/flashTP_e3nn" "$site"
}

run() {
    local parts results status=0
    parts=$(realpath -m "$1") results=$(realpath -m "$2")
    shift 2
    mkdir -p "$results/site"
    [ ! -f "$parts/papers.tar.xz" ] || tar -C "$results" -xJf "$parts/papers.tar.xz"
    export PYTHONPATH="$results/site:${PYTHONPATH:-}" OEQ_JIT_EXTENSION=1 PYTHONUNBUFFERED=1 PAPERS="$results/work" \
        CGTPGEN="${CGTPGEN:-$PWD/build/cgtpgen}"
    mkdir -p "$PAPERS"
    if [ -d "$results/flashtp" ] && command -v nvcc > /dev/null; then
        (flashtp "$results/flashtp" "$results/site" "$results/flashtp_objects" > "$results/flashtp.log" 2>&1 ||
            echo "# FlashTP is not built: see flashtp.log"; touch "$PAPERS/flashtp.built") &
    else
        touch "$PAPERS/flashtp.built"
    fi
    $PYTHON -W ignore tests/papers/bench.py run "$results" "$@" || status=$?
    wait
    return $status
}

case ${1:-} in
fetch) fetch "$2" ;;
run) shift; run "$@" ;;
*) sed -n '2,14s/^# \{0,1\}//p' "$0"; exit 1 ;;
esac
