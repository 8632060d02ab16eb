/* cpp.c - NAME.hpp: the C interface in a namespace of C++, inline and without files of its own.
 *
 * There names of the spec stand alone, and hide those outside: what is meant of these begins with ::.
 */
#include "emit/emit.h"

#include <string.h>

/* Words that cannot stand alone in C++: keywords, common macros in small letters, and what the namespace
 * holds besides kernels. */
static const char taken[] =
    " alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t "
    "class co_await co_return co_yield compl concept const consteval constexpr constinit const_cast continue "
    "decltype default delete do double dynamic_cast else enum explicit export extern false float for friend "
    "goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private "
    "protected public register reinterpret_cast requires return short signed sizeof static static_assert "
    "static_cast struct switch template this thread_local throw true try typedef typeid typename union "
    "unsigned using virtual void volatile wchar_t while xor xor_eq "
    "assert errno i386 linux offsetof stderr stdin stdout unix "
    "dim_w dim_x dim_y dim_z product ";

/* A name as it stands in C++: followed by an underscore where it is a word that cannot, or in capitals, as
 * macros are, or ends in an underscore itself, so that no two names become one. */
static const char *plain(struct arena *a, const char *name)
{
    bool small = false;
    for (const char *s = name; *s; s++)
        small |= *s >= 'a' && *s <= 'z';
    bool marked = !small || name[strlen(name) - 1] == '_' || strstr(taken, arena_printf(a, " %s ", name));
    return marked ? arena_printf(a, "%s_", name) : name;
}

/* What is passed besides arrays ends so. */
static void add_workspace(struct emit_list *head)
{
    emit_list_add(head, "void *workspace", ",");
    emit_list_add(head, "::std::size_t workspace_bytes", ",");
    emit_list_add(head, "::cgtp_stream stream = nullptr", ")\n{\n");
}

static void function(struct text *out, const struct plan *plan, const struct kernel_plan *k)
{
    const struct kernel_form *f = k->form;
    struct arena *a = out->arena;
    const struct spec *s = plan->problem->spec;
    const char *items = spec_is_graph(s) ? "graph" : "items";
    const char *first = !spec_is_graph(s) ? "::std::int64_t items"
                        : s->index64      ? "const ::cgtp_graph64 &graph"
                                          : "const ::cgtp_graph &graph";
    const char *passed = arena_printf(a, "%s%s", spec_is_graph(s) ? "&" : "", items);
    const char *name = plain(a, f->name), *arrays = plain(a, arena_printf(a, "%s_arrays", f->name));
    struct emit_list head = emit_list_open(out, arena_printf(a, "inline ::cgtp_status %s(", name));
    emit_list_add(&head, first, ",");
    emit_parameters(&head, plan, k, "::");
    add_workspace(&head);
    struct emit_list call = emit_list_open(out, arena_printf(a, "    return ::%s_%s(", s->name, f->name));
    emit_list_add(&call, passed, ",");
    emit_arguments(&call, k, "");
    emit_list_add(&call, "workspace", ",");
    emit_list_add(&call, "workspace_bytes", ",");
    emit_list_add(&call, "stream", ");\n}\n\n");
    text_printf(out, "using %s = ::%s_%s_arrays;\n", arrays, s->name, f->name);
    head = emit_list_open(out, arena_printf(a, "inline ::cgtp_status %s(", name));
    emit_list_add(&head, first, ",");
    emit_list_add(&head, arena_printf(a, "const %s &arrays", arrays), ",");
    add_workspace(&head);
    text_printf(out, "    return ::%s_%s_with(%s, &arrays, workspace, workspace_bytes, stream);\n}\n\n",
                s->name, f->name, passed);
    for (int least = 0; least < 2; least++) {
        const char *words = least ? "workspace_least" : "workspace";
        text_printf(out, "inline ::std::size_t %s(%s)\n{\n    return ::%s_%s_%s(%s);\n}\n\n",
                    plain(a, arena_printf(a, "%s_%s", f->name, words)), first, s->name, f->name, words,
                    passed);
    }
}

void emit_cpp(struct text *out, const struct plan *plan)
{
    const struct problem *p = plan->problem;
    const char *name = p->spec->name, *space = plain(out->arena, name);
    emit_banner(out, plan, "C++ interface");
    text_printf(
        out,
        "#ifndef CGTP_PRODUCT_%s_HPP\n#define CGTP_PRODUCT_%s_HPP\n\n#include \"%s.h\"\n\n"
        "#include <cstddef>\n#include <cstdint>\n\n/* What is said in %s.h holds for the functions of the "
        "same names. */\nnamespace cgtp\n{\nnamespace %s\n{\n\n",
        name, name, name, name, space);
    text_printf(out,
                "/* Elements of a row. */\n"
                "constexpr ::std::int64_t dim_x = %lld, dim_y = %lld, dim_w = %lld, dim_z = %lld;\n\n"
                "/* What the product is, for generic callers. */\n"
                "inline const ::cgtp_product &product()\n{\n    return ::%s_product;\n}\n\n",
                (long long)p->dim[SLOT_X], (long long)p->dim[SLOT_Y], (long long)p->dim[SLOT_W],
                (long long)p->dim[SLOT_G], name);
    for (int k = 0; k < plan->kernels; k++)
        function(out, plan, &plan->kernel[k]);
    text_printf(out, "} // namespace %s\n} // namespace cgtp\n\n#endif\n", space);
}
