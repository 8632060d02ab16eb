/* md.cpp - molecular dynamics of periodic carbon without Python: velocity Verlet at constant energy.
 *
 *     md FILE.xyz [STEP/fs [STEPS]]    from 600 K on: energies over time, and how well they add up
 *     md FILE.xyz --forces             the energy in eV, and each atom's force in eV/Angstrom
 *     md FILE.xyz --check              compares all forces with finite differences of the energy
 *
 * Lengths are in Angstrom, times in fs, masses in u, energies in eV. The neighbour list is made anew in each
 * step.
 */
#include "potential.h"

#include <cstring>

using namespace simulation;

constexpr double mass = 12.011;                 /* u */
constexpr double boltzmann = 8.617333262e-5;    /* eV/K */
constexpr double acceleration = 9.648533212e-3; /* 1 eV/(Angstrom u) in Angstrom/fs^2 */

class dynamics
{
  public:
    atoms system;
    std::vector<vec3> velocity; /* Angstrom/fs */

    explicit dynamics(const atoms &a) : system(a), velocity(a.position.size(), vec3{0, 0, 0})
    {
        for (const std::string &element : a.element)
            if (element != "C")
                throw std::runtime_error("the potential knows carbon, C, alone: there is " + element);
        evaluate();
    }

    /* Velocities of a temperature in K, of a fixed seed, with no momentum. */
    void heat(double temperature)
    {
        const std::size_t n = velocity.size();
        const std::vector<double> random = random_numbers(3 * n, 1, 1);
        vec3 mean = {0, 0, 0};
        for (std::size_t i = 0; i < 3 * n; i++)
            mean[i % 3] += random[i] / static_cast<double>(n);
        for (std::size_t i = 0; i < 3 * n; i++)
            velocity[i / 3][i % 3] = random[i] - mean[i % 3];
        const double factor = std::sqrt(temperature / this->temperature());
        for (vec3 &v : velocity)
            for (double &component : v)
                component *= factor;
    }

    void step(double time)
    {
        kick(time / 2);
        for (std::size_t i = 0; i < velocity.size(); i++)
            for (int k = 0; k < 3; k++)
                system.position[i][k] += time * velocity[i][k];
        evaluate();
        kick(time / 2);
    }

    void evaluate()
    {
        find_neighbours(system, potential::cutoff, edges_);
        potential_.compute(edges_);
    }

    const std::vector<vec3> &force() const
    {
        return potential_.force;
    }
    double potential_energy() const
    {
        return sum(false);
    }
    double size() const
    {
        return sum(true);
    } /* of the terms that are the potential energy */
    double kinetic_energy() const
    {
        double squares = 0;
        for (const vec3 &v : velocity)
            squares += dot(v, v);
        return mass / 2 * squares / acceleration;
    }
    double temperature() const
    {
        return 2 * kinetic_energy() / (3 * (static_cast<double>(velocity.size()) - 1) * boltzmann);
    }

  private:
    potential potential_;
    edges edges_;

    void kick(double time)
    {
        for (std::size_t i = 0; i < velocity.size(); i++)
            for (int k = 0; k < 3; k++)
                velocity[i][k] += time * acceleration / mass * force()[i][k];
    }

    double sum(bool absolute) const
    {
        double total = 0;
        for (double energy : potential_.energy)
            total += absolute ? std::fabs(energy) : energy;
        return total;
    }
};

/* The total energy should not change. It fluctuates by the square of the time step, and does not drift. */
static void run(dynamics &d, double time, int steps)
{
    d.heat(600);
    const double start = d.potential_energy() + d.kinetic_energy();
    double largest = 0, early = 0,
           late = 0; /* mean errors of both halves: a drift is twice what they differ by */
    std::printf("%10s %16s %16s %16s %8s\n", "time/fs", "potential/eV", "kinetic/eV", "total/eV", "T/K");
    for (int i = 0; i <= steps; i++) {
        if (i)
            d.step(time);
        const double total = d.potential_energy() + d.kinetic_energy();
        largest = std::max(largest, std::fabs(total - start));
        if (i && i <= steps / 2)
            early += (total - start) / (steps / 2);
        else if (i)
            late += (total - start) / (steps - steps / 2);
        if (i % std::max(1, steps / 10) == 0)
            std::printf("%10.3f %16.9f %16.9f %16.9f %8.1f\n", i * time, d.potential_energy(),
                        d.kinetic_energy(), total, d.temperature());
    }
    std::printf("total energy: fluctuation %.3e eV, drift %.3e eV in %g fs\n", largest, 2 * (late - early),
                time * steps);
}

int main(int count, char **argument)
{
    const std::string word = count > 2 ? argument[2] : "0.5";
    const bool forces = word == "--forces", check = word == "--check";
    const double time = std::atof(word.c_str());
    const int steps = count > 3 ? std::atoi(argument[3]) : 200;
    if (count < 2 || count > 4 || (!forces && !check && (!(time > 0) || steps < 2)) ||
        ((forces || check) && count > 3)) {
        std::fprintf(stderr, "usage: md FILE.xyz [STEP/fs [STEPS] | --forces | --check]\n");
        return 2;
    }
    try {
        dynamics d(read_xyz(argument[1]));
        std::printf("%s: %zu atoms, energy %.9f eV\n", layer1_product.backend, d.velocity.size(),
                    d.potential_energy());
        if (forces)
            for (std::size_t i = 0; i < d.velocity.size(); i++)
                std::printf("%-2s %16.9f %16.9f %16.9f\n", d.system.element[i].c_str(), d.force()[i][0],
                            d.force()[i][1], d.force()[i][2]);
        else if (check) {
            /* An atom's energy is a sum of some tens of terms. */
            const double roundoff = 64 * std::numeric_limits<potential::real>::epsilon();
            dynamics moved(d.system);
            return !check_forces(d.system, d.force(), d.size(), roundoff, [&](const atoms &a) {
                moved.system = a;
                moved.evaluate();
                return moved.potential_energy();
            });
        } else
            run(d, time, steps);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "md: %s\n", error.what());
        return 1;
    }
    return 0;
}
