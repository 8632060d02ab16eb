# types.sh - sourced, after tests/products.sh, by scripts that check other types than float32 and float64.

# Adds a suffix to the name, by which tests/check_golden.c knows what is expected, and makes it the types.
types_filter()
{
    printf '%s\n' "sed -e '/^precision:/d' -e 's/^name: .*/&_$1/' -e 's/^instructions:/precision: $2"'\n&'"/'"
}
bfloat16=$(types_filter bf16 bfloat16)
float16=$(types_filter f16 float16)
mixed=$(types_filter each '{x: bfloat16, z: float16, w: float64, compute: float32, sum: float64}')
narrow=$(types_filter narrow '{x: float16, y: bfloat16, compute: float64}')
device=$(types_filter device '{x: float16, w: bfloat16, z: float64, compute: float32}')
sum64=$(types_filter sum64 '{sum: float64}')
