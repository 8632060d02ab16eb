/* program.cpp - calls the library; energy.py does the same, and both print the same. */
#include "energy.h"

#include <cstdio>
#include <vector>

/* Numbers that are the same in every language. */
static std::vector<float> numbers(int n)
{
    std::vector<float> made(n);
    for (int i = 0; i < n; i++)
        made[i] = (i * 37 % 41 - 20) / 16.0f;
    return made;
}

int main()
{
    const int nodes = 4, edges = 9;
    std::vector<int32_t> sender, receiver;
    for (int e = 0; e < edges; e++) {
        sender.push_back(e * 3 % nodes);
        receiver.push_back(e * nodes / edges);
    }
    const std::vector<float> x = numbers(nodes * 16), y = numbers(edges * 4), w = numbers(edges * 16);
    std::vector<float> gx(x.size());
    std::printf("energy %.17g\n", energy(nodes, edges, sender.data(), receiver.data(), x.data(), y.data(),
                                      w.data(), gx.data()));
    for (int u = 0; u < 4; u++)
        std::printf("gx[0, %d] %.17g\n", u, gx[u]);
}
