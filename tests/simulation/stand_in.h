/* stand_in.h - as much of LAMMPS as a pair style sees that hands rows from atoms to ghosts: the same names,
 * with the meaning that LAMMPS documents for them since June 2022. Processors are threads, each with the
 * atoms of a slab of a periodic box and with ghosts, copies of atoms (its own too) that are near the slab.
 * stand_in.cpp runs it.
 *
 * What LAMMPS may do and mostly does not is done always: lists of neighbours begin with the last atom, have
 * pairs beyond the cutoff, and flags in bits 30 and 31 of neighbours; buffers hold NaNs before they are
 * packed.
 */
#ifndef STAND_IN_H
#define STAND_IN_H

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#define FLERR __FILE__, __LINE__
#define NEIGHMASK 0x3FFFFFFF

namespace LAMMPS_NS
{

class Pair;
class LAMMPS;

/* All threads wait for each other. */
class Barrier
{
  public:
    explicit Barrier(int threads) : threads_(threads)
    {
    }
    void wait()
    {
        std::unique_lock<std::mutex> lock(mutex_);
        const unsigned round = round_;
        if (++waiting_ == threads_) {
            waiting_ = 0;
            round_++;
            all_.notify_all();
        } else
            all_.wait(lock, [&] { return round != round_; });
    }

  private:
    std::mutex mutex_;
    std::condition_variable all_;
    int threads_, waiting_ = 0;
    unsigned round_ = 0;
};

struct Atom {
    int ntypes = 1, nlocal = 0, nghost = 0;
    double **x = nullptr, **f = nullptr; /* of atoms, then of ghosts */
};

/* Ghosts `first` and on are copies of the owner's `atoms`. */
struct Swap {
    int owner, first;
    std::vector<int> atoms;
    std::vector<double> buffer;
};

struct Comm {
    int me = 0;
    std::vector<LAMMPS *> *all = nullptr; /* every processor's */
    Barrier *barrier = nullptr;
    std::vector<Swap> swaps;

    void forward_comm(Pair *);
    void reverse_comm(Pair *);
    void reverse_comm(); /* of forces */
};

struct Error {
    [[noreturn]] void all(const std::string &, int, const std::string &text)
    {
        throw std::runtime_error(text);
    }
    [[noreturn]] void one(const std::string &, int, const std::string &text)
    {
        throw std::runtime_error(text);
    }
};

struct Force {
    int newton_pair = 1;
};

struct Update {
    const char *unit_style = "metal";
};

struct Memory {
    template <class T> void create(T **&array, int rows, int columns, const char *)
    {
        array = new T *[static_cast<std::size_t>(rows)];
        array[0] = new T[static_cast<std::size_t>(rows * columns)]();
        for (int i = 1; i < rows; i++)
            array[i] = array[0] + i * columns;
    }
    template <class T> void destroy(T **&array)
    {
        if (array)
            delete[] array[0];
        delete[] array;
        array = nullptr;
    }
};

struct NeighList {
    int inum = 0;
    int *ilist = nullptr, *numneigh = nullptr, **firstneigh = nullptr;
};

namespace NeighConst
{
enum { REQ_DEFAULT = 0, REQ_FULL = 1 };
}

struct Neighbor {
    int requested = -1;
    void add_request(Pair *, int flags)
    {
        requested = flags;
    }
};

class LAMMPS
{
  public:
    Memory *memory;
    Error *error;
    Atom *atom;
    Update *update;
    Neighbor *neighbor;
    Comm *comm;
    Force *force;
    Pair *pair;
};

class Pointers
{
  protected:
    explicit Pointers(LAMMPS *lmp)
        : memory(lmp->memory), error(lmp->error), atom(lmp->atom), update(lmp->update),
          neighbor(lmp->neighbor), comm(lmp->comm), force(lmp->force)
    {
    }
    virtual ~Pointers()
    {
    }
    Memory *&memory;
    Error *&error;
    Atom *&atom;
    Update *&update;
    Neighbor *&neighbor;
    Comm *&comm;
    Force *&force;
};

class Pair : protected Pointers
{
  public:
    double eng_vdwl = 0, virial[6] = {0}; /* xx, yy, zz, xy, xz, yz */
    double *eatom = nullptr;
    int **setflag = nullptr;
    double **cutsq = nullptr;
    int comm_forward = 0, comm_reverse = 0;
    int single_enable = 1, restartinfo = 1, one_coeff = 0, manybody_flag = 0, allocated = 0;
    int eflag_global = 0, eflag_atom = 0, vflag_atom = 0, vflag_fdotr = 0;
    NeighList *list = nullptr;

    explicit Pair(LAMMPS *lmp) : Pointers(lmp)
    {
    }
    virtual void settings(int, char **) = 0;
    virtual void coeff(int, char **) = 0;
    virtual void init_style() = 0;
    virtual double init_one(int, int) = 0;
    virtual void compute(int, int) = 0;
    virtual int pack_forward_comm(int, int *, double *, int, int *) = 0;
    virtual void unpack_forward_comm(int, int, double *) = 0;
    virtual int pack_reverse_comm(int, int, double *) = 0;
    virtual void unpack_reverse_comm(int, int *, double *) = 0;

  protected:
    /* eflag: 1 the energy, 2 those of atoms; vflag: 2 the virial as the sum of f x, 4 those of atoms. */
    void ev_init(int eflag, int vflag)
    {
        eflag_global = eflag & 1;
        eflag_atom = eflag & 2;
        vflag_fdotr = vflag & 2;
        vflag_atom = vflag & 4;
        eng_vdwl = 0;
        for (double &component : virial)
            component = 0;
        for (int i = 0; eflag_atom && i < atom->nlocal; i++)
            eatom[i] = 0;
    }

    void virial_fdotr_compute()
    {
        static const int row[6] = {0, 1, 2, 1, 2, 2}, column[6] = {0, 1, 2, 0, 0, 1};
        for (int i = 0; i < atom->nlocal + atom->nghost; i++)
            for (int k = 0; k < 6; k++)
                virial[k] += atom->x[i][row[k]] * atom->f[i][column[k]];
    }
};

} // namespace LAMMPS_NS

#endif
