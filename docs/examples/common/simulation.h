/* simulation.h - what the examples forces, md and lammps share, and what a simulation code has of its own:
 * arrays that kernels can reach, a system of atoms, its neighbour list as a graph, and of edges the spherical
 * harmonics and radial weights with their derivatives.
 *
 * C++17, this header alone. Lengths are in Angstrom; energies have the unit that weights give them, eV in all
 * examples. Edges go from a sender s to a receiver r, and their vector is x_s - x_r, from the receiver to
 * (the nearby image of) the sender; models that take x_r - x_s instead, as MACE does, have the other sign in
 * harmonics of odd degree. Errors are exceptions, std::runtime_error with a sentence. Built with
 * -DSIMULATION_CUDA, arrays are managed memory, which the host and a GPU share.
 */
#ifndef SIMULATION_H
#define SIMULATION_H

#include "cgtp.h"

#ifdef SIMULATION_CUDA
#include <cuda_runtime_api.h>
#endif

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <new>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace simulation
{

/* ---- calling kernels ---- */

inline void expect(cgtp_status status, const char *what)
{
    if (status != CGTP_OK)
        throw std::runtime_error(std::string(what) + ": " + cgtp_status_text(status));
}

/* What kernels are given begins at multiples of 16 bytes, and can be reached from where they run. */
template <class T> struct allocator {
    using value_type = T;
    allocator() = default;
    template <class U> allocator(const allocator<U> &)
    {
    }

    T *allocate(std::size_t n)
    {
#ifdef SIMULATION_CUDA
        void *memory = nullptr;
        if (cudaError_t error = cudaMallocManaged(&memory, n * sizeof(T) + 1, cudaMemAttachGlobal))
            throw std::runtime_error(std::string("no memory of a GPU: ") + cudaGetErrorString(error));
        return static_cast<T *>(memory);
#else
        return static_cast<T *>(::operator new(n * sizeof(T), std::align_val_t(64)));
#endif
    }

    void deallocate(T *memory, std::size_t)
    {
#ifdef SIMULATION_CUDA
        cudaFree(memory);
#else
        ::operator delete(memory, std::align_val_t(64));
#endif
    }
};
template <class T, class U> bool operator==(const allocator<T> &, const allocator<U> &)
{
    return true;
}
template <class T, class U> bool operator!=(const allocator<T> &, const allocator<U> &)
{
    return false;
}

template <class T> using buffer = std::vector<T, allocator<T>>;

/* Kernels on a GPU are started by a call and done after this; what went wrong there comes out here. */
inline void wait()
{
#ifdef SIMULATION_CUDA
    if (cudaError_t error = cudaDeviceSynchronize())
        throw std::runtime_error(std::string("on the GPU: ") + cudaGetErrorString(error));
#endif
}

/* Calls NAME_KERNEL_with(graph, arrays) with as much workspace as NAME_KERNEL_workspace says: the room grows
 * to the largest that was needed, so that calls for a graph of the same size allocate nothing. */
class caller
{
  public:
    template <class Arrays>
    void operator()(const char *name,
                    cgtp_status (*with)(const cgtp_graph *, const Arrays *, void *, size_t, cgtp_stream),
                    size_t (*workspace)(const cgtp_graph *), const cgtp_graph &graph, const Arrays &arrays)
    {
        size_t bytes = workspace(&graph);
        if (bytes == CGTP_NO_WORKSPACE)
            throw std::runtime_error(std::string(name) + ": the graph has no possible size");
        if (bytes > room_.size())
            room_.resize(bytes);
        expect(with(&graph, &arrays, room_.data(), room_.size(), nullptr), name);
    }

  private:
    buffer<char> room_;
};

/* ---- atoms ---- */

using vec3 = std::array<double, 3>;

inline double dot(const vec3 &a, const vec3 &b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
inline vec3 cross(const vec3 &a, const vec3 &b)
{
    return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

/* A periodic system. */
struct atoms {
    std::vector<std::string> element;
    std::vector<vec3> position;  /* Angstrom, inside of the cell or not */
    std::array<vec3, 3> lattice; /* the cell's edges, Angstrom */
};

/* A frame of an extended XYZ file: the number of atoms, a line with Lattice="ax ay az bx by bz cx cy cz", and
 * a line for each atom that begins with its element and position. */
inline atoms read_xyz(const std::string &path)
{
    std::ifstream file(path);
    std::string line, word;
    std::size_t count = 0;
    atoms a;
    if (!std::getline(file, line) || !(std::istringstream(line) >> count) || !std::getline(file, line))
        throw std::runtime_error(path + ": cannot be read as extended XYZ");
    const std::string key = "Lattice=\"", columns = "Properties=", first = columns + "species:S:1:pos:R:3";
    const std::size_t at = line.find(key), properties = line.find(columns);
    if (at == std::string::npos)
        throw std::runtime_error(path + ": line 2 has no Lattice=\"...\"");
    if (properties != std::string::npos && line.compare(properties, first.size(), first))
        throw std::runtime_error(path + ": Properties do not begin with species:S:1:pos:R:3");
    std::istringstream numbers(line.substr(at + key.size()));
    for (vec3 &edge : a.lattice)
        numbers >> edge[0] >> edge[1] >> edge[2];
    for (std::size_t i = 0; numbers && i < count && std::getline(file, line); i++) {
        vec3 x;
        if (!(std::istringstream(line) >> word >> x[0] >> x[1] >> x[2]))
            break;
        a.element.push_back(word);
        a.position.push_back(x);
    }
    if (a.position.size() != count)
        throw std::runtime_error(path + ": the lattice or an atom is not a row of numbers");
    return a;
}

/* ---- edges ---- */

/* A list of directed edges, ascending by receiver, as kernels read it. */
class edges
{
  public:
    cgtp_graph graph{};
    std::vector<vec3> vector; /* [items]: x_sender - x_receiver, Angstrom */

    void clear()
    {
        sender_.clear();
        receiver_.clear();
        vector.clear();
    }

    void add(std::int32_t sender, std::int32_t receiver, const vec3 &v)
    {
        sender_.push_back(sender);
        receiver_.push_back(receiver);
        vector.push_back(v);
    }

    /* After the last edge: senders may be more than receivers, which are the first of them. */
    void finish(std::size_t senders, std::size_t receivers)
    {
        by_sender_.resize(sender_.size());
        receiver_row_.resize(receivers + 1);
        sender_row_.resize(senders + 1);
        graph = {};
        graph.items = static_cast<std::int64_t>(sender_.size());
        graph.senders = static_cast<std::int64_t>(senders);
        graph.receivers = static_cast<std::int64_t>(receivers);
        graph.sender = sender_.data();
        graph.receiver = receiver_.data();
        expect(cgtp_graph_index(&graph, receiver_row_.data(), by_sender_.data(), sender_row_.data()),
               "the edges");
    }

    edges() = default;
    edges(const edges &) = delete; /* the graph points into this */
    edges &operator=(const edges &) = delete;

  private:
    buffer<std::int32_t> sender_, receiver_, by_sender_;
    buffer<std::int64_t> receiver_row_, sender_row_;
};

/* The atoms of a cell by bins, at least as wide as the cutoff where the cell is. */
class bins
{
  public:
    using place = std::array<int, 3>; /* a bin, of any periodic image: the cell's own are 0 .. count - 1 */
    place reach;                      /* how many bins away neighbours are */
    std::vector<place> of_atom;

    bins(const atoms &a, double cutoff) : atoms_(a)
    {
        const auto &l = a.lattice;
        const double volume = dot(cross(l[0], l[1]), l[2]);
        if (!(std::fabs(volume) > 0))
            throw std::runtime_error("the lattice has no volume");
        std::array<vec3, 3> normal; /* fractional coordinates are their dot products with positions */
        for (int k = 0; k < 3; k++) {
            normal[k] = cross(l[(k + 1) % 3], l[(k + 2) % 3]);
            for (double &component : normal[k])
                component /= volume;
            const double height = 1 / std::sqrt(dot(normal[k], normal[k]));
            count_[k] = std::max(1, std::min(64, static_cast<int>(height / cutoff)));
            reach[k] = static_cast<int>(std::ceil(cutoff * count_[k] / height));
        }
        members_.resize(static_cast<std::size_t>(count_[0] * count_[1] * count_[2]));
        for (const vec3 &x : a.position) {
            place b;
            for (int k = 0; k < 3; k++)
                b[k] = static_cast<int>(std::floor(dot(normal[k], x) * count_[k]));
            members_[number(b)].push_back(static_cast<int>(of_atom.size()));
            of_atom.push_back(b);
        }
    }

    const std::vector<int> &members(const place &b) const
    {
        return members_[number(b)];
    }

    /* From atom r to the image of atom s that is in bin b. */
    vec3 vector(int s, int r, const place &b) const
    {
        vec3 v;
        for (int i = 0; i < 3; i++) {
            v[i] = atoms_.position[s][i] - atoms_.position[r][i];
            for (int k = 0; k < 3; k++)
                v[i] += (b[k] - of_atom[s][k]) / count_[k] * atoms_.lattice[k][i];
        }
        return v;
    }

  private:
    const atoms &atoms_;
    place count_;
    std::vector<std::vector<int>> members_;

    static int modulo(int a, int n)
    {
        return (a % n + n) % n;
    }
    std::size_t number(const place &b) const
    {
        return static_cast<std::size_t>((modulo(b[0], count_[0]) * count_[1] + modulo(b[1], count_[1])) *
                                            count_[2] +
                                        modulo(b[2], count_[2]));
    }
};

/* All pairs nearer than the cutoff, in both directions and with all periodic images, in any cell. Time grows
 * as the number of atoms does. */
inline void find_neighbours(const atoms &a, double cutoff, edges &e)
{
    const bins sorted(a, cutoff);
    const bins::place &n = sorted.reach;
    e.clear();
    for (int r = 0; r < static_cast<int>(a.position.size()); r++) {
        const bins::place &at = sorted.of_atom[r];
        for (int x = -n[0]; x <= n[0]; x++)
            for (int y = -n[1]; y <= n[1]; y++)
                for (int z = -n[2]; z <= n[2]; z++) {
                    const bins::place there = {at[0] + x, at[1] + y, at[2] + z};
                    for (int s : sorted.members(there)) {
                        const vec3 v = sorted.vector(s, r, there);
                        const double square = dot(v, v);
                        if (square >= cutoff * cutoff || (s == r && there == at))
                            continue;
                        if (!(square > 0))
                            throw std::runtime_error("two atoms are in one place");
                        e.add(s, r, v);
                    }
                }
    }
    e.finish(a.position.size(), a.position.size());
}

/* ---- functions of an edge's vector, and their derivatives ---- */

/* The degree L of harmonics 0e+1o+2e+.. in rows of `dim` numbers. */
constexpr int degree(int dim)
{
    int l = 0;
    while ((l + 1) * (l + 1) < dim)
        l++;
    return (l + 1) * (l + 1) == dim ? l : -1;
}

/* Real spherical harmonics of degrees 0 to L of the direction of r, in e3nn's order, axes and normalisation
 * "component" (the squares of a degree l sum to 2l + 1), with their derivatives by r.
 *
 *     Y_l,m  = K_lm P_l^(m)(y) Re (z + ix)^m    for m >= 0
 *     Y_l,-m = K_lm P_l^(m)(y) Im (z + ix)^m    for m > 0,    K_lm^2 = (2 - [m=0]) (2l+1) (l-m)! / (l+m)!
 *
 * of a unit vector (x, y, z), where y is the polar axis and P_l^(m) the m-th derivative of Legendre's
 * polynomial.
 */
template <int L> struct harmonics {
    double value[(L + 1) * (L + 1)];
    vec3 slope[(L + 1) * (L + 1)]; /* 1/Angstrom */

    explicit harmonics(const vec3 &r)
    {
        const double length = std::sqrt(dot(r, r));
        const vec3 n = {r[0] / length, r[1] / length, r[2] / length};
        double p[L + 1][L + 2] = {{1}}, c[L + 1] = {1}, s[L + 1] = {0};
        for (int l = 1; l <= L; l++) {
            for (int m = 0; m < l; m++)
                p[l][m] =
                    ((2 * l - 1) * n[1] * p[l - 1][m] - (l > 1 ? (l + m - 1) * p[l - 2][m] : 0)) / (l - m);
            p[l][l] = (2 * l - 1) * p[l - 1][l - 1];
            c[l] = n[2] * c[l - 1] - n[0] * s[l - 1];
            s[l] = n[2] * s[l - 1] + n[0] * c[l - 1];
        }
        for (int l = 0; l <= L; l++) {
            double square = 2 * l + 1; /* of K_lm */
            for (int m = 0; m <= l; m++) {
                const double k = std::sqrt(square), q = k * p[l][m], dq = k * p[l][m + 1];
                const double mc = m ? m * c[m - 1] : 0, ms = m ? m * s[m - 1] : 0;
                if (m)
                    set(l * l + l - m, q * s[m], {q * mc, dq * s[m], q * ms}, n, length);
                set(l * l + l + m, q * c[m], {-q * ms, dq * c[m], q * mc}, n, length);
                square *= (m ? 1. : 2.) / ((l + m + 1) * (l - m > 0 ? l - m : 1));
            }
        }
    }

    /* The derivative of sum g[i] value[i] by r. */
    template <class T> vec3 backward(const T *g) const
    {
        vec3 sum = {0, 0, 0};
        for (int i = 0; i < (L + 1) * (L + 1); i++)
            for (int k = 0; k < 3; k++)
                sum[k] += g[i] * slope[i][k];
        return sum;
    }

  private:
    /* d are the derivatives by n as if it were any vector; r changes its direction alone. */
    void set(int i, double y, const vec3 &d, const vec3 &n, double length)
    {
        const double along = dot(d, n);
        value[i] = y;
        for (int k = 0; k < 3; k++)
            slope[i][k] = (d[k] - along * n[k]) / length;
    }
};

/* Numbers for what training would give: the same everywhere, uniform in [-scale, scale]. */
inline std::vector<double> random_numbers(std::size_t n, double scale, unsigned seed)
{
    std::mt19937 generator(seed);
    std::vector<double> numbers(n);
    for (double &number : numbers)
        number = scale * (static_cast<double>(generator()) / 2147483648. - 1);
    return numbers;
}

/* The weights of an edge as functions of its length: w_k(r) = sum over b of R_b(r) c[b][k], with Bessel
 * functions under an envelope that ends smoothly, with two continuous derivatives, at the cutoff, as in MACE:
 *
 *     R_b = sqrt(2 / cutoff) sin(b pi d) / r * (1 - 28 d^6 + 48 d^7 - 21 d^8),    d = r / cutoff, b = 1 .. 6
 */
class radial
{
  public:
    radial(double cutoff, int columns, std::vector<double> coefficients)
        : cutoff_(cutoff), columns_(columns), coefficient_(std::move(coefficients))
    {
    }

    template <class T> void forward(double r, T *w) const
    {
        const basis f(r, cutoff_);
        for (int k = 0; k < columns_; k++) {
            double sum = 0;
            for (int b = 0; b < functions; b++)
                sum += f.value[b] * coefficient_[static_cast<std::size_t>(b * columns_ + k)];
            w[k] = static_cast<T>(sum);
        }
    }

    /* The derivative of sum g[k] w_k by r. */
    template <class T> double backward(double r, const T *g) const
    {
        const basis f(r, cutoff_);
        double sum = 0;
        for (int b = 0; b < functions; b++)
            for (int k = 0; k < columns_; k++)
                sum += f.slope[b] * coefficient_[static_cast<std::size_t>(b * columns_ + k)] * g[k];
        return sum;
    }

    static constexpr int functions = 6;

  private:
    struct basis {
        double value[functions] = {0}, slope[functions] = {0};
        basis(double r, double cutoff)
        {
            const double d = r / cutoff, pi = 3.14159265358979323846, d5 = d * d * d * d * d;
            if (d >= 1)
                return;
            const double envelope = 1 - d5 * d * (28 - 48 * d + 21 * d * d);
            const double fall = -168 * d5 * (1 - d) * (1 - d) / cutoff;
            for (int b = 0; b < functions; b++) {
                const double k = (b + 1) * pi / cutoff, norm = std::sqrt(2 / cutoff),
                             bessel = norm * std::sin(k * r) / r;
                value[b] = bessel * envelope;
                slope[b] = bessel * fall + envelope * (norm * k * std::cos(k * r) - bessel) / r;
            }
        }
    };
    double cutoff_;
    int columns_;
    std::vector<double> coefficient_; /* [functions][columns] */
};

/* ---- are forces the derivatives of the energy? ---- */

/* Compares all forces with central differences D(h) = (E(x - h) - E(x + h)) / 2h of a function energy(atoms),
 * whose terms are `size` eV together and rounded by `roundoff` of that. The error of D(h) is c h^2, of which
 * D(h) - D(h/2) is three quarters, and that of rounding over h; h, in Angstrom, makes both alike. Prints the
 * largest error, and returns whether none is larger than these two. */
template <class Energy>
bool check_forces(atoms a, const std::vector<vec3> &force, double size, double roundoff, const Energy &energy)
{
    const double h = std::cbrt(roundoff);
    double largest = 0, part = 0, norm = 0;
    for (std::size_t i = 0; i < a.position.size(); i++)
        for (int k = 0; k < 3; k++) {
            const double x = a.position[i][k];
            const auto difference = [&](double step) {
                a.position[i][k] = x - step;
                const double before = energy(a);
                a.position[i][k] = x + step;
                const double after = energy(a);
                a.position[i][k] = x;
                return (before - after) / (2 * step);
            };
            const double whole = difference(h), half = difference(h / 2);
            const double error = std::fabs(force[i][k] - (4 * half - whole) / 3);
            const double allowed = std::fabs(whole - half) + 4 * roundoff * size / h;
            largest = std::max(largest, error);
            part = std::max(part, error / allowed);
            norm = std::max(norm, std::fabs(force[i][k]));
        }
    std::printf("forces: largest %.6g eV/Angstrom, error %.2g, %.2g of what finite differences allow: %s\n",
                norm, largest, part, part <= 1 ? "right" : "WRONG");
    return part <= 1;
}

} // namespace simulation

#endif
