/* SPDX-License-Identifier: MIT */
/* cgtp_script.cpp - products as operators that TorchScript takes, and that are differentiable without Python.
 *
 * What it adds to the operators of products, which it calls by name, is autograd: the graph of derivatives is made here, of
 * forward, backward and double_backward. PyTorch's stable ABI has no autograd, so this library, libcgtp_script.so of a
 * package, is for the PyTorch that it was built with; it is loaded where a module is scripted, and by programs that run one.
 *
 *     cgtp_script::convolve(str product, Tensor x, Tensor y, Tensor? w, Tensor sender, Tensor receiver, int senders,
 *                           int receivers, int order, int size, bool[] item_rows) -> Tensor
 *     cgtp_script::tensor_product(str product, Tensor x, Tensor y, Tensor? w, int items) -> Tensor
 *
 * order and size: as of cgtp_torch_graph.h. item_rows: which of x, y, w and z have a row for each edge.
 */
#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

namespace
{

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using optional_tensor = std::optional<Tensor>;

/* A product, and what follows arrays in the arguments of its kernels. */
struct problem {
    std::string product;
    std::vector<c10::IValue> graph;
};
using problem_of = std::shared_ptr<const problem>;

c10::OperatorHandle find(const std::string &name, const char *why)
{
    const auto found = c10::Dispatcher::singleton().findSchema({name, ""});
    TORCH_CHECK(found.has_value(), name, " is not there", why);
    return *found;
}

std::vector<Tensor> call(const problem &p, const char *kernel, const std::vector<Tensor> &arrays, size_t outputs)
{
    const at::AutoDispatchBelowADInplaceOrView below;
    const c10::OperatorHandle op =
        find("cgtp::" + p.product + "_" + kernel, ": load the product's library, and list the kernel in its spec");
    TORCH_CHECK(op.schema().returns().size() == outputs && op.schema().arguments().size() == arrays.size() + p.graph.size(),
                "cgtp::", p.product, "_", kernel, " has other inputs or outputs than a scripted module takes derivatives by");
    torch::jit::Stack stack;
    for (const Tensor &array : arrays)
        stack.emplace_back(array.contiguous());
    stack.insert(stack.end(), p.graph.begin(), p.graph.end());
    op.callBoxed(stack);
    std::vector<Tensor> made;
    for (const c10::IValue &value : stack)
        made.push_back(value.toTensor());
    return made;
}

/* A cotangent, or zeros in its place. */
Tensor or_zeros(const Tensor &given, const Tensor &like)
{
    return given.defined() ? given : at::zeros_like(like);
}

/* Problems are what PyTorch's contexts have no place for. */
struct holder : torch::CustomClassHolder {
    problem_of p;
    explicit holder(problem_of of) : p(std::move(of))
    {
    }
};

void remember(AutogradContext *context, const problem_of &p, const variable_list &arrays)
{
    context->save_for_backward(arrays);
    context->saved_data["problem"] = c10::IValue::make_capsule(c10::make_intrusive<holder>(p));
}

problem_of recall(AutogradContext *context)
{
    return c10::static_intrusive_pointer_cast<holder>(context->saved_data["problem"].toCapsule())->p;
}

/* Weights, or what stands for them where the product has none: functions of autograd take no tensor that is undefined. */
Tensor weights_or_none(const optional_tensor &w, const Tensor &x)
{
    return w.has_value() && w->defined() ? *w : at::empty({0}, x.options().requires_grad(false));
}

bool has_weights(const Tensor &w)
{
    return w.dim() == 2;
}

/* The arrays that there are. */
std::vector<Tensor> present(const Tensor &x, const Tensor &y, const Tensor &w, std::initializer_list<Tensor> more = {})
{
    std::vector<Tensor> found = {x, y};
    if (has_weights(w))
        found.push_back(w);
    found.insert(found.end(), more);
    return found;
}

struct second : torch::autograd::Function<second> {
    static variable_list forward(AutogradContext *, problem_of p, Tensor x, Tensor y, Tensor w, Tensor gz, Tensor ax,
                                 Tensor by, Tensor cw)
    {
        std::vector<Tensor> arrays = present(x, y, w, {gz, ax, by});
        if (has_weights(w))
            arrays.push_back(cw);
        return call(*p, "double_backward", arrays, has_weights(w) ? 4 : 3);
    }
    static variable_list backward(AutogradContext *, variable_list)
    {
        TORCH_CHECK(false, "scripted modules have no third derivatives: take them by the module itself");
    }
};

struct first : torch::autograd::Function<first> {
    static variable_list forward(AutogradContext *context, problem_of p, Tensor x, Tensor y, Tensor w, Tensor gz)
    {
        remember(context, p, {x, y, w, gz});
        return call(*p, "backward", present(x, y, w, {gz}), has_weights(w) ? 3 : 2);
    }
    static variable_list backward(AutogradContext *context, variable_list given)
    {
        const variable_list s = context->get_saved_variables();
        const Tensor none, &x = s[0], &y = s[1], &w = s[2], &gz = s[3];
        const variable_list d = second::apply(recall(context), x, y, w, gz, or_zeros(given[0], x), or_zeros(given[1], y),
                                              has_weights(w) ? or_zeros(given[2], w) : w);
        return {none, d[1], d[2], has_weights(w) ? d[3] : none, d[0]}; /* the kernel's order: d_gz first */
    }
};

struct zeroth : torch::autograd::Function<zeroth> {
    static Tensor forward(AutogradContext *context, problem_of p, Tensor x, Tensor y, Tensor w)
    {
        remember(context, p, {x, y, w});
        return call(*p, "forward", present(x, y, w), 1)[0];
    }
    static variable_list backward(AutogradContext *context, variable_list given)
    {
        const variable_list s = context->get_saved_variables();
        const Tensor none;
        if (!given[0].defined())
            return {none, none, none, none};
        const variable_list g = first::apply(recall(context), s[0], s[1], s[2], given[0]);
        return {none, g[0], g[1], has_weights(s[2]) ? g[2] : none};
    }
};

Tensor tensor_product(const std::string &product, const Tensor &x, const Tensor &y, const optional_tensor &w, int64_t items)
{
    return zeroth::apply(std::make_shared<const problem>(problem{product, {items}}), x, y, weights_or_none(w, x));
}

Tensor convolve(const std::string &product, const Tensor &x, const Tensor &y, const optional_tensor &w, const Tensor &sender,
                const Tensor &receiver, int64_t senders, int64_t receivers, int64_t order, int64_t size,
                const std::vector<bool> &item_rows)
{
    torch::jit::Stack made = {sender, receiver, senders, receivers, order, size};
    find("cgtp_graph::" + product + "_prepare", ": load the product's library").callBoxed(made);
    problem p = {product, {made[0], made[1]}};
    if (order == 2)
        p.graph.insert(p.graph.end(), {senders, receivers, made[6]});
    else
        p.graph.insert(p.graph.end(), {made[2], made[3], made[4], made[6]});
    const Tensor moves = order == 0 ? made[5].toTensor() : Tensor();
    const auto moved = [&](const Tensor &rows, bool of_items) {
        return of_items && moves.defined() && rows.dim() == 2 ? rows.index_select(0, moves) : rows;
    };
    const Tensor arrays[] = {x, y, weights_or_none(w, x)};
    for (int i = 0; i < 3; i++)
        TORCH_CHECK((i == 2 && !has_weights(arrays[i])) || !item_rows[i] || arrays[i].size(0) == sender.size(0), "cgtp_script: ", "xyw"[i],
                    " has ", arrays[i].size(0), " rows: it is to have one for each edge, of which there are ", sender.size(0));
    const Tensor z = zeroth::apply(std::make_shared<const problem>(std::move(p)), moved(arrays[0], item_rows[0]),
                                   moved(arrays[1], item_rows[1]), moved(arrays[2], item_rows[2]));
    if (!item_rows[3] || !moves.defined())
        return z;
    return z.index_select(0, at::empty_like(moves).index_copy_(0, moves, at::arange(moves.size(0), moves.options())));
}

/* Another package's library may have registered them. */
struct registration {
    std::unique_ptr<torch::Library> library;

    registration()
    {
        if (c10::Dispatcher::singleton().findSchema({"cgtp_script::convolve", ""}))
            return;
        library = std::make_unique<torch::Library>(torch::Library::FRAGMENT, "cgtp_script", std::nullopt, __FILE__, __LINE__);
        library->def("convolve(str product, Tensor x, Tensor y, Tensor? w, Tensor sender, Tensor receiver, int senders, "
                     "int receivers, int order, int size, bool[] item_rows) -> Tensor",
                     [](std::string product, const Tensor &x, const Tensor &y, const optional_tensor &w,
                        const Tensor &sender, const Tensor &receiver, int64_t senders, int64_t receivers, int64_t order,
                        int64_t size, c10::List<bool> item_rows) {
                         return convolve(product, x, y, w, sender, receiver, senders, receivers, order, size,
                                         {item_rows.begin(), item_rows.end()});
                     });
        library->def("tensor_product(str product, Tensor x, Tensor y, Tensor? w, int items) -> Tensor",
                     [](std::string product, const Tensor &x, const Tensor &y, const optional_tensor &w, int64_t items) {
                         return tensor_product(product, x, y, w, items);
                     });
    }
} const registered;

} // namespace
