#!/bin/bash
# Measures models with generated kernels (bench.py) on a machine with a GPU and nvcc, but without network or packages of models.
#
#     tests/models/offline.sh fetch PARTS [PYTHON]    where there is a network: wheels for Python 3.12, or PYTHON, of what an
#                                                     installation of PyTorch with e3nn, lightning, torch-geometric,
#                                                     scikit-learn, pybind11 lacks, as PARTS/part.aa, .. of 33 MB at most
#     tests/models/offline.sh run PARTS RESULTS [MODEL..]    there: unpacks them into RESULTS, builds kernels, and times
#                                                     models: mace nequip sevennet, or those that are named
#
# RESULTS gets bench.tsv, written anew after each contender. The last lines are microseconds an atom of each force step. It
# fails where a contender's own kernels did not run. CGTPGEN names the generator (build/static/cgtpgen of make static needs no
# libyaml), PYTHON the Python that has PyTorch.
set -euo pipefail
cd "$(dirname "$0")/../.."
PYTHON=${PYTHON:-python3}
PARTS=$(realpath -m "${2:-parts}")

fetch() {
    local work version=$1
    work=$(mktemp -d)
    mkdir -p "$PARTS" "$work/wheels/all" "$work/wheels/mace" "$work/wheels/source"
    set -- --no-deps --only-binary=:all: --python-version "${version:-3.12}" --implementation cp
    for libc in 2_17 2_24 2_27 2_28 2_31 2_34 2_35 2_39; do set -- "$@" --platform "manylinux_${libc}_x86_64"; done
    set -- "$@" --platform manylinux2014_x86_64 --platform manylinux1_x86_64
    $PYTHON -m pip download -q "$@" -d "$work/wheels/all" ase matscipy nequip==0.19.1 nequip-allegro==0.8.3 sevenn==0.13.0 \
        e3nn==0.6.0 torch-ema prettytable wcwidth configargparse GitPython gitdb smmap orjson hydra-core==1.3.2 \
        omegaconf==2.3.0 lmdb braceexpand cuequivariance==0.13.0 cuequivariance-torch==0.13.0 \
        cuequivariance-ops-torch-cu13==0.13.0 cuequivariance-ops-cu13==0.13.0 platformdirs
    $PYTHON -m pip download -q "$@" -d "$work/wheels/mace" mace-torch==0.3.16 e3nn==0.4.4
    $PYTHON -m pip wheel -q --no-deps -w "$work/wheels/all" antlr4-python3-runtime==4.9.3 python-hostlist
    # OpenEquivariance's own build wants a libtorch; its sources compile what they need when they are imported.
    $PYTHON -m pip download -q --no-deps --no-binary=:all: -d "$work" openequivariance==0.7.0
    tar -C "$work" -xf "$work"/openequivariance-*.tar.gz
    mkdir "$work/wheels/source/openequivariance-0.7.0.dist-info"
    cp "$work"/openequivariance-*/PKG-INFO "$work/wheels/source/openequivariance-0.7.0.dist-info/METADATA"
    cp -r "$work"/openequivariance-*/openequivariance "$work/wheels/source"
    # Of the trained models l3i5 alone is timed.
    $PYTHON - "$work"/wheels/all/sevenn-*.whl <<'EOF'
import os, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as old, zipfile.ZipFile(sys.argv[1] + '.new', 'w', zipfile.ZIP_DEFLATED) as new:
    for name in old.namelist():
        if not name.endswith('.pth') or 'l3i5' in name:
            new.writestr(name, old.read(name))
os.replace(sys.argv[1] + '.new', sys.argv[1])
EOF
    rm -f "$PARTS"/part.*
    tar -C "$work" -cf - wheels | split -b 33m - "$PARTS/part."
    rm -rf "$work"
    ls -l "$PARTS"
}

run() {
    local results model path builds=() status=0 site
    results=$(realpath -m "$1")
    shift
    site=$results/site
    mkdir -p "$site"
    cat "$PARTS"/part.* | tar -C "$results" -xf -
    for part in all mace; do
        $PYTHON -m pip install -q --no-index --no-deps --no-compile --upgrade --target "$site/$part" "$results/wheels/$part"/*.whl
    done
    cp -r "$results"/wheels/source/* "$site/all"
    export PYTHONPATH="$site/all" MODELS_MACE="$site/mace" MODELS="$results/work" OEQ_JIT_EXTENSION=1 PYTHONUNBUFFERED=1 \
        CGTPGEN="${CGTPGEN:-$PWD/build/cgtpgen}"
    [ $# -gt 0 ] || set -- mace nequip sevennet
    for model; do
        path=$PYTHONPATH
        [ "$model" != mace ] || path="$site/mace:$path"
        PYTHONPATH=$path $PYTHON -W ignore tests/models/bench.py build "$model" &
        builds+=($!)
    done
    for build in "${builds[@]}"; do wait "$build"; done
    PATIENCE=${PATIENCE:-200} $PYTHON -W ignore tests/models/bench.py run "$@" "$results/bench.tsv" || status=$?
    $PYTHON tests/models/bench.py atoms "$results/bench.tsv"
    return $status
}

case ${1:-} in
fetch) fetch "${3:-}" ;;
run) shift 2; run "$@" ;;
*) sed -n '2,14s/^# \{0,1\}//p' "$0"; exit 1 ;;
esac
