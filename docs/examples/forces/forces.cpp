/* forces.cpp - energy and forces of a periodic structure by one generated convolution, in C or CUDA.
 *
 *     forces FILE.xyz            prints the energy in eV, and each atom's force in eV/Angstrom
 *     forces FILE.xyz --check    compares all forces with finite differences instead
 *
 * What a network computes of every edge (x_s - x_r) is y, the spherical harmonics of its direction, and w,
 * functions of its length. The convolution sums them over neighbours; the energy is made of invariants of
 * what comes out:
 *
 *     z_r = sum over edges from s to r of x_s (*) y w
 *     E = a/2 sum over atoms, channels and components of z^2
 *
 * Backward, gz = a z gives gy and gw, and the chain rule through y and w the derivative by the edge's vector,
 * which pulls at both of its atoms.
 */
#include "layer.h"
#include "../common/simulation.h"

#include <cstring>
#include <map>
#include <numeric>
#include <type_traits>

using namespace simulation;

/* float or double, as layer.yaml says */
using real = std::remove_const_t<std::remove_pointer_t<decltype(layer_forward_arrays::x_)>>;

constexpr int L = degree(layer_DIM_Y);
static_assert(L >= 0, "y is not 0e+1o+2e+..");

constexpr double cutoff = 3.2; /* Angstrom */
constexpr double scale = 0.01; /* eV, a above */

class model
{
  public:
    double energy = 0;       /* eV */
    std::vector<vec3> force; /* eV/Angstrom */

    model() : radial_(cutoff, layer_DIM_W, random_numbers(radial::functions * layer_DIM_W, 1, 1))
    {
    }

    /* The energy, and where `forces` the forces too. */
    void compute(const atoms &a, bool forces)
    {
        find_neighbours(a, cutoff, edges_);
        const std::size_t n = a.position.size(), m = edges_.vector.size();
        x_.resize(n * layer_DIM_X);
        for (std::size_t i = 0; i < n; i++) {
            std::vector<double> &row = embedding_[a.element[i]];
            if (row.empty()) /* of an element that is new */
                row = random_numbers(layer_DIM_X, 1,
                                     std::accumulate(a.element[i].begin(), a.element[i].end(), 0u));
            std::copy(row.begin(), row.end(), &x_[i * layer_DIM_X]);
        }
        y_.resize(m * layer_DIM_Y);
        w_.resize(m * layer_DIM_W);
        z_.resize(n * layer_DIM_Z);
        for (std::size_t e = 0; e < m; e++) {
            const vec3 &r = edges_.vector[e];
            const harmonics<L> y(r);
            std::copy(std::begin(y.value), std::end(y.value), &y_[e * layer_DIM_Y]);
            radial_.forward(std::sqrt(dot(r, r)), &w_[e * layer_DIM_W]);
        }
        call_("layer_forward", layer_forward_with, layer_forward_workspace, edges_.graph,
              {x_.data(), y_.data(), w_.data(), z_.data()});
        wait();
        energy = 0;
        for (real z : z_)
            energy += scale / 2 * z * z;
        if (forces)
            pull(n, m);
    }

    /* That the energy is the sum of. */
    double terms() const
    {
        return static_cast<double>(z_.size());
    }

  private:
    radial radial_;
    std::map<std::string, std::vector<double>> embedding_; /* rows of x, by element */
    edges edges_;
    buffer<real> x_, y_, w_, z_, gz_, gy_, gw_;
    caller call_;

    void pull(std::size_t n, std::size_t m)
    {
        gz_.resize(n * layer_DIM_Z);
        gy_.resize(m * layer_DIM_Y);
        gw_.resize(m * layer_DIM_W);
        for (std::size_t i = 0; i < gz_.size(); i++)
            gz_[i] = static_cast<real>(scale * z_[i]);
        call_("layer_gradients", layer_gradients_with, layer_gradients_workspace, edges_.graph,
              {x_.data(), y_.data(), w_.data(), gz_.data(), gy_.data(), gw_.data()});
        wait();
        force.assign(n, vec3{0, 0, 0});
        for (std::size_t e = 0; e < m; e++) {
            const vec3 &r = edges_.vector[e];
            const double length = std::sqrt(dot(r, r));
            const double along = radial_.backward(length, &gw_[e * layer_DIM_W]) / length;
            const vec3 by_direction = harmonics<L>(r).backward(&gy_[e * layer_DIM_Y]);
            for (int k = 0; k < 3; k++) { /* r = x_s - x_r */
                const double g = by_direction[k] + along * r[k];
                force[edges_.graph.sender[e]][k] -= g;
                force[edges_.graph.receiver[e]][k] += g;
            }
        }
    }
};

int main(int count, char **argument)
{
    const bool check = count == 3 && !std::strcmp(argument[2], "--check");
    if (count != 2 && !check) {
        std::fprintf(stderr, "usage: forces FILE.xyz [--check]\n");
        return 2;
    }
    try {
        const atoms a = read_xyz(argument[1]);
        model m;
        m.compute(a, true);
        std::printf("%s: %zu atoms, energy %.9f eV\n", layer_product.backend, a.position.size(), m.energy);
        if (check) {
            const double roundoff = 8 * std::numeric_limits<real>::epsilon() +          /* of z, and of the */
                                    m.terms() * std::numeric_limits<double>::epsilon(); /* sum of squares */
            model moved;
            return !check_forces(a, m.force, m.energy, roundoff, [&](const atoms &at) {
                moved.compute(at, false);
                return moved.energy;
            });
        }
        for (std::size_t i = 0; i < a.position.size(); i++)
            std::printf("%-2s %14.9f %14.9f %14.9f\n", a.element[i].c_str(), m.force[i][0], m.force[i][1],
                        m.force[i][2]);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "forces: %s\n", error.what());
        return 1;
    }
    return 0;
}
