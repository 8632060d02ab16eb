/* kernels.c - the `kernels` key: known kernels, subsets of them, and kernels spelled out as terms.
 *
 * Here the form is checked; whether outputs and arguments exist is form.c's to say.
 */
#include "spec/kernels.h"

#include "spec/names.h"

#include <string.h>
#include <strings.h>

enum { KERNELS_MAX = 256, OUTPUTS_MAX = 64, TERMS_MAX = 1024, BY_DEFAULT = 3 /* the first of known_table */ };

/* Reads a term from a scalar's text. */
struct scan {
    struct reader *r;
    const struct node *node;
    const char *p;
};

static void skip_spaces(struct scan *scan)
{
    while (*scan->p == ' ' || *scan->p == '\t' || *scan->p == '\r' || *scan->p == '\n' || *scan->p == '#')
        if (*scan->p++ == '#') /* a comment, where the term goes on in the next line */
            while (*scan->p && *scan->p != '\n')
                scan->p++;
}

static struct pos place(const struct scan *scan, const char *from, int width)
{
    return node_pos_at(scan->r->diag, scan->node, (int)(from - scan->node->text), width);
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* The length of the identifier at p, 0 where there is none. */
static int identifier_length(const char *p)
{
    int n = 0;
    while (is_letter(p[n]) || (n > 0 && p[n] >= '0' && p[n] <= '9'))
        n++;
    return n;
}

/* Q_x(by, w, gz) */
static bool read_term(struct reader *r, const struct node *node, struct spec_term *out)
{
    static const char *const takes[SLOT_COUNT] = {"(y, w, g)", "(x, w, g)", "(x, y, g)", "(x, y, w)"};
    struct scan scan = {r, node, node->text};
    *out = (struct spec_term){.pos = node->pos};
    skip_spaces(&scan);
    const char *start = scan.p;
    int n = identifier_length(start);
    if (n < 2 || start[0] != 'Q' || start[1] != '_') {
        field_expected(r, node, "a term such as Q_x(y, w, gz)");
        return false;
    }
    const char *letter = n == 3 ? strchr(slot_letters, start[2]) : NULL;
    if (!letter) {
        diag_report(r->diag, DIAG_TERM_SYNTAX, place(&scan, start, n),
                    "expected Q_x, Q_y, Q_w or Q_g, found '%.*s'%s", n > 40 ? 40 : n, start,
                    n == 3 && start[2] == 'z' ? "; z is the derivative by g" : "");
        return false;
    }
    out->target = (enum slot)(letter - slot_letters);
    scan.p += n;
    skip_spaces(&scan);
    for (int i = 0; i <= 3; i++) {
        char separator = i == 0 ? '(' : i == 3 ? ')' : ',';
        if (*scan.p != separator) {
            bool count = i > 0 && (*scan.p == ',' || *scan.p == ')');
            diag_report(r->diag, DIAG_TERM_SYNTAX, place(&scan, scan.p, 1),
                        "expected '%c'%s; Q_%c takes three arguments, of the slots %s", separator,
                        count ? *scan.p == ',' ? " after the third argument" : " and another argument" : "",
                        *letter, takes[out->target]);
            return false;
        }
        scan.p++;
        skip_spaces(&scan);
        if (i == 3)
            break;
        n = identifier_length(scan.p);
        if (n == 0 || n > NAME_MAX_LENGTH) {
            diag_report(r->diag, DIAG_TERM_SYNTAX, place(&scan, scan.p, n),
                        "expected the name of an argument; Q_%c takes three, of the slots %s", *letter,
                        takes[out->target]);
            return false;
        }
        out->argument[i] = arena_string(r->arena, scan.p, (size_t)n);
        out->argument_pos[i] = place(&scan, scan.p, n);
        scan.p += n;
        skip_spaces(&scan);
    }
    if (*scan.p) {
        diag_report(r->diag, DIAG_TERM_SYNTAX, place(&scan, scan.p, 1),
                    *scan.p == '+'
                        ? "terms are separated by commas, and added: write [Q_g(x, y, w), Q_g(x, by, w)]"
                        : "expected the end of the term; terms are separated by commas");
        return false;
    }
    return true;
}

static bool plain(const struct node *node)
{
    return node->kind == NODE_SCALAR && !node->quoted;
}

/* In [Q_x(by, w, gz)] YAML sees three scalars, "Q_x(by", "w" and "gz)": the last of the term that begins at
 * child `i`, and whether it has its closing parenthesis. */
static int term_end(const struct node *list, int i, bool *closed)
{
    const struct node *first = list->child[i];
    *closed = true;
    if (!plain(first) || !strchr(first->text, '(') || strchr(first->text, ')'))
        return i;
    for (int k = i + 1; k < list->n && plain(list->child[k]); k++) {
        const char *text = list->child[k]->text, *open = strchr(text, '('), *close = strchr(text, ')');
        if (open && (!close || open < close)) /* the next term */
            break;
        if (close && !open)
            return k;
        i = k; /* "w) + Q_g(x" is in the middle of a sum, which is wrong as a whole */
    }
    *closed = false;
    return i;
}

static void read_terms(struct reader *r, const struct node *list, struct spec_output *out)
{
    if (!field_list(r, list, "a list of terms such as [Q_x(y, w, gz)]"))
        return;
    if (list->n == 0)
        diag_report(r->diag, DIAG_EMPTY_LIST, list->pos,
                    "output '%s' has no terms; expected some such as Q_x(y, w, gz)", out->name);
    out->term = NEW_ARRAY(r->arena, struct spec_term, list->n + 1);
    for (int i = 0; i < list->n; i++) {
        bool closed;
        int last = term_end(list, i, &closed);
        const struct node *node = list->child[i];
        if (last > i)
            node = node_join(r->arena, r->diag, list, i, last);
        i = last;
        if (out->terms == TERMS_MAX) {
            diag_report(r->diag, DIAG_LIMIT, node->pos, "output '%s' has more than %d terms", out->name,
                        TERMS_MAX);
            return;
        }
        if (node->kind != NODE_SCALAR)
            field_expected(r, node, "a term such as Q_x(y, w, gz)");
        else if (!closed)
            diag_report(r->diag, DIAG_TERM_SYNTAX, node->pos,
                        "the term that begins here has no closing parenthesis");
        else if (read_term(r, node, &out->term[out->terms]))
            out->terms++;
    }
}

static bool too_many_outputs(struct reader *r, const struct node *node, const struct spec_kernel *kernel)
{
    if (kernel->outputs == OUTPUTS_MAX)
        diag_report(r->diag, DIAG_LIMIT, node->pos, "a kernel has at most %d outputs", OUTPUTS_MAX);
    return kernel->outputs == OUTPUTS_MAX;
}

/* outputs: [gx, gy] */
static void read_subset(struct reader *r, const struct node *list, struct spec_kernel *kernel)
{
    if (!field_list(r, list, "a list of outputs such as [gx, gy]"))
        return;
    if (list->n == 0)
        diag_report(r->diag, DIAG_EMPTY_LIST, list->pos,
                    "the list of outputs is empty; leave the key out for all of them");
    kernel->subset = true;
    kernel->output = NEW_ARRAY(r->arena, struct spec_output, OUTPUTS_MAX);
    for (int i = 0; i < list->n && !too_many_outputs(r, list->child[i], kernel); i++) {
        const struct node *node = list->child[i];
        if (!field_name(r, node, "the name of an output"))
            continue;
        const struct spec_output *first = NULL;
        for (int k = 0; k < kernel->outputs && !first; k++)
            if (strcmp(kernel->output[k].name, node->text) == 0)
                first = &kernel->output[k];
        if (first) {
            diag_report(r->diag, DIAG_LISTED_TWICE, node->pos, "output '%s' is listed twice", node->text);
            diag_note(r->diag, first->pos, "it is first listed here");
            continue;
        }
        kernel->output[kernel->outputs++] = (struct spec_output){.name = node->text, .pos = node->pos};
    }
}

/* outputs: {d_x: [Q_x(by, w, gz)]} */
static void read_outputs(struct reader *r, const struct node *node, struct spec_kernel *kernel)
{
    if (node->kind != NODE_MAPPING) {
        field_expected(
            r, node,
            node->kind == NODE_LIST
                ? "outputs with their terms, {d_x: [Q_x(y, w, gz)]} (a list names outputs of a known "
                  "kernel and needs the key 'of')"
                : "outputs with their terms, {d_x: [Q_x(y, w, gz)]}");
        return;
    }
    if (node->n == 0)
        diag_report(r->diag, DIAG_UNKNOWN_OUTPUT, node->pos, "the kernel has no outputs");
    kernel->output = NEW_ARRAY(r->arena, struct spec_output, OUTPUTS_MAX);
    for (int i = 0; i < node->n && !too_many_outputs(r, node->entry[i].key, kernel); i++) {
        const struct node *key = node->entry[i].key;
        if (key->kind == NODE_WRONG || !field_name(r, key, "the name of an output"))
            continue;
        struct spec_output *out = &kernel->output[kernel->outputs++];
        *out = (struct spec_output){.name = key->text, .pos = key->pos};
        read_terms(r, node->entry[i].value, out);
    }
}

/* arguments: {by: d y} */
static void read_arguments(struct reader *r, const struct node *node, struct spec_kernel *kernel)
{
    static const char *const what = "a slot, x, y, w or g, or 'd' and a slot for a (co)tangent of it";
    if (node->kind != NODE_MAPPING) {
        field_expected(r, node, "a mapping such as {by: d y}");
        return;
    }
    kernel->argument = NEW_ARRAY(r->arena, struct spec_argument, node->n + 1);
    for (int i = 0; i < node->n; i++) {
        const struct node *key = node->entry[i].key, *value = node->entry[i].value;
        if (i == OUTPUTS_MAX) {
            diag_report(r->diag, DIAG_LIMIT, key->pos, "a kernel has at most %d arguments of its own",
                        OUTPUTS_MAX);
            return;
        }
        if (key->kind == NODE_WRONG || !field_name(r, key, "the name of an argument"))
            continue;
        const char *s = value->kind == NODE_SCALAR ? value->text : "";
        bool tangent = s[0] == 'd' && s[1] == ' ';
        if (tangent)
            s += 1 + strspn(s + 1, " ");
        const char *slot = *s && !s[1] ? strchr(slot_letters, *s) : NULL;
        if (!slot) {
            field_expected(r, value, what);
            continue;
        }
        kernel->argument[kernel->arguments++] =
            (struct spec_argument){key->text, (enum slot)(slot - slot_letters), tangent, key->pos};
    }
}

/* A word that is a known kernel's name; NULL after an error. */
static const struct known_kernel *read_known(struct reader *r, const struct node *node)
{
    const char *names[KNOWN_COUNT];
    for (int i = 0; i < KNOWN_COUNT; i++)
        names[i] = known_table[i].name;
    int known = field_word(r, node, names, KNOWN_COUNT, -1);
    return known < 0 ? NULL : &known_table[known];
}

static void read_kernel(struct reader *r, const struct node *node, struct spec_kernel *out)
{
    enum { NAME, OF, ARGUMENTS, OUTPUTS, COUNT };
    static const char *const keys[COUNT] = {"name", "of", "arguments", "outputs"};
    const struct entry *found[COUNT];
    *out = (struct spec_kernel){.pos = node->pos};
    int errors = r->diag->errors;
    if (node->kind == NODE_SCALAR) {
        out->of = read_known(r, node);
        out->name = out->of ? out->of->name : NULL;
        out->of_pos = node->pos;
        return;
    }
    if (!field_mapping(
            r, node, "the name of a kernel, or a mapping such as {name: forces, of: backward, outputs: [gx]}",
            keys, COUNT, found))
        return;
    bool known_keys = r->diag->errors == errors; /* a misspelled one may be the one that is missing */
    if (!found[NAME] && known_keys)
        diag_report(r->diag, DIAG_MISSING_KEY, node->pos, "the kernel's name is missing");
    else if (found[NAME] && field_name(r, found[NAME]->value, "the name of a kernel"))
        out->name = found[NAME]->value->text;
    if (found[NAME])
        out->pos = found[NAME]->value->pos;
    if (found[OF]) {
        out->of_pos = found[OF]->value->pos;
        out->of = read_known(r, found[OF]->value);
        if (found[ARGUMENTS]) {
            diag_report(r->diag, DIAG_USELESS_KEY, found[ARGUMENTS]->key->pos,
                        "arguments are for kernels spelled out as terms");
            diag_note(r->diag, found[OF]->key->pos, "'of' makes this one a known kernel");
        }
        if (found[OUTPUTS])
            read_subset(r, found[OUTPUTS]->value, out);
        return;
    }
    if (found[ARGUMENTS])
        read_arguments(r, found[ARGUMENTS]->value, out);
    if (found[OUTPUTS])
        read_outputs(r, found[OUTPUTS]->value, out);
    else if (known_keys)
        diag_report(r->diag, DIAG_MISSING_KEY, node->pos,
                    "expected the key 'of', a known kernel, or 'outputs' with their terms");
}

const struct kernel_suffix kernel_suffix[KERNEL_SUFFIXES] = {
    {"_workspace", "the function of ", "'s workspace"},
    {"_workspace_least", "the function of ", "'s least workspace"},
    {"_arrays", "the struct of ", "'s arrays"},
    {"_with", "", " with its arrays by name"},
};

static const struct kernel_suffix *suffix_of(const char *s)
{
    for (int i = 0; i < KERNEL_SUFFIXES; i++)
        if (strcmp(s, kernel_suffix[i].suffix) == 0)
            return &kernel_suffix[i];
    return NULL;
}

/* Names are NAME_kernel, that and a suffix and, for the descriptor, NAME_product; files NAME_kernel.c and
 * NAME_selftest.c. */
static void check_clash(struct reader *r, const struct spec *spec, const struct spec_kernel *kernel)
{
    if (strcmp(kernel->name, "product") == 0)
        diag_report(r->diag, DIAG_BAD_NAME, kernel->pos,
                    "a kernel cannot be named product: that is the descriptor's name");
    if (strlen(kernel->name) == 5 && strncmp(kernel->name, "DIM_", 4) == 0 && strchr("XYWZ", kernel->name[4]))
        diag_report(r->diag, DIAG_BAD_NAME, kernel->pos,
                    "a kernel cannot be named %s: that is the size of a row", kernel->name);
    if (strcmp(kernel->name, "selftest") == 0)
        diag_report(r->diag, DIAG_BAD_NAME, kernel->pos,
                    "a kernel cannot be named selftest: that is the file of the self-test");
    const char *symbol = spec->name ? arena_printf(r->arena, "%s_%s", spec->name, kernel->name) : "..";
    if (name_is_type(symbol))
        diag_report(r->diag, DIAG_BAD_NAME, kernel->pos,
                    "the function of kernel %s would be %s, which is a type in C", kernel->name, symbol);
    for (int i = 0; i < spec->kernels; i++) {
        const struct spec_kernel *other = &spec->kernel[i];
        size_t n = strlen(kernel->name), m = strlen(other->name);
        const char *shorter = n < m ? kernel->name : other->name,
                   *longer = n < m ? other->name : kernel->name;
        size_t least = n < m ? n : m;
        const struct kernel_suffix *suffix;
        if (strcmp(longer, shorter) == 0)
            diag_report(r->diag, DIAG_NAME_TAKEN, kernel->pos, "a second kernel is named %s", kernel->name);
        else if (strcasecmp(longer, shorter) == 0)
            diag_report(
                r->diag, DIAG_NAME_TAKEN, kernel->pos,
                "kernel %s differs from %s by capitals only: some systems would have one file for both",
                kernel->name, other->name);
        else if (strncmp(longer, shorter, least) == 0 && (suffix = suffix_of(longer + least)))
            diag_report(r->diag, DIAG_NAME_TAKEN, kernel->pos, "kernel %s: %s is also %s%s%s", kernel->name,
                        longer, suffix->before, shorter, suffix->after);
        else
            continue;
        diag_note(r->diag, other->pos, "the other kernel is here");
        return;
    }
}

void kernels_read(struct reader *r, const struct node *node, struct spec *spec)
{
    if (!node) {
        spec->kernel = NEW_ARRAY(r->arena, struct spec_kernel, BY_DEFAULT);
        for (; spec->kernels < BY_DEFAULT; spec->kernels++)
            spec->kernel[spec->kernels] = (struct spec_kernel){.name = known_table[spec->kernels].name,
                                                               .of = &known_table[spec->kernels]};
        return;
    }
    if (!field_list(r, node, "a list of kernels such as [forward, backward]"))
        return;
    if (node->n == 0)
        diag_report(r->diag, DIAG_EMPTY_LIST, node->pos,
                    "the list of kernels is empty; leave the key out for %s, %s and %s", known_table[0].name,
                    known_table[1].name, known_table[2].name);
    spec->kernel = NEW_ARRAY(r->arena, struct spec_kernel, KERNELS_MAX);
    for (int i = 0; i < node->n; i++) {
        struct spec_kernel kernel;
        if (spec->kernels == KERNELS_MAX) {
            diag_report(r->diag, DIAG_LIMIT, node->child[i]->pos, "a spec has at most %d kernels",
                        KERNELS_MAX);
            return;
        }
        read_kernel(r, node->child[i], &kernel);
        if (!kernel.name)
            continue;
        check_clash(r, spec, &kernel);
        spec->kernel[spec->kernels++] = kernel;
    }
}
