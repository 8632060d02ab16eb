/* lmp_cgtp.cpp - LAMMPS with the pair style cgtp, linked with a LAMMPS library that does not have it: no part
 * of LAMMPS is built again. Its command line is that of LAMMPS: lmp_cgtp -in in.carbon
 */
#include "pair_cgtp.h"

#include "force.h"
#include "input.h"
#include "lammps.h"

#include <mpi.h>

using namespace LAMMPS_NS;

static Pair *create(LAMMPS *lammps)
{
    return new PairCGTP(lammps);
}

int main(int count, char **argument)
{
    MPI_Init(&count, &argument);
    {
        LAMMPS lammps(count, argument, MPI_COMM_WORLD);
        (*lammps.force->pair_map)["cgtp"] = create;
        lammps.input->file();
    }
    MPI_Finalize();
    return 0;
}
