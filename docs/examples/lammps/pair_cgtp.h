/* pair_cgtp.h - pair style cgtp of LAMMPS: the potential of ../md on atoms that are spread over processors.
 *
 *     units         metal
 *     newton        on
 *     pair_style    cgtp
 *     pair_coeff    * * C        # all types are carbon
 */
#ifdef PAIR_CLASS
// clang-format off
PairStyle(cgtp,PairCGTP);
// clang-format on
#else

#ifndef LMP_PAIR_CGTP_H
#define LMP_PAIR_CGTP_H

#include "pair.h"

#include <memory>

namespace LAMMPS_NS
{

class PairCGTP : public Pair
{
  public:
    PairCGTP(class LAMMPS *);
    ~PairCGTP() override;
    void settings(int, char **) override;
    void coeff(int, char **) override;
    void init_style() override;
    double init_one(int, int) override;
    void compute(int, int) override;

    /* Rows of features, from atoms to their ghosts and back. */
    int pack_forward_comm(int, int *, double *, int, int *) override;
    void unpack_forward_comm(int, int, double *) override;
    int pack_reverse_comm(int, int, double *) override;
    void unpack_reverse_comm(int, int *, double *) override;

  private:
    struct model;
    std::unique_ptr<model> model_;

    void collect();
    void request_full_list();
    void forward_rows();
    void reverse_rows();
};

} // namespace LAMMPS_NS

#endif
#endif
