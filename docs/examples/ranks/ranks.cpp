/* ranks.cpp - a convolution over a periodic lattice of carbon whose atoms are divided among ranks: forward, and backward
 * from E = sum of z^2 / 2. Rows of ghosts come while receivers without ghosts are computed; gradients of ghosts go back
 * while these are computed again. z, gy and gw have the bits of one rank, and gx those of every other run.
 */
#include "layer.h"
#include "transport.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

using real = std::remove_const_t<std::remove_pointer_t<decltype(layer_forward_arrays::x_)>>;

/* ---- the lattice: diamond, 8 atoms a cell, neighbours within 6 Angstrom ---- */

struct cells {
    int a, b, c; /* the longest last: its atoms have neighbouring numbers */
};

static edge_list lattice(const cells &n)
{
    static const int basis[8][3] = {{0, 0, 0}, {1, 1, 1}, {0, 2, 2}, {1, 3, 3}, {2, 0, 2}, {3, 1, 3}, {2, 2, 0}, {3, 3, 1}};
    const double quarter = 3.567 / 4, reach = 6 / quarter;
    const int size[3] = {n.a, n.b, n.c};
    edge_list all = {8 * (int64_t)n.a * n.b * n.c, {}, {}};
    const auto number = [&](const int cell[3], int atom) {
        const auto wrapped = [&](int i) { return (cell[i] + size[i]) % size[i]; };
        return (int32_t)(8 * (((int64_t)wrapped(2) * n.b + wrapped(1)) * n.a + wrapped(0)) + atom);
    };
    for (int32_t to = 0; to < all.nodes; to++) {
        const int cell[3] = {to / 8 % n.a, to / 8 / n.a % n.b, to / 8 / n.a / n.b}, atom = to % 8;
        for (int near = 0; near < 125 * 8; near++) { /* cells up to two away */
            const int step[3] = {near / 8 % 5 - 2, near / 40 % 5 - 2, near / 200 - 2};
            int there[3], square = 0;
            for (int i = 0; i < 3; i++) {
                const int d = 4 * step[i] + basis[near % 8][i] - basis[atom][i];
                there[i] = cell[i] + step[i];
                square += d * d;
            }
            if (square && square < reach * reach) {
                all.sender.push_back(number(there, near % 8));
                all.receiver.push_back(to);
            }
        }
    }
    return all;
}

/* ---- arrays of numbers that are random, but those of a node or an edge ---- */

enum slot { X, Y, W, Z, GY, GW };

ON_BOTH inline uint64_t mixed(uint64_t h)
{
    h = (h ^ h >> 31) * 0x9e3779b97f4a7c15u;
    h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9u;
    return h ^ h >> 32;
}

/* Element `at` of rows of so many: of which node or edge, and which of its elements. */
ON_BOTH inline uint64_t key(int slot, const int32_t *number, int dim, int64_t at)
{
    return mixed((uint64_t)number[at / dim] << 20 | (uint64_t)(at % dim)) + (uint64_t)slot;
}

struct fill {
    int slot, dim;
    const int32_t *number;
    real *to;
    ON_BOTH void operator()(int64_t at) const /* -1 .. 1 */
    {
        to[at] = (real)((double)(int64_t)mixed(key(slot, number, dim, at)) * 0x1p-63);
    }
};

/* A sum over elements, in any order and over any ranks, that another bit anywhere makes another number. */
struct digest {
    int slot, dim;
    const int32_t *number;
    const real *of;
    unsigned long long *sum;
    ON_BOTH void operator()(int64_t at) const
    {
        uint64_t bits = 0;
        memcpy(&bits, &of[at], sizeof of[at]);
        const unsigned long long value = mixed(bits + mixed(key(slot, number, dim, at)));
#ifdef __CUDA_ARCH__
        atomicAdd(sum, value);
#else
        *sum += value;
#endif
    }
};

/* ---- a rank ---- */

