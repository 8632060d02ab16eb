#!/bin/bash
# Measures models with generated kernels (bench.py) on a machine with a GPU and nvcc, but without network or packages of models.
#
#     tests/models/offline.sh fetch PARTS [PYTHON]    where there is a network: wheels for Python 3.12, or PYTHON, of what an
#                                                     installation of PyTorch with e3nn, lightning, torch-geometric
#                                                     and scikit-learn lacks, as parts of 30 MB at most:
#                                                     PARTS/models.aa, .., and PARTS/cueq.aa, .. of cuEquivariance, without
#                                                     which all else is measured. FLASHTP: a checkout of FlashTP, to take that, too
#     tests/models/offline.sh run PARTS RESULTS [SYSTEM..]    there: unpacks them into RESULTS, builds kernels, and times
#                                                     bench.py's systems that are named, or mace nequip sevennet
#
# RESULTS gets bench.tsv, written anew after each contender, and logs of builds; what RESULTS/build has is not built again. The
# last lines are microseconds an atom of each force step. It fails where a contender's own kernels did not run, but measures
# all others. CGTPGEN names the generator (build/static/cgtpgen of make static needs no libyaml), PYTHON the Python that has
# PyTorch.
set -euo pipefail
PYTHON=${PYTHON:-python3}
PARTS=$(realpath -m "${2:-parts}") RESULTS=$(realpath -m "${3:-results}")
cd "$(dirname "$0")/../.."

fetch() {
    local work version=$1
    work=$(mktemp -d)
    mkdir -p "$PARTS" "$work/wheels/all" "$work/wheels/mace" "$work/wheels/source" "$work/cueq"
    set -- --no-deps --only-binary=:all: --python-version "${version:-3.12}" --implementation cp
    for libc in 2_17 2_24 2_27 2_28 2_31 2_34 2_35 2_39; do set -- "$@" --platform "manylinux_${libc}_x86_64"; done
    set -- "$@" --platform manylinux2014_x86_64 --platform manylinux1_x86_64
    $PYTHON -m pip download -q "$@" -d "$work/wheels/all" ase matscipy nequip==0.19.1 nequip-allegro==0.8.3 sevenn==0.13.0 \
        e3nn==0.6.0 torch-ema prettytable wcwidth configargparse GitPython gitdb smmap orjson hydra-core==1.3.2 \
        omegaconf==2.3.0 lmdb braceexpand cuequivariance==0.13.0 cuequivariance-torch==0.13.0 platformdirs pybind11 ninja
    $PYTHON -m pip download -q "$@" -d "$work/wheels/mace" mace-torch==0.3.16 e3nn==0.4.4
    $PYTHON -m pip wheel -q --no-deps -w "$work/wheels/all" antlr4-python3-runtime==4.9.3 python-hostlist
    # OpenEquivariance's own build wants a libtorch; its sources compile what they need when they are imported.
    $PYTHON -m pip download -q --no-deps --no-binary=:all: -d "$work" openequivariance==0.7.0
    tar -C "$work" -xf "$work"/openequivariance-*.tar.gz
    mkdir "$work/wheels/source/openequivariance-0.7.0.dist-info"
    cp "$work"/openequivariance-*/PKG-INFO "$work/wheels/source/openequivariance-0.7.0.dist-info/METADATA"
    cp -r "$work"/openequivariance-*/openequivariance "$work/wheels/source"
    [ -z "${FLASHTP:-}" ] || cp -r "$FLASHTP/flashTP_e3nn" "$work/wheels/source"
    # Of the trained models l3i5 alone is timed.
    $PYTHON - "$work"/wheels/all/sevenn-*.whl <<'EOF'
import os, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as old, zipfile.ZipFile(sys.argv[1] + '.new', 'w', zipfile.ZIP_DEFLATED) as new:
    for name in old.namelist():
        if not name.endswith('.pth') or 'l3i5' in name:
            new.writestr(name, old.read(name))
os.replace(sys.argv[1] + '.new', sys.argv[1])
EOF
    # Libraries for a dozen architectures: xz makes them smaller than wheels are. The caches are of layers that no model here has.
    $PYTHON -m pip download -q "$@" -d "$work" cuequivariance-ops-torch-cu13==0.13.0 cuequivariance-ops-cu13==0.13.0
    for wheel in "$work"/cuequivariance_ops*.whl; do $PYTHON -m zipfile -e "$wheel" "$work/cueq"; done
    rm -rf "$work/cueq/cuequivariance_ops/triton/cache" "$PARTS"/models.?? "$PARTS"/cueq.??
    tar -C "$work" -cf - wheels | split -b 30m - "$PARTS/models."
    tar -C "$work" -cf - cueq | xz -T0 -6 | split -b 30m - "$PARTS/cueq."
    rm -rf "$work"
    ls -l "$PARTS"
}

