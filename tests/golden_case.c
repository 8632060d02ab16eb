/* golden_case.c - see golden_case.h. */
#include "golden_case.h"

#include <stdlib.h>
#include <string.h>

static _Noreturn void fail(const char *path, const char *what)
{
    fprintf(stderr, "%s: %s\n", path, what);
    abort();
}

static FILE *open_file(char *path, size_t size, const char *folder, const char *name, const char *suffix)
{
    if (snprintf(path, size, "%s/%s%s", folder, name, suffix) >= (int)size)
        fail(name, "too long a path");
    FILE *file = fopen(path, "rb");
    if (!file)
        fail(path, "cannot be opened");
    return file;
}

static const struct ref_array *find(const struct golden_case *c, const char *name)
{
    for (int i = 0; i < c->arrays; i++)
        if (strcmp(c->array[i].name, name) == 0)
            return &c->array[i];
    return NULL;
}

const double *golden_array(const struct golden_case *c, const char *name)
{
    const struct ref_array *a = find(c, name);
    return a ? c->data + a->offset : NULL;
}

void golden_case_read(struct golden_case *c, const char *folder, const char *name)
{
    char path[512];
    *c = (struct golden_case){.arrays = 0};
    FILE *file = open_file(path, sizeof path, folder, name, ".problem");
    c->problem = ref_problem_read(file, path, c->array, GOLDEN_ARRAYS, &c->arrays);
    fclose(file);

    int64_t n = 0;
    for (int i = 0; i < c->arrays; i++)
        n += c->array[i].rows * c->array[i].columns;
    c->data = malloc((size_t)n * sizeof *c->data + 1);
    file = open_file(path, sizeof path, folder, name, ".f64");
    if (!c->data || fread(c->data, sizeof *c->data, (size_t)n, file) != (size_t)n || fgetc(file) != EOF)
        fail(path, "has not the size that its index says");
    fclose(file);

    c->graph.items = find(c, "y")->rows;
    const double *sender = golden_array(c, "sender"), *receiver = golden_array(c, "receiver");
    if (!sender)
        return;
    c->graph.senders = find(c, "x")->rows;
    c->graph.receivers = find(c, "z")->rows;
    c->ends = malloc(2 * (size_t)c->graph.items * sizeof *c->ends + 1);
    if (!c->ends)
        fail(path, "out of memory");
    for (int64_t e = 0; e < c->graph.items; e++) {
        c->ends[e] = (int64_t)sender[e];
        c->ends[c->graph.items + e] = (int64_t)receiver[e];
    }
    c->graph.sender = c->ends;
    c->graph.receiver = c->ends + c->graph.items;
}

void golden_case_free(struct golden_case *c)
{
    ref_problem_free(c->problem);
    free(c->ends);
    free(c->data);
}