/* A part of the rank's graph, where the rank computes, with a workspace. */
struct side {
    cgtp_graph graph;
    array<int32_t> sender, receiver, by_sender;
    array<int64_t> receiver_row, sender_row;
    array<char> workspace;

    side(const sliced_graph &s, const int32_t *from)
        : graph(s.graph), sender(std::vector<int32_t>(from, from + s.graph.items)), receiver(s.receiver),
          by_sender(s.by_sender), receiver_row(s.receiver_row), sender_row(s.sender_row),
          workspace(std::max(layer_forward_workspace(&s.graph), layer_backward_workspace(&s.graph)))
    {
        graph.sender = sender, graph.receiver = receiver, graph.by_sender = by_sender;
        graph.receiver_row = receiver_row, graph.sender_row = sender_row;
    }
};

struct rank {
    static constexpr int64_t row_bytes = layer_DIM_X * sizeof(real);
    int device;
    part p;
    stream compute, exchange;
    side inner, outer;
    array<int32_t> node, edge, send, add, place, touched;
    array<real> x, y, w, z, gx, gx_outer, gy, gw, out, back; /* out, back: of rows of x that others have as ghosts */
    array<unsigned long long> sum;

    static part on(int device, part p)
    {
        use_device(device);
        return p;
    }
    rank(int device_, part p_)
        : device(device_), p(on(device_, std::move(p_))), compute(false), exchange(true), inner(p.inner, p.sender.data()),
          outer(p.outer, p.sender.data() + p.split()), node(p.node), edge(p.edge), send(p.send), add(p.add), place(p.place),
          touched(p.touched), x(p.node.size() * layer_DIM_X), y(p.edge.size() * layer_DIM_Y),
          w(p.edge.size() * layer_DIM_W), z(p.owned * layer_DIM_Z), gx(p.owned * layer_DIM_X),
          gx_outer(outer.graph.receivers ? p.node.size() * layer_DIM_X : 0), gy(y.size), gw(w.size),
          out(p.send.size() * layer_DIM_X), back(out.size), sum(1)
    {
        each(p.owned * layer_DIM_X, fill{X, layer_DIM_X, node, x}); /* ghosts' rows come */
        each((int64_t)y.size, fill{Y, layer_DIM_Y, edge, y});
        each((int64_t)w.size, fill{W, layer_DIM_W, edge, w});
    }

    cgtp_rows rows(const array<int32_t> &row, const int32_t *place) const
    {
        return {(int64_t)row.size, layer_DIM_X, layer_product.type[CGTP_X], row, place};
    }
    letters features() /* own rows of x to others, theirs to ghosts */
    {
        return {(char *)(real *)out, (char *)(x + p.owned * layer_DIM_X), bytes_of(p.sent, 0, row_bytes),
                bytes_of(p.ghost, p.owned, row_bytes), &exchange};
    }
    letters gradients() /* and the other way round */
    {
        return {(char *)(gx_outer + p.owned * layer_DIM_X), (char *)(real *)back, bytes_of(p.ghost, p.owned, row_bytes),
                bytes_of(p.sent, 0, row_bytes), &exchange};
    }
    void forward(side &s, int64_t receiver, int64_t e, const stream &on)
    {
        expect(layer_forward(&s.graph, x, y + e * layer_DIM_Y, w + e * layer_DIM_W, z + receiver * layer_DIM_Z,
                             s.workspace, s.workspace.size, on),
               "forward");
    }
    void backward(side &s, int64_t receiver, int64_t e, real *to, const stream &on)
    {
        expect(layer_backward(&s.graph, x, y + e * layer_DIM_Y, w + e * layer_DIM_W, z + receiver * layer_DIM_Z, to,
                              gy + e * layer_DIM_Y, gw + e * layer_DIM_W, s.workspace, s.workspace.size, on),
               "backward");
    }
    bool has_outer() const
    {
        return outer.graph.receivers > 0;
    }
    uint64_t digest_of(int slot, const array<real> &of, const array<int32_t> &number, int dim)
    {
        use_device(device);
        sum = array<unsigned long long>(std::vector<unsigned long long>{0});
        each((int64_t)of.size, digest{slot, dim, number, of, sum});
        return sum.host()[0];
    }
};