# unpack INTO PARTS..: a tar file in parts, compressed or not.
unpack() {
    local into=$1
    shift
    cat "$@" | $PYTHON -c 'import sys, tarfile
tarfile.open(fileobj=sys.stdin.buffer, mode="r|*").extractall(sys.argv[1], filter="tar")' "$into"
}

# flashtp PACKAGE BUILD: FlashTP's own setup compiles four libraries in turn, for minutes; this makes the one that models need, unless
# the package has it (as `tests/papers/run.sh compile` leaves it).
flashtp() {
    [ ! -e "$1/flashtp_large_kernel.so" ] || return 0
    sed -i '/_lammps import\|_extcg import/d' "$1/flashTP.py"
    mkdir -p "$2"
    timeout 200 $PYTHON - "$@" <<'EOF'
import glob, shutil, sys
from torch.utils.cpp_extension import load
package, build = sys.argv[1:]
folder = f'{package}/sptp_exp_opt_large'
load(name='flashtp_large_kernel', sources=[f'{folder}/python_pybind.cpp', f'{folder}/sptp_exp_opt_large.cpp',
     *glob.glob(f'{folder}/*.cu')], extra_cuda_cflags=['-O2'], build_directory=build, is_python_module=False)
shutil.copy(f'{build}/flashtp_large_kernel.so', package)
EOF
}

run() {
    local results=$RESULTS site path model part status=0
    [ $# -gt 0 ] || set -- mace nequip sevennet
    site=$results/build/site
    rm -rf "$site" "$results/build/wheels" "$results/build/cueq"
    mkdir -p "$site"
    unpack "$results/build" "$PARTS"/models.??
    for part in all mace; do
        $PYTHON -m pip install -q --no-index --no-deps --no-compile --target "$site/$part" "$results/build/wheels/$part"/*.whl
    done
    cp -a "$results"/build/wheels/source/. "$site/all"
    if unpack "$results/build" "$PARTS"/cueq.?? 2> /dev/null; then cp -r "$results"/build/cueq/* "$site/all"; fi
    export PYTHONPATH="$site/all" MODELS_MACE="$site/mace" MODELS="$results/build/work" PYTHONUNBUFFERED=1 \
        OEQ_JIT_EXTENSION=1 TORCH_EXTENSIONS_DIR="$results/build/extensions" PATH="$site/all/bin:$PATH" CGTPGEN="${CGTPGEN:-$PWD/build/cgtpgen}"
    TORCH_CUDA_ARCH_LIST=${TORCH_CUDA_ARCH_LIST:-$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -n 1)}
    export TORCH_CUDA_ARCH_LIST
    for model; do
        path=$PYTHONPATH
        case $model in +) continue ;; mace*) path="$site/mace:$path" ;; esac
        PYTHONPATH=$path $PYTHON -W ignore tests/models/bench.py build "$model" > "$results/build_$model.log" 2>&1 &
    done
    for model in ${CHECKS:-}; do
        path=$PYTHONPATH
        case $model in mace) path="$site/mace:$path" ;; esac
        PYTHONPATH=$path timeout "${CHECKS_LIMIT:-300}" $PYTHON -W ignore tests/models/check.py --device=cuda "$model" "$results/build/checks" \
            > "$results/check_$model.log" 2>&1 || echo "# check.py of $model fails, status $?" &
    done
    $PYTHON -c 'import openequivariance' > "$results/build_openequivariance.log" 2>&1 &
    part=$site/all/flashTP_e3nn
    if [ -d "$part" ]; then flashtp "$part" "$results/build/flashtp" > "$results/build_flashtp.log" 2>&1 || mv "$part" "$part.failed" & fi
    wait
    echo "# built after $SECONDS s"
    tail -n 2 "$results"/build_*.log
    [ -z "${CHECKS:-}" ] || grep -c '^ok' "$results"/check_*.log || true
    [ -z "${CHECKS:-}" ] || grep -h '^not ok\|largest diff\|^# NVE' "$results"/check_*.log || true
    PATIENCE=${PATIENCE:-200} $PYTHON -W ignore tests/models/bench.py run "$@" "$results/bench.tsv" || status=$?
    $PYTHON tests/models/bench.py atoms "$results/bench.tsv"
    return $status
}

case ${1:-} in
fetch) fetch "${3:-}" ;;
run) shift 3; run "$@" ;;
*) sed -n '2,17s/^# \{0,1\}//p' "$0"; exit 1 ;;
esac
