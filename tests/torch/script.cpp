/* script.cpp - a program without Python that runs a model of TorchScript, with the operators of a package: energy and forces
 * are those of Python.
 *
 *     script FOLDER NODES EDGES
 *
 * FOLDER has libedges_cpu.so and libcgtp_script.so, which this is linked with, and script.pt and script.in of scripted.py. */
#include <torch/script.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

static at::Tensor read(std::ifstream &file, at::IntArrayRef sizes, at::ScalarType type)
{
    at::Tensor made = at::empty(sizes, type);
    file.read(static_cast<char *>(made.data_ptr()), static_cast<std::streamsize>(made.nbytes()));
    return made;
}

int main(int, char **argv)
{
    const std::string folder = argv[1];
    const int64_t nodes = std::atoll(argv[2]), items = std::atoll(argv[3]);
    std::ifstream file(folder + "/script.in", std::ios::binary);
    c10::Dict<std::string, at::Tensor> data;
    data.insert("x", read(file, {nodes, 8}, at::kDouble));
    data.insert("y", read(file, {items, 4}, at::kDouble));
    data.insert("w", read(file, {items, 6}, at::kDouble));
    data.insert("edge_index", read(file, {2, items}, at::kLong));
    const at::Tensor energy = read(file, {}, at::kDouble), forces = read(file, {nodes, 8}, at::kDouble);
    torch::jit::Module model = torch::jit::load(folder + "/script.pt");
    bool same = true;
    for (int call = 0; call < 3; call++) {
        const auto found = model.forward({data}).toGenericDict();
        same &= at::allclose(found.at("energy").toTensor(), energy, 1e-12) &&
                at::allclose(found.at("forces").toTensor(), forces, 0, 1e-11);
    }
    data.at("edge_index")[0][3] = 99;
    std::string said;
    try {
        model.forward({data});
    } catch (const std::exception &error) {
        said = error.what();
    }
    const bool refused = said.find("a sender 99 at edge 3") != std::string::npos;
    std::printf("TorchScript: %s, a wrong edge: %s\n", same ? "same" : "different", refused ? "refused" : said.c_str());
    return !same || !refused;
}