using world = std::vector<std::unique_ptr<rank>>; /* those that are in this process */

/* Forward and backward, of all ranks. Launches alone: on GPUs nothing waits here. */
static void step(world &mine, transport &t)
{
    std::vector<letters> forth, back;
    for (auto &r : mine) {
        use_device(r->device);
        r->exchange.after(r->compute);
        gather_rows(r->rows(r->send, nullptr), r->x, r->out, r->exchange);
        r->compute.after(r->exchange); /* the exchange is to find room on the device, and so begins first */
        forth.push_back(r->features());
        back.push_back(r->gradients());
    }
    t.start(forth);
    for (auto &r : mine) {
        use_device(r->device);
        r->forward(r->inner, 0, 0, r->compute);
    }
    t.wait();
    for (auto &r : mine) {
        use_device(r->device);
        if (r->has_outer())
            r->forward(r->outer, r->p.interior, r->p.split(), r->exchange);
        r->exchange.after(r->compute); /* what stands for a loss needs all of z */
        if (r->has_outer())
            r->backward(r->outer, r->p.interior, r->p.split(), r->gx_outer, r->exchange);
        r->compute.after(r->exchange);
    }
    t.start(back);
    for (auto &r : mine) {
        use_device(r->device);
        r->backward(r->inner, 0, 0, r->gx, r->compute);
    }
    t.wait();
    for (auto &r : mine) { /* always in this order: interior, others, what comes from rank after rank */
        use_device(r->device);
        r->compute.after(r->exchange);
        if (r->has_outer())
            add_rows(r->rows(r->touched, r->touched), r->gx_outer, r->gx, r->compute);
        add_rows(r->rows(r->add, r->place), r->back, r->gx, r->compute);
    }
}

static void wait(const world &mine)
{
    for (auto &r : mine) {
        use_device(r->device);
        r->compute.wait();
    }
}

/* device: of the first rank here. */
static world make_world(const edge_list &all, transport &t, int device)
{
    std::vector<part> parts;
    std::vector<std::vector<std::vector<int32_t>>> wanted;
    world mine;
    for (int i = 0; i < t.here; i++) {
        parts.push_back(make_part(all, t.first + i, t.ranks));
        wanted.emplace_back();
        for (int r = 0; r < t.ranks; r++)
            wanted.back().push_back(ghosts_of(parts.back(), r));
    }
    wanted = t.tell(wanted);
    for (int i = 0; i < t.here; i++) {
        set_sends(parts[i], all.nodes, wanted[i]);
        mine.push_back(std::make_unique<rank>((device + i) % devices(), std::move(parts[i])));
    }
    return mine;
}

/* ---- checks ---- */

struct digests {
    uint64_t z, gx, gy, gw;
};

static digests digests_of(world &mine, transport &t)
{
    digests d = {};
    for (auto &r : mine) {
        d.z += r->digest_of(Z, r->z, r->node, layer_DIM_Z);
        d.gx += r->digest_of(X, r->gx, r->node, layer_DIM_X);
        d.gy += r->digest_of(GY, r->gy, r->edge, layer_DIM_Y);
        d.gw += r->digest_of(GW, r->gw, r->edge, layer_DIM_W);
    }
    return {t.sum(d.z), t.sum(d.gx), t.sum(d.gy), t.sum(d.gw)};
}

static bool same(const digests &a, const digests &b)
{
    return a.z == b.z && a.gx == b.gx && a.gy == b.gy && a.gw == b.gw;
}

/* l of segment `number` of irreps such as "32x0e+32x1o". */
static int degree(const char *irreps, int number)
{
    for (; number; number--)
        irreps = strchr(irreps, '+') + 1;
    return atoi(strchr(irreps, 'x') + 1);
}

