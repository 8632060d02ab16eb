/* stand_in.cpp - one evaluation of the pair style cgtp on the stand-in for LAMMPS (stand_in.h).
 *
 *     stand_in FILE.xyz [CUT..]    the processors' slabs meet at these parts of the cell's first edge,
 * ascending stand_in --refused           what the style says to wrong input
 *
 * Prints the energy and each atom's force as md --forces does, then the virial (xx, yy, zz) and the sum of
 * the atoms' energies, in eV, and how many atoms and ghosts each processor has.
 */
#include "pair_cgtp.h"
#include "../common/simulation.h"

#include <limits>
#include <memory>
#include <thread>

using namespace LAMMPS_NS;
using simulation::vec3;

static constexpr double skin = 0.4; /* Angstrom */

/* ---- communication ---- */

static void begin(Swap &swap, int width)
{
    swap.buffer.assign(swap.atoms.size() * static_cast<std::size_t>(width),
                       std::numeric_limits<double>::quiet_NaN());
}

static void expect_filled(const Swap &swap, int numbers)
{
    if (numbers != static_cast<int>(swap.buffer.size()))
        throw std::runtime_error("as many numbers were packed as the style has not said");
}

void Comm::forward_comm(Pair *pair)
{
    for (LAMMPS *other : *all)
        for (Swap &swap : other->comm->swaps)
            if (swap.owner == me) {
                begin(swap, pair->comm_forward);
                expect_filled(swap,
                              pair->pack_forward_comm(static_cast<int>(swap.atoms.size()), swap.atoms.data(),
                                                      swap.buffer.data(), 0, nullptr));
            }
    barrier->wait();
    for (Swap &swap : swaps)
        pair->unpack_forward_comm(static_cast<int>(swap.atoms.size()), swap.first, swap.buffer.data());
    barrier->wait();
}

void Comm::reverse_comm(Pair *pair)
{
    for (Swap &swap : swaps) {
        begin(swap, pair->comm_reverse);
        expect_filled(swap, pair->pack_reverse_comm(static_cast<int>(swap.atoms.size()), swap.first,
                                                    swap.buffer.data()));
    }
    barrier->wait();
    for (LAMMPS *other : *all)
        for (Swap &swap : other->comm->swaps)
            if (swap.owner == me)
                pair->unpack_reverse_comm(static_cast<int>(swap.atoms.size()), swap.atoms.data(),
                                          swap.buffer.data());
    barrier->wait();
}

void Comm::reverse_comm()
{
    barrier->wait();
    for (LAMMPS *other : *all)
        for (const Swap &swap : other->comm->swaps)
            for (std::size_t i = 0; swap.owner == me && i < swap.atoms.size(); i++)
                for (int k = 0; k < 3; k++)
                    (*all)[static_cast<std::size_t>(me)]->atom->f[swap.atoms[i]][k] +=
                        other->atom->f[swap.first + static_cast<int>(i)][k];
    barrier->wait();
}

/* ---- a processor ---- */

struct processor {
    Memory memory;
    Error error;
    Atom atom;
    Update update;
    Neighbor neighbor;
    Comm comm;
    Force force;
    LAMMPS lammps{&memory, &error, &atom, &update, &neighbor, &comm, &force, nullptr};
    std::unique_ptr<PairCGTP> pair;
    std::vector<int> tag; /* which atom of the file each of its atoms is */
    std::vector<vec3> position;
    std::vector<double> energy;
    std::vector<std::vector<int>> neighbours;
    std::vector<int> own, counts;
    std::vector<int *> first;
    NeighList list;

    processor() : pair(new PairCGTP(&lammps))
    {
        lammps.pair = pair.get();
    }
    ~processor()
    {
        memory.destroy(atom.x);
        memory.destroy(atom.f);
    }

    void set_up()
    {
        char all[] = "*", carbon[] = "C";
        char *coefficients[] = {all, all, carbon};
        pair->settings(0, nullptr);
        pair->coeff(3, coefficients);
        pair->init_style();
        if (neighbor.requested != NeighConst::REQ_FULL)
            throw std::runtime_error("the style did not ask for a full list");
    }

