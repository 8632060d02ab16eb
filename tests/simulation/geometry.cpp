/* geometry.cpp - docs/examples/common/simulation.h against what is known otherwise: neighbours by a search of
 * all images and of a lattice, harmonics by their closed forms (tests/demo/carbon.c) and by the addition
 * theorem. TAP. */
#include "cgtp_check.h"
#include "simulation.h"

extern "C" {
#include "carbon.h"
}

#include <tuple>

using namespace simulation;

static int tests, failures;

static void ok(bool right, const char *name)
{
    std::printf("%s %d - %s\n", right ? "ok" : "not ok", ++tests, name);
    failures += !right;
}

/* ---- neighbours ---- */

using edge = std::tuple<int, int, long long, long long, long long>; /* vectors in 1e-7 Angstrom */

static edge make(int sender, int receiver, const double *v)
{
    return edge(receiver, sender, std::llround(v[0] * 1e7), std::llround(v[1] * 1e7),
                std::llround(v[2] * 1e7));
}

static std::vector<edge> found(const atoms &a, double cutoff)
{
    edges e;
    std::vector<edge> all;
    find_neighbours(a, cutoff, e);
    expect(cgtp_graph_check(&e.graph, 1), "the graph");
    for (std::size_t i = 0; i < e.vector.size(); i++)
        all.push_back(make(e.graph.sender[i], e.graph.receiver[i], e.vector[i].data()));
    std::sort(all.begin(), all.end());
    return all;
}

static std::vector<edge> searched(const atoms &a, double cutoff, int images)
{
    std::vector<edge> all;
    const int n = static_cast<int>(a.position.size());
    for (int r = 0; r < n; r++)
        for (int s = 0; s < n; s++)
            for (int i = -images; i <= images; i++)
                for (int j = -images; j <= images; j++)
                    for (int k = -images; k <= images; k++) {
                        vec3 v;
                        for (int c = 0; c < 3; c++)
                            v[c] = a.position[s][c] - a.position[r][c] + i * a.lattice[0][c] +
                                   j * a.lattice[1][c] + k * a.lattice[2][c];
                        if (dot(v, v) < cutoff * cutoff && (s != r || i || j || k))
                            all.push_back(make(s, r, v.data()));
                    }
    std::sort(all.begin(), all.end());
    return all;
}

static void test_neighbours()
{
    atoms a;
    const std::vector<double> place = random_numbers(36, 8, 3); /* in the cell and around it */
    for (int i = 0; i < 12; i++)
        a.position.push_back({place[3 * i], place[3 * i + 1], place[3 * i + 2]});
    a.lattice = {vec3{3, 0, 0}, vec3{1.4, 4, 0}, vec3{-0.7, 1, 9}};
    const std::vector<edge> all = searched(a, 4.2, 14);
    ok(all.size() > 300 && found(a, 4.2) == all,
       "neighbours in a cell smaller than the cutoff, with edges askew");
    for (vec3 &edge : a.lattice)
        for (double &component : edge)
            component *= 5;
    ok(found(a, 4.2) == searched(a, 4.2, 3), "and in one of several bins");

    struct carbon c;
    const int cells = 4;
    std::vector<edge> listed;
    if (!carbon_build(&c, cells, 1000000))
        throw std::bad_alloc();
    atoms diamond;
    const int basis[8][3] = {{0, 0, 0}, {1, 1, 1}, {0, 2, 2}, {1, 3, 3},
                             {2, 0, 2}, {3, 1, 3}, {2, 2, 0}, {3, 3, 1}};
    for (int i = 0; i < cells * cells * cells * 8; i++) {
        const int cell[3] = {i / 8 / cells / cells, i / 8 / cells % cells, i / 8 % cells};
        vec3 x;
        for (int k = 0; k < 3; k++)
            x[k] = (cell[k] + basis[i % 8][k] / 4.) * 3.567;
        diamond.position.push_back(x);
    }
    diamond.lattice = {vec3{cells * 3.567, 0, 0}, vec3{0, cells * 3.567, 0}, vec3{0, 0, cells * 3.567}};
    for (std::int64_t e = 0; e < c.graph.items; e++)
        listed.push_back(make(c.sender[e], c.receiver[e], c.vector[e]));
    std::sort(listed.begin(), listed.end());
    ok(listed.size() > 50000 && found(diamond, 6) == listed, "diamond's neighbours are those of the demo");

    double largest = 0;
    for (std::int64_t e = 0; e < c.graph.items; e++) {
        float y[CARBON_HARMONICS];
        carbon_harmonics(&c, e, y);
        const harmonics<3> h({c.vector[e][0], c.vector[e][1], c.vector[e][2]});
        for (int i = 0; i < CARBON_HARMONICS; i++)
            largest = std::max(largest, std::fabs(h.value[i] - static_cast<double>(y[i])));
    }
    ok(largest < 4 * std::numeric_limits<float>::epsilon(),
       "harmonics are those of closed forms, rounded to float");
    carbon_free(&c);
}