/* The largest difference that another order of additions makes in an element of gx: it sums, over `edges` edges and all
 * paths, a C y w gz with |y|, |w| <= 1 and |gz| <= most. The squares of C sum to 1 over all entries, and so do, with one
 * index held, to 1 / (2 l1 + 1); so their absolute values sum to at most the root of that times their number. A bound
 * of n roundings is not reached by a sum whose roundings are as random as ours: 6 sqrt(n). */
static double bound(double edges, double most)
{
    double sum = 0, terms = 0;
    for (int i = 0; i < layer_product.paths; i++) {
        const cgtp_path &q = layer_product.path[i];
        const double d1 = 2 * degree(layer_product.irreps[CGTP_X], q.x) + 1;
        const double entries = (2 * degree(layer_product.irreps[CGTP_Y], q.y) + 1) *
                               (2 * degree(layer_product.irreps[CGTP_Z], q.z) + 1);
        sum += std::abs(q.coefficient) * std::sqrt(entries / d1);
        terms += entries;
    }
    const double n = edges * terms, roundings = 12 + std::min(n, 6 * std::sqrt(n));
    return 2 * roundings * std::numeric_limits<real>::epsilon() / 2 * edges * sum * most;
}

/* The largest difference of gx from one rank's, as a part of that. */
static double difference(const world &mine, const rank &one)
{
    const std::vector<real> expected = one.gx.host(), z = one.z.host();
    double most = 0, largest = 0;
    int64_t edges = 0;
    for (real value : z)
        most = std::max(most, std::abs((double)value));
    for (int64_t s = 0; s < one.p.owned; s++)
        edges = std::max(edges, one.p.whole.sender_row[s + 1] - one.p.whole.sender_row[s]);
    for (auto &r : mine) {
        use_device(r->device);
        const std::vector<real> found = r->gx.host();
        for (size_t i = 0; i < found.size(); i++) {
            const int64_t there = r->p.node[i / layer_DIM_X] * (int64_t)layer_DIM_X + (int64_t)(i % layer_DIM_X);
            const double off = std::abs((double)found[i] - (double)expected[there]);
            largest = off <= largest ? largest : off; /* not a number: that */
        }
    }
    return largest / bound((double)edges, most);
}

static bool report(const transport &t, bool right, const char *what)
{
    if (t.first == 0)
        printf("%s: %s\n", what, right ? "right" : "WRONG");
    return right;
}

/* Several steps of both. */
static bool check(const edge_list &all, world &mine, transport &t)
{
    transport nobody(1);
    world one = make_world(all, nobody, 0);
    bool repeated = true;
    step(one, nobody);
    wait(one);
    const digests expected = digests_of(one, nobody);
    digests found = {};
    for (int i = 0; i < 3; i++) {
        for (auto &r : mine) { /* what is not written again is noticed */
            use_device(r->device);
            each((int64_t)r->z.size, fill{GY, layer_DIM_Z, r->node, r->z});
            each((int64_t)r->gx.size, fill{GW, layer_DIM_X, r->node, r->gx});
        }
        step(mine, t);
        wait(mine);
        const digests now = digests_of(mine, t);
        repeated &= i == 0 || same(now, found);
        found = now;
    }
    use_device(0);
    const double part = t.most(difference(mine, *one[0]));
    if (t.first == 0)
        printf("gx differs from one rank's by %.2g of its bound\n", part);
    bool right = report(t, found.z == expected.z, "z has the bits of one rank");
    right &= report(t, found.gy == expected.gy && found.gw == expected.gw, "gy and gw have the bits of one rank");
    right &= report(t, part <= 1, "gx is close to one rank's");
    return report(t, repeated, "all have the same bits in three runs") && right;
}

/* ---- times ---- */

/* What is timed, and what was found: milliseconds of a step. */
struct timed {
    world &mine;
    transport &t;
    std::vector<double> passed = {};

    double median()
    {
        std::sort(passed.begin(), passed.end());
        return passed[passed.size() / 2];
    }
};

