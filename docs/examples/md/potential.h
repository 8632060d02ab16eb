/* potential.h - a potential for carbon of two generated layers: energy and forces of the edges that it is
 * given. md.cpp gives it those of a periodic system, the pair style of ../lammps those of a processor's atoms
 * and their ghosts.
 *
 *     h = layer1(c, y, w1)      features of an atom, from its neighbours
 *     s = layer2(h, y, w2)      scalars of an atom, from its neighbours' features
 *     E = sum over atoms of     a tanh(h_0) + k (h_1^2 + h_2^2) + b tanh(s)
 *       + sum over pairs of     a Morse potential, which ends before second neighbours
 *
 * with h_l the part of degree l. y and w are functions of the edges' vectors; weights are fixed random
 * numbers in place of trained ones. h_1 and h_2 vanish where neighbours are around an atom as in diamond, so
 * that k > 0 holds it together. Energies are in eV, lengths in Angstrom.
 */
#ifndef POTENTIAL_H
#define POTENTIAL_H

#include "layer1.h"
#include "layer2.h"
#include "../common/simulation.h"

#include <functional>
#include <type_traits>

class potential
{
  public:
    using real =
        std::remove_const_t<std::remove_pointer_t<decltype(layer1_forward_arrays::x_)>>; /* as the specs say
                                                                                          */
    using vec3 = simulation::vec3;

    static constexpr double cutoff = 3.2;         /* Angstrom */
    static constexpr int features = layer2_DIM_X; /* numbers of an atom that layer2 reads of its neighbours */

    /* Where senders are more than receivers, the others are ghosts: copies of atoms, of this processor or of
     * another. Rows of features, one for each sender, are handed to these: the first is to copy atoms' rows
     * to their ghosts, the second to add ghosts' rows to their atoms'. */
    std::function<void(real *rows)> to_ghosts, from_ghosts;

    std::vector<double> energy; /* of each receiver, eV */
    std::vector<vec3> force;    /* on each sender, eV/Angstrom; those on ghosts belong to their atoms */

    potential();

    /* Edges longer than the cutoff count for nothing. Throws std::runtime_error. */
    void compute(const simulation::edges &);

  private:
    static constexpr int L = simulation::degree(layer1_DIM_Y), channels = layer1_DIM_X,
                         scalars = layer2_DIM_Z;
    static constexpr double stiffness = 0.3; /* eV: k above */
    static_assert(L >= 0 && layer1_DIM_Y == layer2_DIM_Y && layer1_DIM_Z == features,
                  "the layers fit each other");

    simulation::radial radial1_, radial2_;
    std::vector<double> embedding_, readout1_, readout2_; /* c and a [channels], b [scalars] */
    simulation::buffer<real> x_, y_, w1_, w2_, h_, s_;    /* what layers read and write */
    simulation::buffer<real> gh_, gs_, gy1_, gy2_, gw1_, gw2_;
    simulation::caller call_;

    void describe(const simulation::edges &);
    void forward(const cgtp_graph &);
    void read_out(std::size_t atoms);
    void backward(const cgtp_graph &);
    void pull(const simulation::edges &);
    static double morse(double r, double *slope);
};

inline potential::potential()
    : radial1_(cutoff, layer1_DIM_W, simulation::random_numbers(6 * layer1_DIM_W, 0.5, 1)),
      radial2_(cutoff, layer2_DIM_W, simulation::random_numbers(6 * layer2_DIM_W, 0.3, 2)),
      embedding_(simulation::random_numbers(channels, 1, 3)),
      readout1_(simulation::random_numbers(channels, 0.1, 4)),
      readout2_(simulation::random_numbers(scalars, 0.1, 5))
{
}

inline void potential::compute(const simulation::edges &e)
{
    const std::size_t atoms = static_cast<std::size_t>(e.graph.receivers);
    describe(e);
    forward(e.graph);
    read_out(atoms);
    backward(e.graph);
    pull(e);
}

/* What layers read of atoms and edges. */
inline void potential::describe(const simulation::edges &e)
{
    const std::size_t n = static_cast<std::size_t>(e.graph.senders), m = e.vector.size();
    x_.resize(n * layer1_DIM_X);
    for (std::size_t i = 0; i < n; i++)
        std::copy(embedding_.begin(), embedding_.end(), &x_[i * layer1_DIM_X]);
    y_.resize(m * layer1_DIM_Y);
    w1_.resize(m * layer1_DIM_W);
    w2_.resize(m * layer2_DIM_W);
    for (std::size_t i = 0; i < m; i++) {
        const vec3 &v = e.vector[i];
        const double r = std::sqrt(simulation::dot(v, v));
        const simulation::harmonics<L> y(v);
        std::copy(std::begin(y.value), std::end(y.value), &y_[i * layer1_DIM_Y]);
        radial1_.forward(r, &w1_[i * layer1_DIM_W]);
        radial2_.forward(r, &w2_[i * layer2_DIM_W]);
    }
}