/* ---- harmonics: sum over m of Y_lm(a) Y_lm(b) = (2l+1) P_l(t), t the cosine between a and b ---- */

static constexpr int most = 11;

static void test_harmonics()
{
    const std::vector<double> random = random_numbers(600, 2, 4);
    double value = 0,
           slope = 0; /* the largest errors, in units of the roundoff times the sum of absolute terms */
    for (int i = 0; i < 100; i++) {
        const double *n = &random[static_cast<std::size_t>(6 * i)];
        const vec3 a = {n[0], n[1], n[2]}, b = {n[3], n[4], n[5]};
        const double la = std::sqrt(dot(a, a)), lb = std::sqrt(dot(b, b)), t = dot(a, b) / la / lb;
        const harmonics<most> ya(a), yb(b);
        double p[most + 1] = {1, t}, dp[most + 1] = {0, 1};
        for (int l = 2; l <= most; l++) {
            p[l] = ((2 * l - 1) * t * p[l - 1] - (l - 1) * p[l - 2]) / l;
            dp[l] = l * p[l - 1] + t * dp[l - 1];
        }
        for (int l = 0; l <= most; l++) {
            double sum = 0, size = 2 * l + 1;
            vec3 by_a = {0, 0, 0};
            for (int k = l * l; k < (l + 1) * (l + 1); k++) {
                sum += ya.value[k] * yb.value[k];
                size += std::fabs(ya.value[k] * yb.value[k]);
                for (int c = 0; c < 3; c++)
                    by_a[c] += yb.value[k] * ya.slope[k][c];
            }
            value = std::max(value, std::fabs(sum - (2 * l + 1) * p[l]) / size);
            for (int c = 0; c < 3; c++) {
                const double exact = (2 * l + 1) * dp[l] * (b[c] / lb - t * a[c] / la) / la;
                slope = std::max(slope, std::fabs(by_a[c] - exact) * la / (size * (l + 1)));
            }
        }
    }
    const double roundoff = std::numeric_limits<double>::epsilon() / 2;
    std::printf("# largest errors: %.1f of values, %.1f of slopes, in units of u S\n", value / roundoff,
                slope / roundoff);
    ok(value < 16 * most * roundoff, "harmonics up to l = 11: the addition theorem");
    ok(slope < 16 * most * roundoff, "and its derivative");
}

/* ---- what is wrong is told ---- */

template <class Function> static std::string told(const Function &function)
{
    try {
        function();
    } catch (const std::runtime_error &error) {
        return error.what();
    }
    return "nothing";
}

static std::string read(const char *text)
{
    std::ofstream("wrong.xyz") << text;
    return told([] { read_xyz("wrong.xyz"); });
}

static void test_errors()
{
    const char *lattice = "Lattice=\"1 0 0 0 1 0 0 0 1\"\n", *row = "C 0 0 0\n";
    const std::string right = std::string("1\n") + lattice + row;
    ok(read(right.c_str()) == "nothing", "a right file is read");
    ok(read("") == "wrong.xyz: cannot be read as extended XYZ", "an empty file");
    ok(read("1\nno lattice\nC 0 0 0\n") == "wrong.xyz: line 2 has no Lattice=\"...\"", "no lattice");
    ok(read("2\nLattice=\"1 0 0 0 1 0 0 0 1\"\nC 0 0 0\n") == read("1\nLattice=\"1 0 0 0 1\"\nC 0 0 0\n"),
       "an atom or a number is missing");
    ok(read("1\nLattice=\"1 0 0 0 1 0 0 0 1\" Properties=pos:R:3\n0 0 0\n") ==
           "wrong.xyz: Properties do not begin with species:S:1:pos:R:3",
       "other columns");
    atoms a;
    edges e;
    a.position = {{0, 0, 0}, {2, 0, 0}};
    a.lattice = {vec3{2, 0, 0}, vec3{0, 2, 0}, vec3{0, 0, 2}};
    ok(told([&] { find_neighbours(a, 3, e); }) == "two atoms are in one place",
       "an atom on the image of another");
    a.lattice[2] = {0, 2, 0};
    ok(told([&] { find_neighbours(a, 3, e); }) == "the lattice has no volume", "a flat cell");
    ok(told([&] {
           e.clear();
           e.add(0, 1, {1, 0, 0});
           e.add(1, 0, {-1, 0, 0});
           e.finish(2, 2);
       }) == "the edges: " + std::string(cgtp_status_text(CGTP_BAD_GRAPH)),
       "edges out of order");
}

int main()
{
    test_neighbours();
    test_harmonics();
    test_errors();
    std::printf("1..%d\n", tests);
    return failures != 0;
}