    void add_ghosts(const std::vector<std::unique_ptr<processor>> &all, const vec3 &low, const vec3 &high,
                    const vec3 &box);
    void allocate();
    void list_neighbours();
};

/* Images of atoms that are nearer to the slab than the cutoff and the skin. */
void processor::add_ghosts(const std::vector<std::unique_ptr<processor>> &all, const vec3 &low,
                           const vec3 &high, const vec3 &box)
{
    const double reach = pair->init_one(1, 1) + skin;
    int most[3], shift[3];
    for (int k = 0; k < 3; k++)
        most[k] = static_cast<int>(reach / box[k]) + 1;
    for (const auto &owner : all) {
        Swap swap = {owner->comm.me, static_cast<int>(position.size()), {}, {}};
        for (int i = 0; i < owner->atom.nlocal; i++)
            for (shift[0] = -most[0]; shift[0] <= most[0]; shift[0]++)
                for (shift[1] = -most[1]; shift[1] <= most[1]; shift[1]++)
                    for (shift[2] = -most[2]; shift[2] <= most[2]; shift[2]++) {
                        vec3 x = owner->position[i];
                        bool near = owner.get() != this || shift[0] || shift[1] || shift[2];
                        for (int k = 0; k < 3; k++) {
                            x[k] += shift[k] * box[k];
                            near = near && x[k] > low[k] - reach && x[k] < high[k] + reach;
                        }
                        if (!near)
                            continue;
                        position.push_back(x);
                        swap.atoms.push_back(i);
                    }
        comm.swaps.push_back(swap);
    }
    atom.nghost = static_cast<int>(position.size()) - atom.nlocal;
}

void processor::allocate()
{
    const int n = static_cast<int>(position.size());
    memory.create(atom.x, n + 1, 3, "atom:x");
    memory.create(atom.f, n + 1, 3, "atom:f");
    for (int i = 0; i < n; i++)
        std::copy(position[i].begin(), position[i].end(), atom.x[i]);
    energy.resize(static_cast<std::size_t>(atom.nlocal) + 1);
    pair->eatom = energy.data();
}

void processor::list_neighbours()
{
    const double reach = pair->init_one(1, 1) + skin;
    const int n = static_cast<int>(position.size());
    neighbours.resize(static_cast<std::size_t>(atom.nlocal) + 1);
    for (int i = 0; i < atom.nlocal; i++) {
        for (int j = 0; j < n; j++) {
            double square = 0;
            for (int k = 0; k < 3; k++)
                square += (position[j][k] - position[i][k]) * (position[j][k] - position[i][k]);
            if (j != i && square < reach * reach)
                neighbours[i].push_back(
                    static_cast<int>(static_cast<unsigned>(j) | static_cast<unsigned>(j % 4) << 30));
        }
        own.insert(own.begin(), i);
        counts.push_back(static_cast<int>(neighbours[i].size()));
        first.push_back(neighbours[i].data());
    }
    list.inum = atom.nlocal;
    list.ilist = own.data();
    list.numneigh = counts.data();
    list.firstneigh = first.data();
    pair->list = &list;
}

/* ---- all of them ---- */

static void compute(processor *p)
{
    try {
        p->pair->compute(3, 2);
        p->comm.reverse_comm();
    } catch (const std::exception &failure) {
        std::fprintf(stderr, "stand_in: %s\n", failure.what());
        std::_Exit(1);
    }
}

