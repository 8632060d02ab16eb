/* fragments.h - cgtp_mma with each element where PTX ISA has it, for the shim and for a GPU: the tables of
 * mma.m16n8k8 for .tf32 and of mma.m8n8k4 for .f64, of which one call makes four. Included after cgtp_cuda.h.
 */
#ifndef TEST_FRAGMENTS_H
#define TEST_FRAGMENTS_H

/* d = c + a b, where a is 16 by 8, b 8 by 8, c and d are 16 by 8. */
template <typename T> CGTP_KERNEL(32, 1) fragments_kernel(const T *a, const T *b, const T *c, T *d)
{
    const int group = cgtp_lane() >> 2, thread = cgtp_lane() % 4; /* groupID, threadID_in_group */
    T of_a[4], of_b[2], of_c[4];
    for (int i = 0; i < 4; i++) {
        const int row = i == 0 || i == 2 ? group : group + 8, column = i < 2 ? thread : thread + 4;
        of_a[i] = a[row * 8 + column];
    }
    for (int i = 0; i < 2; i++)
        of_b[i] = b[(i == 0 ? thread : thread + 4) * 8 + group];
    for (int i = 0; i < 4; i++)
        of_c[i] = c[(i < 2 ? group : group + 8) * 8 + thread * 2 + (i & 1)];
    cgtp_mma(of_c, of_a, of_b);
    for (int i = 0; i < 4; i++)
        d[(i < 2 ? group : group + 8) * 8 + thread * 2 + (i & 1)] = of_c[i];
}

/* Small integers, all different in the pattern of their products: every precision has the sums exactly. */
template <typename T> static void fragments_fill(T *a, T *b, T *c)
{
    for (int i = 0; i < 128; i++)
        a[i] = (T)(i * i % 67 - 33), c[i] = (T)(i * 13 % 101 - 50);
    for (int i = 0; i < 64; i++)
        b[i] = (T)(i * i % 59 * 3 % 47 - 23);
}

/* How many elements of d are wrong. */
template <typename T> static int fragments_wrong(const T *a, const T *b, const T *c, const T *d)
{
    int wrong = 0;
    for (int i = 0; i < 128; i++) {
        T sum = c[i];
        for (int k = 0; k < 8; k++)
            sum += a[i / 8 * 8 + k] * b[k * 8 + i % 8];
        wrong += d[i] != sum;
    }
    return wrong;
}

#endif