/* h has a row for each sender; layer1 writes those of the receivers, which come first. */
inline void potential::forward(const cgtp_graph &graph)
{
    h_.resize(static_cast<std::size_t>(graph.senders) * features);
    s_.resize(static_cast<std::size_t>(graph.receivers) * scalars);
    call_("layer1_forward", layer1_forward_with, layer1_forward_workspace, graph,
          {x_.data(), y_.data(), w1_.data(), h_.data()});
    simulation::wait();
    if (to_ghosts)
        to_ghosts(h_.data());
    call_("layer2_forward", layer2_forward_with, layer2_forward_workspace, graph,
          {h_.data(), y_.data(), w2_.data(), s_.data()});
    simulation::wait();
}

/* Energies, and their derivatives by s; those by h are added in backward. */
inline void potential::read_out(std::size_t atoms)
{
    energy.assign(atoms, 0);
    gs_.resize(s_.size());
    for (std::size_t i = 0; i < atoms; i++) {
        for (int u = 0; u < channels; u++)
            energy[i] += readout1_[u] * std::tanh(h_[i * features + u]);
        for (int u = channels; u < features; u++)
            energy[i] += stiffness * h_[i * features + u] * h_[i * features + u];
        for (int u = 0; u < scalars; u++) {
            const double t = std::tanh(s_[i * scalars + u]);
            energy[i] += readout2_[u] * t;
            gs_[i * scalars + u] = static_cast<real>(readout2_[u] * (1 - t * t));
        }
    }
}

inline void potential::backward(const cgtp_graph &graph)
{
    const std::size_t m = static_cast<std::size_t>(graph.items);
    gh_.resize(h_.size());
    gy1_.resize(y_.size());
    gy2_.resize(y_.size());
    gw1_.resize(m * layer1_DIM_W);
    gw2_.resize(m * layer2_DIM_W);
    call_("layer2_backward", layer2_backward_with, layer2_backward_workspace, graph,
          {h_.data(), y_.data(), w2_.data(), gs_.data(), gh_.data(), gy2_.data(), gw2_.data()});
    simulation::wait();
    if (from_ghosts)
        from_ghosts(gh_.data());
    for (std::size_t i = 0; i < energy.size(); i++)
        for (int u = 0; u < features; u++) {
            const double h = h_[i * features + u], t = std::tanh(h);
            gh_[i * features + u] +=
                static_cast<real>(u < channels ? readout1_[u] * (1 - t * t) : 2 * stiffness * h);
        }
    call_("layer1_gradients", layer1_gradients_with, layer1_gradients_workspace, graph,
          {x_.data(), y_.data(), w1_.data(), gh_.data(), gy1_.data(), gw1_.data()});
    simulation::wait();
}

/* The chain rule through y and w: the derivative by an edge's vector x_s - x_r pulls at both of its atoms. */
inline void potential::pull(const simulation::edges &e)
{
    force.assign(static_cast<std::size_t>(e.graph.senders), vec3{0, 0, 0});
    for (std::size_t i = 0; i < e.vector.size(); i++) {
        const vec3 &v = e.vector[i];
        const simulation::harmonics<L> y(v);
        const vec3 first = y.backward(&gy1_[i * layer1_DIM_Y]), second = y.backward(&gy2_[i * layer1_DIM_Y]);
        const double r = std::sqrt(simulation::dot(v, v));
        double slope;
        energy[e.graph.receiver[i]] += morse(r, &slope) / 2;
        const double along = slope / 2 + radial1_.backward(r, &gw1_[i * layer1_DIM_W]) +
                             radial2_.backward(r, &gw2_[i * layer2_DIM_W]);
        for (int k = 0; k < 3; k++) {
            const double g = first[k] + second[k] + along * v[k] / r;
            force[e.graph.sender[i]][k] -= g;
            force[e.graph.receiver[i]][k] += g;
        }
    }
}

/* Of a pair, in eV, and its derivative by r: 10 eV (q^2 - 2 q) (1 - d^2)^3, which is least, -1.7 eV, at 1.53
 * Angstrom. */
inline double potential::morse(double r, double *slope)
{
    const double depth = 10, steepness = 2, end = 2.4, d = r / end; /* eV, 1/Angstrom, Angstrom */
    const double s = d < 1 ? 1 - d * d : 0, q = std::exp(-steepness * (r - 1.7));
    const double well = depth * (q * q - 2 * q), well_slope = 2 * depth * steepness * (q - q * q);
    *slope = well_slope * s * s * s - well * 6 * d / end * s * s;
    return well * s * s * s;
}

#endif