static void print(const std::vector<std::unique_ptr<processor>> &all, const simulation::atoms &a)
{
    std::vector<vec3> force(a.position.size());
    double total = 0, sum = 0, virial[3] = {0, 0, 0};
    for (const auto &p : all) {
        total += p->pair->eng_vdwl;
        for (int k = 0; k < 3; k++)
            virial[k] += p->pair->virial[k];
        for (int i = 0; i < p->atom.nlocal; i++) {
            sum += p->pair->eatom[i];
            std::copy_n(p->atom.f[i], 3, force[p->tag[i]].begin());
        }
    }
    std::printf("stand-in: %zu atoms, energy %.9f eV\n", force.size(), total);
    for (std::size_t i = 0; i < force.size(); i++)
        std::printf("%-2s %16.9f %16.9f %16.9f\n", a.element[i].c_str(), force[i][0], force[i][1],
                    force[i][2]);
    std::printf("virial %.9f %.9f %.9f eV, of atoms %.9f eV\n", virial[0], virial[1], virial[2], sum);
    for (const auto &p : all)
        std::printf("%d atoms, %d ghosts\n", p->atom.nlocal, p->atom.nghost);
}

static void run(const simulation::atoms &a, std::vector<double> cuts)
{
    const vec3 box = {a.lattice[0][0], a.lattice[1][1], a.lattice[2][2]};
    cuts.insert(cuts.begin(), 0);
    cuts.push_back(1);
    std::vector<std::unique_ptr<processor>> all(cuts.size() - 1);
    std::vector<LAMMPS *> lammps;
    Barrier barrier(static_cast<int>(all.size()));
    for (auto &p : all) {
        p.reset(new processor);
        p->comm.me = static_cast<int>(lammps.size());
        p->comm.all = &lammps;
        p->comm.barrier = &barrier;
        lammps.push_back(&p->lammps);
        p->set_up();
    }
    for (std::size_t i = 0; i < a.position.size(); i++) {
        vec3 x = a.position[i];
        for (int k = 0; k < 3; k++)
            x[k] -= std::floor(x[k] / box[k]) * box[k];
        std::size_t slab = 0;
        while (slab + 1 < all.size() && x[0] >= cuts[slab + 1] * box[0])
            slab++;
        all[slab]->position.push_back(x);
        all[slab]->tag.push_back(static_cast<int>(i));
        all[slab]->atom.nlocal++;
    }
    for (std::size_t i = 0; i < all.size(); i++)
        all[i]->add_ghosts(all, {cuts[i] * box[0], 0, 0}, {cuts[i + 1] * box[0], box[1], box[2]}, box);
    std::vector<std::thread> threads;
    for (auto &p : all) {
        p->allocate();
        p->list_neighbours();
    }
    for (auto &p : all)
        threads.emplace_back(compute, p.get());
    for (std::thread &thread : threads)
        thread.join();
    print(all, a);
}

template <class Function> static void refused(const char *what, const Function &function)
{
    processor p;
    try {
        function(p);
        std::printf("%s: taken\n", what);
    } catch (const std::runtime_error &failure) {
        std::printf("%s: %s\n", what, failure.what());
    }
}

static void coefficients(processor &p, std::vector<std::string> words)
{
    std::vector<char *> arguments;
    for (std::string &word : words)
        arguments.push_back(&word[0]);
    p.pair->coeff(static_cast<int>(words.size()), arguments.data());
}

int main(int count, char **argument)
{
    if (count < 2)
        return 2;
    if (argument[1] == std::string("--refused")) {
        refused("another element", [](processor &p) { coefficients(p, {"*", "*", "Si"}); });
        refused("no element", [](processor &p) { coefficients(p, {"*", "*"}); });
        refused("one type of two", [](processor &p) { coefficients(p, {"1", "1", "C"}); });
        refused("an argument", [](processor &p) { p.pair->settings(1, nullptr); });
        refused("units real", [](processor &p) {
            p.update.unit_style = "real";
            p.set_up();
        });
        refused("newton off", [](processor &p) {
            p.force.newton_pair = 0;
            p.set_up();
        });
        refused("stress of atoms", [](processor &p) {
            p.set_up();
            p.pair->compute(0, 4);
        });
        return 0;
    }
    try {
        std::vector<double> cuts;
        for (int i = 2; i < count; i++)
            cuts.push_back(std::atof(argument[i]));
        run(simulation::read_xyz(argument[1]), cuts);
    } catch (const std::exception &failure) {
        std::fprintf(stderr, "stand_in: %s\n", failure.what());
        return 1;
    }
    return 0;
}