/* Five times so many steps, after as many of them; in turns, as clocks change while a device is at work. */
static void take_times(const std::vector<timed *> &all, int steps)
{
    for (int i = 0; i < 6; i++)
        for (timed *one : all) {
            const auto begin = std::chrono::steady_clock::now();
            for (int k = 0; k < steps; k++)
                step(one->mine, one->t);
            wait(one->mine);
            const std::chrono::duration<double, std::milli> now = std::chrono::steady_clock::now() - begin;
            if (i)
                one->passed.push_back(one->t.most(now.count() / steps));
        }
}

/* All ranks beside one that has all of it; and beside one that has as much as each of them, on each device. */
static void time_all(const cells &n, transport &t, int steps)
{
    transport nobody(1);
    world mine = make_world(lattice(n), t, 0);
    for (int device = -1; device < std::min(t.ranks, devices()); device++) {
        const bool whole = device < 0;
        world one = make_world(lattice(whole ? n : cells{n.a, n.b, n.c / t.ranks}), nobody, whole ? 0 : device);
        timed together = {mine, t}, alone = {one, nobody};
        take_times({&together, &alone}, steps);
        const double ms = together.median(), by_one = alone.median();
        if (t.first == 0 && whole)
            printf("%d ranks: %.3f ms; one: %.3f ms, %.3f times as long\n", t.ranks, ms, by_one, by_one / ms);
        else if (t.first == 0)
            printf("%d ranks: %.3f ms; one, of a part as large as each rank's, on device %d: %.3f ms, %.1f %%\n", t.ranks,
                   ms, device, by_one, 100 * by_one / ms);
    }
}

/* ---- the program ---- */

struct options {
    int ranks = 2, steps = 0;
    cells size = {4, 4, 8};
    bool check = false;
};

static bool read_options(options &o, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        char end;
        if (!strcmp(argv[i], "--check"))
            o.check = true;
        else if (sscanf(argv[i], "--ranks=%d%c", &o.ranks, &end) != 1 &&
                 sscanf(argv[i], "--time=%d%c", &o.steps, &end) != 1 &&
                 sscanf(argv[i], "--cells=%d,%d,%d%c", &o.size.a, &o.size.b, &o.size.c, &end) != 3)
            return false;
    }
    return o.ranks > 0 && o.steps >= 0 && std::min({o.size.a, o.size.b, o.size.c}) >= 4;
}

static std::unique_ptr<transport> make_transport(const options &o, int *argc, char ***argv)
{
#if defined RANKS_MPI
    (void)o;
    return std::make_unique<mpi_transport>(argc, argv);
#elif defined RANKS_NCCL
    (void)argc, (void)argv;
    if (o.ranks <= devices())
        return std::make_unique<nccl_transport>(o.ranks);
#endif
    (void)argc, (void)argv;
    return std::make_unique<transport>(o.ranks);
}

static int run(const options &o, transport &t)
{
    const edge_list all = lattice(o.size);
    bool right = true;
    {
        world mine = make_world(all, t, 0);
        for (auto &r : mine)
            printf("rank %d: %lld atoms, of which %lld without ghosts, %lld ghosts, %zu edges\n", r->p.rank,
                   (long long)r->p.owned, (long long)r->p.interior, (long long)(r->p.node.size() - r->p.owned),
                   r->p.edge.size());
        fflush(stdout);
        right = !o.check || check(all, mine, t);
    }
    if (o.steps)
        time_all(o.size, t, o.steps);
    return right ? 0 : 1;
}

int main(int argc, char **argv)
{
    options o;
    std::unique_ptr<transport> t;
    try {
        if (read_options(o, argc, argv)) {
            t = make_transport(o, &argc, &argv);
            return run(o, *t);
        }
        fputs("usage: ranks [--ranks=N] [--cells=A,B,C] [--check] [--time=STEPS]\n"
              "  N ranks (2; of MPI as many as there are processes), A B C cells of 8 atoms (4,4,8; four at least)\n",
              stderr);
        return 2;
    } catch (const std::exception &e) {
        fprintf(stderr, "ranks: %s\n", e.what());
        exit(1); /* other ranks may be waiting */
    }
}
