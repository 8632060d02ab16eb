/* reference_kernels.c - the kernels known by name, written out by hand.
 *
 * With cotangents ax, by, cw of gx, gy, gw the double backward differentiates
 *     Q(ax, y, w, gz) + Q(x, by, w, gz) + Q(x, y, cw, gz),
 * and the triple backward, with cotangents e2gz, a2x, b2y, c2w of its outputs d_gz, d_x, d_y, d_w,
 *     Q(ax, y, w, e2gz) + Q(x, by, w, e2gz) + Q(x, y, cw, e2gz) + Q(a2x, by, w, gz) + Q(a2x, y, cw, gz)
 *     + Q(ax, b2y, w, gz) + Q(x, b2y, cw, gz) + Q(ax, y, c2w, gz) + Q(x, by, c2w, gz).
 */
#include "reference.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *text;
} known[] = {
    {"forward", "z = Q_g(x, y, w)"},
    {"backward", "gx = Q_x(y, w, gz); gy = Q_y(x, w, gz); gw = Q_w(x, y, gz)"},
    {"double_backward", "d_gz = Q_g(ax, y, w) + Q_g(x, by, w) + Q_g(x, y, cw);"
                        "d_x = Q_x(by, w, gz) + Q_x(y, cw, gz);"
                        "d_y = Q_y(ax, w, gz) + Q_y(x, cw, gz);"
                        "d_w = Q_w(ax, y, gz) + Q_w(x, by, gz)"},
    {"triple_backward",
     "t_x = Q_x(by, w, e2gz) + Q_x(y, cw, e2gz) + Q_x(b2y, cw, gz) + Q_x(by, c2w, gz);"
     "t_y = Q_y(ax, w, e2gz) + Q_y(x, cw, e2gz) + Q_y(a2x, cw, gz) + Q_y(ax, c2w, gz);"
     "t_w = Q_w(ax, y, e2gz) + Q_w(x, by, e2gz) + Q_w(a2x, by, gz) + Q_w(ax, b2y, gz);"
     "t_gz = Q_g(a2x, by, w) + Q_g(a2x, y, cw) + Q_g(ax, b2y, w) + Q_g(x, b2y, cw) + Q_g(ax, y, c2w)"
     "     + Q_g(x, by, c2w);"
     "t_ax = Q_x(y, w, e2gz) + Q_x(b2y, w, gz) + Q_x(y, c2w, gz);"
     "t_by = Q_y(x, w, e2gz) + Q_y(a2x, w, gz) + Q_y(x, c2w, gz);"
     "t_cw = Q_w(x, y, e2gz) + Q_w(a2x, y, gz) + Q_w(x, b2y, gz)"},
    {"jvp", "dz = Q_g(dx, y, w) + Q_g(x, dy, w) + Q_g(x, y, dw)"},
    {"backward_jvp", "dgx = Q_x(dy, w, gz) + Q_x(y, dw, gz) + Q_x(y, w, dgz);"
                     "dgy = Q_y(dx, w, gz) + Q_y(x, dw, gz) + Q_y(x, w, dgz);"
                     "dgw = Q_w(dx, y, gz) + Q_w(x, dy, gz) + Q_w(x, y, dgz)"},
    {"double_backward_jvp",
     "dd_gz = Q_g(dax, y, w) + Q_g(ax, dy, w) + Q_g(ax, y, dw) + Q_g(dx, by, w) + Q_g(x, dby, w) + Q_g(x, "
     "by, dw)"
     "      + Q_g(dx, y, cw) + Q_g(x, dy, cw) + Q_g(x, y, dcw);"
     "dd_x = Q_x(dby, w, gz) + Q_x(by, dw, gz) + Q_x(by, w, dgz) + Q_x(dy, cw, gz) + Q_x(y, dcw, gz)"
     "     + Q_x(y, cw, dgz);"
     "dd_y = Q_y(dax, w, gz) + Q_y(ax, dw, gz) + Q_y(ax, w, dgz) + Q_y(dx, cw, gz) + Q_y(x, dcw, gz)"
     "     + Q_y(x, cw, dgz);"
     "dd_w = Q_w(dax, y, gz) + Q_w(ax, dy, gz) + Q_w(ax, y, dgz) + Q_w(dx, by, gz) + Q_w(x, dby, gz)"
     "     + Q_w(x, by, dgz)"},
};

const char *ref_kernel_text(const char *name)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, name) == 0)
            return known[i].text;
    return NULL;
}

int ref_find_argument(const struct ref_kernel *k, const char *name)
{
    for (int i = 0; i < k->arguments; i++)
        if (strcmp(k->argument[i].name, name) == 0)
            return i;
    return -1;
}

int ref_find_output(const struct ref_kernel *k, const char *name)
{
    for (int i = 0; i < k->outputs; i++)
        if (strcmp(k->output[i].name, name) == 0)
            return i;
    return -1;
}

static _Noreturn void fail(const char *text)
{
    fprintf(stderr, "reference: not a kernel: %s\n", text);
    abort();
}

/* Is name among the words of list? */
static bool listed(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = list; p && (p = strstr(p, name)); p += n)
        if ((p == list || p[-1] == ',') && (p[n] == ',' || !p[n]))
            return true;
    return false;
}

static int argument(struct ref_kernel *k, const char *name, int slot, const char *primal)
{
    int a = ref_find_argument(k, name);
    if (a >= 0) {
        if (k->argument[a].slot != slot)
            fail(name);
        return a;
    }
    if (k->arguments == REF_ARGUMENTS)
        fail(name);
    struct ref_argument *n = &k->argument[k->arguments];
    *n = (struct ref_argument){.slot = slot};
    strcpy(n->name, name);
    n->tangent = slot == REF_W && strcmp(name, "w") != 0 && !listed(primal, name);
    return k->arguments++;
}

/* One term; returns where it ends. */
static const char *parse_term(struct ref_kernel *k, struct ref_output *o, const char *p, const char *primal)
{
    static const char letters[] = "xywg";
    char letter, name[3][REF_NAME];
    int used = 0;
    if (sscanf(p, " Q_%c ( %31[A-Za-z0-9_] , %31[A-Za-z0-9_] , %31[A-Za-z0-9_] )%n", &letter, name[0],
               name[1], name[2], &used) != 4 ||
        !used || !strchr(letters, letter) || o->terms == REF_TERMS)
        fail(p);
    struct ref_term *t = &o->term[o->terms++];
    t->target = (int)(strchr(letters, letter) - letters);
    if (o->terms > 1 && t->target != o->slot)
        fail(p);
    o->slot = t->target;
    for (int s = 0, n = 0; s < REF_SLOTS; s++)
        t->argument[s] = s == t->target ? -1 : argument(k, name[n++], s, primal);
    return p + used + strspn(p + used, " \n");
}

void ref_kernel_parse(struct ref_kernel *k, const char *name, const char *text, const char *primal)
{
    *k = (struct ref_kernel){.arguments = 0};
    if (strlen(name) >= REF_NAME)
        fail(name);
    strcpy(k->name, name);
    for (const char *p = text + strspn(text, " \n"); *p;) {
        int used = 0;
        if (k->outputs == REF_OUTPUTS)
            fail(p);
        struct ref_output *o = &k->output[k->outputs++];
        if (sscanf(p, " %31[A-Za-z0-9_] =%n", o->name, &used) != 1 || !used)
            fail(p);
        for (p = parse_term(k, o, p + used, primal); *p == '+';)
            p = parse_term(k, o, p + 1, primal);
        if (*p == ';')
            p += 1 + strspn(p + 1, " \n");
        else if (*p)
            fail(p);
    }
}
