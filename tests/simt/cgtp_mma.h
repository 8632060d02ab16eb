/* cgtp_mma.h - the interface of runtime/cgtp_mma.h for the CPU. */
#ifndef CGTP_MMA_H
#define CGTP_MMA_H

namespace
{

CGTP_DEVICE void cgtp_launch_beside(void) { simt_launch_beside(); }
CGTP_DEVICE real cgtp_opaque(real value) { return value; }
CGTP_DEVICE int cgtp_opaque(int value) { return value; }

CGTP_DEVICE float cgtp_tf32(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits = (bits + 0x1000) & ~0x1fffu;
    memcpy(&value, &bits, sizeof bits);
    return value;
}

/* Of floats only what TF32 has is multiplied, and sums lose what does not fit: no lane may rely on more. */
CGTP_DEVICE void cgtp_mma(float (&d)[4], const float (&a)[4], const float (&b)[2])
{
    simt_multiply(d, a, b);
}
CGTP_DEVICE void cgtp_mma(double (&d)[4], const double (&a)[4], const double (&b)[2])
{
    simt_multiply(d, a, b);
}

} // namespace

#endif
