/* python.c - see python.h. */
#include "emit/python.h"
#include "emit/emit.h"
#include "emit/seal.h"
#include "schedule/index_words.h"

#include <string.h>

static const char slot_word[SLOT_COUNT + 1] = "xywz";

/* One of the entries {"key": ..} of a mapping, on a line of its own where this one is full. */
static void entry(struct emit_list *l, const char *key, const char *value, bool last)
{
    emit_list_add(l, arena_printf(l->out->arena, "\"%s\": %s", key, value), last ? "},\n" : ",");
}

static const char *quoted(struct arena *a, const char *s)
{
    return arena_printf(a, "\"%s\"", s);
}

static void irreps_entry(struct text *out, const char *slot, const struct irreps *r)
{
    const char *s = irreps_text(out->arena, r);
    text_printf(out, "            \"%s\": \"", slot);
    for (size_t column = 18; *s;) {
        size_t n = strcspn(s, "+");
        n += s[n] == '+';
        if (column + n > 105) {
            text_puts(out, "\"\n                 \"");
            column = 18;
        }
        text_put(out, s, n);
        column += n;
        s += n;
    }
    text_puts(out, "\",\n");
}

/* "same x", "cotangent z": what the array is to the parent's. */
static const char *kin_words(struct arena *a, const struct kernel_form *parent, struct lineage l, bool output)
{
    static const char *const word[] = {
        [KIN_SAME] = "same", [KIN_COTANGENT] = "cotangent", [KIN_TANGENT] = "tangent"};
    bool of_output = output ? l.kin == KIN_TANGENT : l.kin == KIN_COTANGENT;
    return arena_printf(a, "\"%s %s\"", word[l.kin],
                        of_output ? parent->output[l.number].name : parent->input[l.number].name);
}

static void kernel_arrays(struct text *out, const struct kernel_form *f)
{
    struct arena *a = out->arena;
    struct emit_list l = emit_list_open(out, "                inputs={");
    for (int i = 0; i < f->inputs; i++)
        entry(&l, f->input[i].name,
              arena_printf(a, "\"%s%c\"", f->input[i].tangent ? "d " : "", slot_word[f->input[i].slot]),
              i + 1 == f->inputs);
    l = emit_list_open(out, "                outputs={");
    for (int o = 0; o < f->outputs; o++)
        entry(&l, f->output[o].name, arena_printf(a, "\"%c\"", slot_word[f->output[o].slot]),
              o + 1 == f->outputs);
    text_puts(out, "                terms={\n");
    for (int o = 0; o < f->outputs; o++) {
        const struct form_output *q = &f->output[o];
        l = emit_list_open(out, arena_printf(a, "                    \"%s\": [", q->name));
        for (int t = 0; t < q->terms; t++) {
            struct text term = {.arena = a};
            form_term_print(&term, f, &q->term[t]);
            emit_list_add(&l, quoted(a, text_string(&term)), t + 1 < q->terms ? "," : "],\n");
        }
    }
    text_puts(out, "                },\n");
}

static void kernel_data(struct text *out, const struct form *form, const struct kernel_form *f)
{
    struct arena *a = out->arena;
    text_printf(out, "            Kernel(\n                \"%s\",\n", f->name);
    kernel_arrays(out, f);
    const struct kernel_form *parent = form_parent(form, f);
    if (parent) {
        text_printf(out, "                of=\"%s\",\n", parent->name);
        struct emit_list l = emit_list_open(out, "                kin={");
        for (int i = 0; i < f->inputs; i++)
            entry(&l, f->input[i].name, kin_words(a, parent, f->input[i].lineage, false), false);
        for (int o = 0; o < f->outputs; o++)
            entry(&l, f->output[o].name, kin_words(a, parent, f->output[o].lineage, true),
                  o + 1 == f->outputs);
    }
    text_puts(out, "            ),\n");
}

/* A number of Python that is no integer. */
static const char *real_text(struct arena *a, double value)
{
    const char *s = arena_printf(a, "%.17g", value);
    return strpbrk(s, ".e") ? s : arena_printf(a, "%s.0", s);
}

static void instructions(struct text *out, const struct problem *p)
{
    text_puts(out, "        instructions=(\n");
    for (int i = 0; i < p->paths; i++) {
        const struct path *q = &p->path[i];
        int shape[AXES_MOST], rank = path_weight_shape(q, shape);
        text_printf(out, "            Instruction(%d, %d, %d, \"%s\", %s, %s, (", q->x, q->y, q->z,
                    mode_table[q->mode].name, q->weighted ? "True" : "False",
                    real_text(out->arena, surd_double(q->coefficient)));
        for (int d = 0; d < rank; d++)
            text_printf(out, "%s%d", d ? ", " : "", shape[d]);
        text_puts(out, rank == 1 ? ",)),  # " : ")),  # ");
        surd_print(out, q->coefficient);
        text_puts(out, "\n");
    }
    text_puts(out, "        ),\n");
}

/* A framework's type of a slot's arrays has the spec's name. */
static const char *type_of(struct arena *a, const char *types, const struct spec *s, enum slot slot)
{
    return arena_printf(a, "%s%s", types, precision_table[s->storage[slot]].name);
}

static const char *strided(const struct spec *s, enum slot slot)
{
    return spec_is_strided(s, slot) ? "True" : "False";
}

