/* neigh_request.h - the first members of a request for neighbours in LAMMPS of 29 September 2021, whose
 * header Debian 12's liblammps-dev leaves out. Requests are made by LAMMPS; only their flags are set. */
#ifndef LMP_NEIGH_REQUEST_H
#define LMP_NEIGH_REQUEST_H

#include "pointers.h"

namespace LAMMPS_NS
{

class NeighRequest : protected Pointers
{
  public:
    int index;
    void *requestor;
    int requestor_instance, id;
    int pair, fix, compute, command, neigh; /* who asks */
    int half, full;
};

} // namespace LAMMPS_NS

#endif
