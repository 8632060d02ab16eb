/* pair_cgtp.cpp - see pair_cgtp.h.
 *
 * Edges end at this processor's atoms and begin at any atom that it knows, so that layers have a row of x and
 * h for each atom and ghost and a row of what they sum for each atom. What a ghost is to others goes by
 * LAMMPS's communication:
 *
 *     layer1 forward     h of own atoms         -> forward_comm: h of ghosts
 *     layer2 backward    gh of atoms, ghosts    -> reverse_comm: ghosts' part is added to their atoms'
 *     forces             on atoms, ghosts       -> LAMMPS does the same with them, with newton on
 *
 * so that ghosts are needed within one cutoff, however many layers there are.
 */
#include "pair_cgtp.h"
#include "potential.h"

#include "atom.h"
#include "comm.h"
#include "error.h"
#include "force.h"
#include "memory.h"
#include "neigh_list.h"
#include "neighbor.h"
#include "update.h"

#include <cstring>

#ifdef LAMMPS_BEFORE_JUNE_2022
#include "neigh_request.h"
#endif

using namespace LAMMPS_NS;

struct PairCGTP::model {
    potential energy;
    simulation::edges edges;
    std::vector<int> own;            /* atoms with neighbours, ascending */
    potential::real *rows = nullptr; /* what is being communicated: [atoms and ghosts][features] */
};

static constexpr int features = potential::features;

PairCGTP::PairCGTP(LAMMPS *lmp) : Pair(lmp), model_(new model)
{
    single_enable = 0;
    restartinfo = 0;
    one_coeff = 1;
    manybody_flag = 1;
    comm_forward = comm_reverse = features;
    model_->energy.to_ghosts = [this](potential::real *rows) {
        model_->rows = rows;
        forward_rows();
    };
    model_->energy.from_ghosts = [this](potential::real *rows) {
        model_->rows = rows;
        reverse_rows();
    };
}

PairCGTP::~PairCGTP()
{
    if (allocated) {
        memory->destroy(setflag);
        memory->destroy(cutsq);
    }
}

void PairCGTP::settings(int narg, char **)
{
    if (narg)
        error->all(FLERR, std::string("Pair style cgtp has no arguments"));
}

void PairCGTP::coeff(int narg, char **arg)
{
    const int n = atom->ntypes;
    bool right = narg == 2 + n && !std::strcmp(arg[0], "*") && !std::strcmp(arg[1], "*");
    for (int type = 1; right && type <= n; type++)
        right = !std::strcmp(arg[type + 1], "C");
    if (!right)
        error->all(FLERR, std::string("Expected: pair_coeff * * C, with a C for each type of atoms"));
    if (!allocated) {
        memory->create(setflag, n + 1, n + 1, "pair:setflag");
        memory->create(cutsq, n + 1, n + 1, "pair:cutsq");
        allocated = 1;
    }
    for (int i = 1; i <= n; i++)
        for (int j = i; j <= n; j++)
            setflag[i][j] = 1;
}

void PairCGTP::init_style()
{
    if (std::strcmp(update->unit_style, "metal"))
        error->all(FLERR, std::string("Pair style cgtp needs units metal"));
    if (!force->newton_pair)
        error->all(FLERR, std::string("Pair style cgtp needs newton on, for forces on ghosts"));
    request_full_list();
}

double PairCGTP::init_one(int, int)
{
    return potential::cutoff;
}

void PairCGTP::compute(int eflag, int vflag)
{
    ev_init(eflag, vflag);
    if (vflag_atom)
        error->all(FLERR, std::string("Pair style cgtp has no stress of single atoms"));
    try {
        collect();
        model_->energy.compute(model_->edges);
    } catch (const std::exception &failure) {
        error->one(FLERR, std::string("Pair style cgtp: ") + failure.what());
    }
    const potential &result = model_->energy;
    for (int i = 0; i < atom->nlocal + atom->nghost; i++)
        for (int k = 0; k < 3; k++)
            atom->f[i][k] += result.force[i][k];
    for (int i = 0; i < atom->nlocal; i++) {
        if (eflag_global)
            eng_vdwl += result.energy[i];
        if (eflag_atom)
            eatom[i] += result.energy[i];
    }
    if (vflag_fdotr)
        virial_fdotr_compute();
}

/* The edges of LAMMPS's list of neighbours, which has some more than those within the cutoff. */
void PairCGTP::collect()
{
    simulation::edges &edges = model_->edges;
    std::vector<int> &own = model_->own;
    own.assign(list->ilist, list->ilist + list->inum);
    std::sort(own.begin(), own.end());
    edges.clear();
    for (int i : own)
        for (int n = 0; n < list->numneigh[i]; n++) {
            const int j = list->firstneigh[i][n] & NEIGHMASK;
            const double *to = atom->x[j], *from = atom->x[i];
            const simulation::vec3 vector = {to[0] - from[0], to[1] - from[1], to[2] - from[2]};
            if (simulation::dot(vector, vector) < potential::cutoff * potential::cutoff)
                edges.add(j, i, vector);
        }
    edges.finish(atom->nlocal + atom->nghost, atom->nlocal);
}

int PairCGTP::pack_forward_comm(int n, int *atoms, double *out, int, int *)
{
    for (int i = 0; i < n; i++)
        out = std::copy_n(model_->rows + static_cast<std::ptrdiff_t>(atoms[i]) * features, features, out);
    return n * features;
}

void PairCGTP::unpack_forward_comm(int n, int first, double *in)
{
    std::copy_n(in, static_cast<std::ptrdiff_t>(n) * features,
                model_->rows + static_cast<std::ptrdiff_t>(first) * features);
}

int PairCGTP::pack_reverse_comm(int n, int first, double *out)
{
    std::copy_n(model_->rows + static_cast<std::ptrdiff_t>(first) * features,
                static_cast<std::ptrdiff_t>(n) * features, out);
    return n * features;
}

void PairCGTP::unpack_reverse_comm(int n, int *atoms, double *in)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < features; k++)
            model_->rows[static_cast<std::ptrdiff_t>(atoms[i]) * features + k] +=
                static_cast<potential::real>(*in++);
}

/* LAMMPS calls these three otherwise since its stable release of 23 June 2022. */
#ifdef LAMMPS_BEFORE_JUNE_2022
void PairCGTP::request_full_list()
{
    const int number = neighbor->request(this, instance_me);
    neighbor->requests[number]->half = 0;
    neighbor->requests[number]->full = 1;
}

void PairCGTP::forward_rows()
{
    comm->forward_comm_pair(this);
}

void PairCGTP::reverse_rows()
{
    comm->reverse_comm_pair(this);
}
#else
void PairCGTP::request_full_list()
{
    neighbor->add_request(this, NeighConst::REQ_FULL);
}

void PairCGTP::forward_rows()
{
    comm->forward_comm(this);
}

void PairCGTP::reverse_rows()
{
    comm->reverse_comm(this);
}
#endif
