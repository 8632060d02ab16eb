#!/bin/bash
# Measures the tables of docs/papers.md: generated kernels beside the libraries whose papers they are from, on one GPU.
#
#     tests/papers/run.sh fetch PARTS                     where there is a network: the libraries, for Python 3.12 and CUDA 13, as
#                                                         PARTS/papers.tar.xz (some 30 MB)
#     tests/papers/run.sh compile PARTS [TABLE[/LAYER]..] where there are nvcc and CGTP_TORCH, the folder of the PyTorch that the GPU's
#                                                         machine has: what else would be compiled there, as PARTS/compiled.tar.xz.
#                                                         PYTHON_INCLUDE: where that machine's Python.h is, ARCH=sm_90: its GPU
#     tests/papers/run.sh run PARTS RESULTS [TABLE[/LAYER][=SECONDS]..]  where there are a GPU, PyTorch, e3nn (and nvcc, make, gcc for
#                                                         what is not compiled), and no network: unpacks them into RESULTS, and times
#                                                         the tables of rows.py (default: all), what matters most first
#
# RESULTS gets papers.tsv and stability.tsv, written anew all the time; it ends after LIMIT seconds (default: an hour). It fails where a
# contender's own kernels did not run; one that cannot be built or has no package is left out by name. CGTPGEN names the generator
# (build/static/cgtpgen of make static needs no libyaml), PYTHON the Python that has PyTorch. KNOWN="FILE.tsv.." are results of earlier
# runs on such a GPU: what they lack is measured. All of PARTS/*.tar.xz is unpacked; RESULTS/nvrtc is what cuEquivariance compiled: where
# PARTS has that as nvrtc.tar.xz, it is not compiled again. bench.py says more.
set -euo pipefail
cd "$(dirname "$0")/../.."
PYTHON=${PYTHON:-python3}
FLASHTP=https://github.com/SNU-ARC/flashTP/archive/d52e41454afc9636cd51757b65df44e7bcdca178.tar.gz
export CGTPGEN="${CGTPGEN:-$PWD/build/cgtpgen}" OEQ_JIT_EXTENSION=1 PYTHONUNBUFFERED=1

fetch() {
    local parts work version
    parts=$(realpath -m "$1")
    work=$(mktemp -d)
    mkdir -p "$parts" "$work/wheels" "$work/site"
    version=(--no-deps --only-binary=:all: --python-version 3.12 --implementation cp)
    for libc in 2_17 2_24 2_27 2_28 2_34; do version+=(--platform "manylinux_${libc}_x86_64"); done
    $PYTHON -m pip download -q "${version[@]}" --platform manylinux2014_x86_64 -d "$work/wheels" cuequivariance==0.13.0 \
        cuequivariance-torch==0.13.0 cuequivariance-ops-torch-cu13==0.13.0 cuequivariance-ops-cu13==0.13.0 platformdirs e3nn==0.6.0 pybind11
    for wheel in "$work"/wheels/*.whl; do $PYTHON -m zipfile -e "$wheel" "$work/site"; done
    # The caches and headers are of layers and programs that are not here.
    rm -rf "$work"/site/cuequivariance_ops/triton/cache "$work"/site/{docs,examples,lib64}
    # OpenEquivariance's own build wants a libtorch; its sources compile what they need when they are imported.
    $PYTHON -m pip download -q --no-deps --no-binary=:all: -d "$work" openequivariance==0.7.0
    tar -C "$work" -xf "$work"/openequivariance-*.tar.gz
    mkdir "$work/site/openequivariance-0.7.0.dist-info"
    cp "$work"/openequivariance-*/PKG-INFO "$work/site/openequivariance-0.7.0.dist-info/METADATA"
    cp -r "$work"/openequivariance-*/openequivariance "$work/site"
    mkdir "$work/flashtp"
    if [ -n "${FLASHTP_SOURCE:-}" ]; then cp -r "$FLASHTP_SOURCE/." "$work/flashtp"
    elif ! curl -fsSL "$FLASHTP" | tar -C "$work/flashtp" --strip-components=1 -xz; then
        echo "run.sh: FlashTP is left out, as $FLASHTP cannot be read; FLASHTP_SOURCE may name a folder that has it" >&2
    fi
    tar -C "$work" -cf - site flashtp | xz -6 -T2 > "$parts/papers.tar.xz"
    rm -rf "$work"
    ls -l "$parts"
}

# What programs for PyTorch and Python are compiled with: TORCH is its folder.
torch_flags() {
    TORCH=${CGTP_TORCH:-$($PYTHON -c 'import os, torch; print(os.path.dirname(torch.__file__))')}
    FLAGS="-isystem $TORCH/include -isystem $TORCH/include/torch/csrc/api/include -isystem $(dirname "$(dirname "$(command -v nvcc)")")/include
        -isystem ${PYTHON_INCLUDE:-$($PYTHON -c 'import sysconfig; print(sysconfig.get_paths()["include"])')}"
}

