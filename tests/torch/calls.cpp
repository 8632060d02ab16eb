/* calls.cpp - what a call costs in a program of AOTInductor that runs without Python, beside the launch of
 * the same kernel by the C function.
 *
 *     calls MODEL CALLS DEVICE PRODUCT LIBRARY..
 *
 * MODEL is gpu.py's program: forward of PRODUCT for each of CALLS arrays x, on a graph that is so small that
 * the host's time is all there is. LIBRARY: those of the product's operators, the device's last. Prints
 * microseconds. */
#include "cgtp.h"

#include <ATen/ATen.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

static const int64_t NODES = 4, EDGES = 8;
static const int ROUNDS = 25, RUNS = 20; /* the least of ROUNDS, each of so many runs of the model */

template <class number> std::vector<number> numbers(int64_t count, number (*of)(int64_t))
{
    std::vector<number> made(count);
    for (int64_t n = 0; n < count; n++)
        made[n] = of(n);
    return made;
}

/* Edge e goes from node e % NODES to node e / 2: sender, receiver, receiver_row, by_sender, sender_row. */
static std::vector<at::Tensor> graph_tensors(at::Device device)
{
    const auto rows = numbers<int64_t>(NODES + 1, [](int64_t n) { return n * (EDGES / NODES); });
    const auto sender = numbers<int32_t>(EDGES, [](int64_t e) { return int32_t(e % NODES); });
    const auto receiver = numbers<int32_t>(EDGES, [](int64_t e) { return int32_t(e / (EDGES / NODES)); });
    const auto by_sender = numbers<int32_t>(
        EDGES, [](int64_t n) { return int32_t(n / (EDGES / NODES) + n % (EDGES / NODES) * NODES); });
    std::vector<at::Tensor> made = {at::tensor(sender), at::tensor(receiver), at::tensor(rows),
                                    at::tensor(by_sender), at::tensor(rows)};
    for (at::Tensor &t : made)
        t = t.to(device);
    return made;
}

/* The C function, of which all arguments are made before. */
struct launch {
    const cgtp_kernel &kernel;
    cgtp_graph graph = {};
    std::vector<const void *> from;
    std::vector<void *> to;
    at::Tensor z, room;

    launch(const cgtp_product &product, const std::vector<at::Tensor> &arrays,
           const std::vector<at::Tensor> &ends)
        : kernel(product.kernel[0])
    {
        graph.items = EDGES;
        graph.senders = graph.receivers = NODES;
        graph.sender = ends[0].data_ptr<int32_t>();
        graph.receiver = ends[1].data_ptr<int32_t>();
        graph.receiver_row = ends[2].data_ptr<int64_t>();
        graph.by_sender = ends[3].data_ptr<int32_t>();
        graph.sender_row = ends[4].data_ptr<int64_t>();
        z = at::empty({NODES, product.dim[CGTP_Z]}, arrays[0].options());
        room = at::empty({static_cast<int64_t>(kernel.workspace(&graph)) + 1},
                         arrays[0].options().dtype(at::kByte));
        for (const at::Tensor &array : arrays)
            from.push_back(array.data_ptr());
        to.push_back(z.data_ptr());
    }
    cgtp_status operator()() const /* on the default stream, which is PyTorch's */
    {
        return kernel.run(&graph, from.data(), to.data(), nullptr, room.data_ptr(), room.numel(), nullptr);
    }
};

/* The host's time of a call in microseconds: within a round nothing is waited for. */
template <class function> double microseconds(at::Device device, int calls, function call)
{
    const c10::impl::VirtualGuardImpl on(device.type());
    double best = 1e30;
    for (int round = 0; round < ROUNDS; round++) {
        if (!device.is_cpu())
            on.synchronizeDevice(device.index());
        const auto start = std::chrono::steady_clock::now();
        for (int n = 0; n < calls; n++)
            call();
        const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
        best = std::min(best, took.count() / calls);
    }
    return best;
}

static const cgtp_product &load(const char *name, char **libraries)
{
    void *library = nullptr;
    for (; *libraries; libraries++)
        if (!(library = dlopen(*libraries, RTLD_NOW | RTLD_LOCAL))) {
            std::fprintf(stderr, "%s\n", dlerror());
            std::exit(2);
        }
    return *static_cast<const cgtp_product *>(dlsym(library, (std::string(name) + "_product").c_str()));
}

int main(int, char **argv)
{
    const int count = std::atoi(argv[2]);
    const at::Device device(argv[3]);
    const cgtp_product &product = load(argv[4], argv + 5);
    torch::inductor::AOTIModelPackageLoader model(argv[1]);
    const c10::InferenceMode inference;
    at::manual_seed(1);
    std::vector<at::Tensor> inputs;
    auto array = [&](int64_t rows, cgtp_slot slot) {
        inputs.push_back(at::randn({rows, product.dim[slot]}).to(device));
    };
    for (int n = 0; n < count; n++)
        array(NODES, CGTP_X);
    array(EDGES, CGTP_Y);
    array(EDGES, CGTP_W);
    const at::Tensor y = inputs[count], w = inputs[count + 1];
    const std::vector<at::Tensor> ends = graph_tensors(device);
    inputs.insert(inputs.end(), ends.begin(), ends.end());
    const std::vector<at::Tensor> found = model.run(inputs);
    for (int n = 0; n < count; n++) {
        const launch wanted(product, {inputs[n], y, w}, ends);
        if (wanted() != CGTP_OK || !at::equal(wanted.z, found[n])) {
            std::printf("call %d: different\n", n);
            return 1;
        }
    }
    const launch one(product, {inputs[0], y, w}, ends);
    const double bare = microseconds(device, RUNS * count, one);
    const double add = microseconds(device, RUNS * count, [&] { inputs[0] + inputs[0]; });
    const double call = microseconds(device, RUNS, [&] { model.run(inputs); }) / count;
    std::printf("bare launch %.2f, call of AOTInductor %.2f, x + x %.2f\n", bare, call, add);
    return 0;
}
