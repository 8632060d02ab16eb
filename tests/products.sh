# products.sh - sourced by scripts that check generated products: builds and runs one program for many specs.
#
#     check_products NAME 'FLAGS' 'FILTER' 'SPECS' [problems=FOLDER] KIND...
#
# FLAGS compile what is generated; FILTER (a command) changes each spec on its way to
# BUILD/products/NAME/specs. The program prints TAP (tests/check_main.c says what the kinds are). With
# SANITIZE's build the products are sanitized too.

BUILD=${BUILD:-build}
CGTPGEN=${CGTPGEN:-$BUILD/cgtpgen}
CC=${CC:-gcc}
export BUILD CGTPGEN CC

check_products()
{
    folder=$BUILD/products/$1 flags=$2 filter=$3 specs=$4
    shift 4
    case $BUILD in
    */san) flags="$flags -g -fsanitize=address,undefined -fno-sanitize-recover=all" ;;
    esac
    if ! FILTER=$filter make -f tests/products.mk DIR="$folder" SPECS="$specs" FLAGS="$flags" >&2; then
        echo "not ok 1 - $folder/check was not built" # before any other line of TAP
        exit 1
    fi
    "$folder/check" "$@"
}

# Lets what follows be compiled, with $quick, by what takes least time: tcc, a tenth of clang's, where clang is there to
# warn of what it reads; or clang: without optimisation it takes half of gcc's time, and less where it need not look for
# multiply-adds, which there are none of without -march. Sanitized objects are all of one compiler.
quick=-O0
quick_compiler()
{
    case $BUILD in
    */san) return ;;
    esac
    command -v clang > /dev/null || return
    CC=clang quick='-O0 -ffp-contract=off'
    ! command -v tcc > /dev/null || CC=tcc quick=
}

# Adds a suffix to the name and makes the precision float32.
single="sed -e 's/^name: .*/&_f32/' -e 's/^precision: .*/precision: float32/'"

# Adds a suffix to the name and changes the layout: of all rows, of those of x, of y and z (check_golden.c).
irmul="sed -e 's/^name: .*/&_irmul/' -e 's/^instructions:/layout: ir_mul\n&/'"
irmulx="sed -e 's/^name: .*/&_irmulx/' -e 's/^instructions:/layout: {x: ir_mul}\n&/'"
irmulyz="sed -e 's/^name: .*/&_irmulyz/' -e 's/^instructions:/layout: {y: ir_mul, x: mul_ir, z: ir_mul}\n&/'"

# The kernels that take least time to compile, for the largest products.
three='kernels: [forward, backward, double_backward]'
