/* problem.h - one tensor product as mathematics: irreps, paths with their exact coefficients, the weight
 * layout.
 *
 * The contract is e3nn's o3.TensorProduct: same modes, weights in the same order, same normalisations.
 */
#ifndef CGTPGEN_PROBLEM_H
#define CGTPGEN_PROBLEM_H

#include "spec/spec.h"
#include "algebra/wigner.h"

/* One instruction. Q gets, for its multiplicity indices (u, v, w) tied by mode and for every nonzero of cg,
 * coefficient * C[i,j,k] * x[u,i] * y[v,j] * w[..] * g[..,k]. */
struct path {
    int number;  /* position in the list of instructions */
    int x, y, z; /* segments */
    int mul_x, mul_y, mul_z;
    int l1, l2, l3;
    enum mode mode;
    bool weighted;
    struct rat path_weight;
    struct surd coefficient; /* a_p > 0, or zero where path_weight is: the path then contributes nothing */
    int64_t weight_offset;   /* of its block in the flattened weights (weighted paths only) */
    int64_t weight_numel;    /* 0 where not weighted */
    const struct cg *cg;
};

struct problem {
    const struct spec *spec;
    struct irreps x, y, z; /* after the sugar: what the kernels see */
    int paths;
    struct path *path;
    int64_t weight_numel;    /* elements of a row of weights */
    int64_t dim[SLOT_COUNT]; /* row lengths of x, y, w, z */
};

/* Expands sugar, checks every instruction (reporting through diag), computes coefficients and weight offsets.
 * Returns NULL when anything was wrong. */
struct problem *problem_build(struct arena *, struct wigner *, const struct spec *, struct diag *);

/* A tensor, and how many paths have it. */
struct coupling {
    const struct cg *cg;
    int paths;
};

/* Those in use, by (l1, l2, l3). Returns their number. */
int problem_couplings(struct arena *, const struct problem *, struct coupling **);

/* The irreps of slot x, y or g. */
const struct irreps *slot_irreps(const struct problem *, enum slot);

/* Shape of a path's weight block as e3nn's: (u,v,w) for uvw, (u,v) ...; returns the rank 1..3. */
int path_weight_shape(const struct path *, int shape[3]);

/* Elements of the weight block from one channel of x, y or z, or one pair of channels, to the next; 0 where
 * weights do not depend on the channel. */
int64_t path_weight_step(const struct path *, enum slot);

/* The path's multiplicity, degree in slot x, y or g. */
int path_mul(const struct path *, enum slot);
int path_degree(const struct path *, enum slot);

#endif
