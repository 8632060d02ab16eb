/* energy.h - a function of a library that has a generated product in it. */
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Half the sum of squares of a convolution's rows, and its derivative by x, which is written to gx. Edges
 * ascend by receiver; returns a negative number where something is wrong. */
double energy(int64_t nodes, int64_t edges, const int32_t *sender, const int32_t *receiver, const float *x,
              const float *y, const float *w, float *gx);

#ifdef __cplusplus
}
#endif