# FlashTP's own setup.py compiles one library after the other, with float64, and a third for LAMMPS; this is the same command for each
# file that float32 needs, JOBS at once.
flashtp() {
    local source=$1 site=$2 kind file
    OBJECTS=$3
    mkdir -p "$OBJECTS"
    torch_flags
    export OBJECTS FLAGS
    export -f flashtp_file
    for kind in large extcg; do
        for file in "$source/flashTP_e3nn/sptp_exp_opt_$kind"/*.c[pu]*; do
            case $file in *_double.cu | */torch_register.cpp) ;; *) printf '%s\0' "$kind" "$file" ;; esac
        done
    done | xargs -0 -P "${JOBS:-16}" -n 2 bash -c 'flashtp_file "$@"' sh
    for kind in large extcg; do
        nvcc -shared -Xlinker -z -Xlinker lazy -o "$source/flashTP_e3nn/flashtp_${kind}_kernel.so" "$OBJECTS/${kind}"_*.o \
            -L"$TORCH/lib" -ltorch -ltorch_cuda -ltorch_cpu -ltorch_python -lc10
    done
    sed -i '/lammps import/d' "$source/flashTP_e3nn/flashTP.py"
    cp -r "$source/flashTP_e3nn" "$site"
}

flashtp_file() {
    local made
    made=$OBJECTS/$1_$(basename "$2").o
    [ -e "$made" ] && return
    # shellcheck disable=SC2086
    nvcc -std=c++20 -O2 -lineinfo -arch="${ARCH:-native}" -w -Xcompiler -fPIC -DTORCH_EXTENSION_NAME="flashtp_$1_kernel" \
        -DTORCH_API_INCLUDE_EXTENSION_H $FLAGS -c -o "$made.new" "$2" && mv "$made.new" "$made"
}

# What OpenEquivariance compiles when it is imported.
openequivariance() {
    local site=$1 source="$1/openequivariance/extension"
    torch_flags
    # shellcheck disable=SC2086
    g++ -std=c++20 -O2 -fPIC -shared -w -DTORCH_EXTENSION_NAME=libtorch_tp_jit -DTORCH_API_INCLUDE_EXTENSION_H -DCUDA_BACKEND $FLAGS \
        -I"$source" -I"$source/backend" -I"$source/json11" -isystem "$site/pybind11/include" -o "$site/libtorch_tp_jit.so" \
        "$source/libtorch_tp_jit.cpp" "$source/json11/json11.cpp" -L"$TORCH/lib" -L"$(dirname "$(command -v nvcc)")/../lib64" \
        -L"$(dirname "$(command -v nvcc)")/../lib64/stubs" -lc10 -lc10_cuda -ltorch_cpu -ltorch -lcuda -lcudart -lnvrtc -lcublas
}

compile() {
    local parts work
    parts=$(realpath -m "$1") work=$(realpath -m "$1/compile")
    shift
    mkdir -p "$work"
    ARCH=${ARCH:-sm_90}
    export ARCH CGTP_CUDA_ARCHS="${ARCH#sm_}" PAPERS="$work/work"
    $PYTHON tests/papers/bench.py build "$@"
    [ -d "$work/site" ] || tar -C "$work" -xJf "$parts/papers.tar.xz"
    [ -e "$work/site/libtorch_tp_jit.so" ] || openequivariance "$work/site"
    [ ! -e "$work/flashtp/setup.py" ] || [ -d "$work/site/flashTP_e3nn" ] || flashtp "$work/flashtp" "$work/site" "$work/objects"
    # The largest dictionary, and like beside like: all have the same runtime.
    (cd "$work" && find site -maxdepth 1 '(' -name libtorch_tp_jit.so -o -name flashTP_e3nn ')' &&
        find work/ours -name '*.so' | sort && find work/ours -type f ! -name '*.so') |
        tar -C "$work" --exclude='*.cu' --exclude='*.cpp' -cf - -T - | xz -9e > "$parts/compiled.tar.xz"
    ls -l "$parts"
}

run() {
    local parts results status=0
    parts=$(realpath -m "$1") results=$(realpath -m "$2")
    shift 2
    mkdir -p "$results/site"
    mkdir -p "$results/nvrtc"
    for part in "$parts"/*.tar.xz; do  # a later name's files stand
        [ ! -f "$part" ] || tar -C "$results" -xJf "$part"
    done
    export CUEQUIVARIANCE_OPS_NVRTC_CACHE_DIR="$results/nvrtc"
    export PYTHONPATH="$results/site:${PYTHONPATH:-}" PAPERS="$results/work"
    mkdir -p "$PAPERS"
    if [ -e "$results/flashtp/setup.py" ] && [ ! -d "$results/site/flashTP_e3nn" ] && command -v nvcc > /dev/null; then
        (flashtp "$results/flashtp" "$results/site" "$results/flashtp_objects" > "$results/flashtp.log" 2>&1 ||
            echo "# FlashTP is not built: see flashtp.log"; touch "$PAPERS/flashtp.built") &
    else
        touch "$PAPERS/flashtp.built"
    fi
    $PYTHON -W ignore tests/papers/bench.py run "$results" "$@" || status=$?
    [ -z "$(jobs -p)" ] || kill "$(jobs -p)" 2> /dev/null || true
    return $status
}

case ${1:-} in
fetch) fetch "$2" ;;
compile) shift; compile "$@" ;;
run) shift; run "$@" ;;
*) sed -n '2,17s/^# \{0,1\}//p' "$0"; exit 1 ;;
esac