void emit_python_product(struct text *out, const struct plan *plan, const char *types)
{
    const struct problem *p = plan->problem;
    const struct spec *s = p->spec;
    text_printf(out, "PRODUCT = register(\n    Product(\n        name=\"%s\",\n        digest=\"%s\",\n",
                s->name, plan->digest);
    text_printf(out, "        dtype={\"x\": %s, \"y\": %s, \"w\": %s, \"z\": %s},\n",
                type_of(out->arena, types, s, SLOT_X), type_of(out->arena, types, s, SLOT_Y),
                type_of(out->arena, types, s, SLOT_W), type_of(out->arena, types, s, SLOT_G));
    text_printf(out, "        edges=%s,\n        index_dtype=%s%s,\n        irreps={\n",
                !spec_is_graph(s) ? "None"
                : s->sorted       ? "\"sorted\""
                                  : "\"any\"",
                types, s->index64 ? "int64" : "int32");
    irreps_entry(out, "x", &p->x);
    irreps_entry(out, "y", &p->y);
    irreps_entry(out, "z", &p->z);
    text_printf(out, "        },\n        dim={\"x\": %lld, \"y\": %lld, \"w\": %lld, \"z\": %lld},\n",
                (long long)p->dim[SLOT_X], (long long)p->dim[SLOT_Y], (long long)p->dim[SLOT_W],
                (long long)p->dim[SLOT_G]);
    text_printf(out, "        index={\"x\": \"%s\", \"y\": \"%s\", \"w\": \"%s\", \"z\": \"%s\"},\n",
                index_name[s->index[SLOT_X]], index_name[s->index[SLOT_Y]], index_name[s->index[SLOT_W]],
                index_name[s->index[SLOT_G]]);
    text_printf(out, "        layout={\"x\": \"%s\", \"y\": \"%s\", \"z\": \"%s\"},\n",
                layout_name[s->layout[SLOT_X]], layout_name[s->layout[SLOT_Y]],
                layout_name[s->layout[SLOT_G]]);
    text_printf(out, "        strided={\"x\": %s, \"y\": %s, \"w\": %s, \"z\": %s},\n", strided(s, SLOT_X),
                strided(s, SLOT_Y), strided(s, SLOT_W), strided(s, SLOT_G));
    instructions(out, p);
    text_puts(out, "        kernels=(\n");
    for (int k = 0; k < plan->kernels; k++)
        kernel_data(out, plan->form, plan->kernel[k].form);
    text_puts(out, "        ),\n    ),\n    __file__,\n)\n");
}

/* A line of the module's documentation: the shape of a slot's argument. */
static void shape_line(struct text *out, const struct plan *plan, const char *types, enum slot slot,
                       const char *what)
{
    const struct spec *s = plan->problem->spec;
    enum index_kind index = s->index[slot];
    const char *rows = index == INDEX_ITEM && !spec_is_graph(s) ? "items" : index_words[index].shape;
    text_printf(out, "        %-7s [%s%s%lld], %s\n", what, index == INDEX_SHARED ? "" : rows,
                index == INDEX_SHARED ? "" : ", ", (long long)plan->problem->dim[slot],
                type_of(out->arena, types, s, slot));
}

void emit_python_shapes(struct text *out, const struct plan *plan, const char *types)
{
    shape_line(out, plan, types, SLOT_X, "x");
    shape_line(out, plan, types, SLOT_Y, "y");
    if (plan->problem->weight_numel)
        shape_line(out, plan, types, SLOT_W, "weight");
    shape_line(out, plan, types, SLOT_G, "z");
}

/* ---- the package ---- */

void emit_python_project(struct text *out)
{
    text_puts(out, "# " SEAL_BY " (" SEAL_TEXT
                   "): builds the products of this folder as one package. setup.py says how.\n"
                   "[build-system]\nrequires = [\"setuptools>=70.1\"]\nbuild-backend = "
                   "\"setuptools.build_meta\"\n");
}

void emit_python_setup(struct text *out)
{
    text_puts(
        out,
        "# " SEAL_BY " (" SEAL_TEXT "): builds the products of this folder as one package, named like the\n"
        "# folder, by\n"
        "#\n"
        "#     pip install --no-build-isolation .\n"
        "#\n"
        "# cgtp_build.py of cgtpgen's runtime does the work, and says by which variables it can be told "
        "how.\n"
        "# The runtime is looked for in $CGTP_RUNTIME, in ./runtime, and where cgtpgen is installed or "
        "built.\n"
        "import os\nimport shutil\nimport subprocess\nimport sys\n\n"
        "HERE = os.path.dirname(os.path.abspath(__file__))\n\n\n"
        "def runtime():\n"
        "    \"\"\"The folder of cgtpgen's runtime.\"\"\"\n"
        "    told = [os.environ.get(\"CGTP_RUNTIME\"), os.path.join(HERE, \"runtime\")]\n"
        "    try:\n"
        "        told.append(subprocess.check_output([\"pkg-config\", \"--variable=datadir\", \"cgtpgen\"], "
        "text=True,\n"
        "                                            stderr=subprocess.DEVNULL).strip())\n"
        "    except (OSError, subprocess.CalledProcessError):\n"
        "        pass\n"
        "    generator = shutil.which(\"cgtpgen\")\n"
        "    if generator:\n"
        "        told += [os.path.join(os.path.dirname(os.path.realpath(generator)), \"..\", place)\n"
        "                 for place in (\"share/cgtpgen\", \"runtime\")]\n"
        "    for folder in told:\n"
        "        if folder and os.path.exists(os.path.join(folder, \"cgtp_build.py\")):\n"
        "            return folder\n"
        "    sys.exit(\"cgtpgen's runtime is not found: put cgtpgen into PATH, or set CGTP_RUNTIME to the "
        "folder "
        "that \"\n"
        "             \"has cgtp.h\")\n"
        "\n\n"
        "sys.dont_write_bytecode = True  # in the runtime's folder\n"
        "sys.path.insert(0, runtime())\n"
        "import cgtp_build  # noqa: E402\n\n"
        "cgtp_build.setup(HERE)\n");
}
