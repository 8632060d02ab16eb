/* vendor.c - see vendor.h. */
#include "cli/vendor.h"

#include "emit/runtime.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

static bool is_code(const char *name)
{
    const char *end = strrchr(name, '.');
    return end && (!strcmp(end, ".c") || !strcmp(end, ".cu") || !strcmp(end, ".cpp"));
}

void vendor_product(struct vendored *all, const struct options *o, const struct schedules *schedules,
                    const struct output_file *file, int files)
{
    struct output_file *made;
    bool code = false;
    for (int i = 0; i < files; i++)
        code |= is_code(file[i].name);
    if (!code) {
        const struct emission from = {.backend = o->backend, .schedules = schedules};
        files = emit_files(all->arena, &from, emit_default(), &made);
        file = made;
    }
    for (int i = 0; i < files; i++) {
        all->file = arena_grow(all->arena, all->file, all->n, &all->capacity, sizeof *all->file);
        all->file[all->n++] = file[i];
    }
}

int vendor_files(const struct vendored *all, const struct options *o, struct output_file **needed)
{
    return runtime_files(all->arena, all->file, all->n, o->emit, needed);
}

enum seal vendor_seal(struct arena *a, const char *path, const char *text, size_t size)
{
    const char *slash = strrchr(path, '/');
    return runtime_seal(a, slash ? slash + 1 : path, text, size);
}

int vendor_leftovers(struct arena *a, const char *folder, const struct file_content *needed, int n,
                     struct file_content **found)
{
    const char **name;
    const int names = file_names(a, folder ? folder : ".", &name);
    int all = 0;
    if (names < 0)
        return errno == ENOENT ? 0 : -1;
    *found = NEW_ARRAY(a, struct file_content, names + 1);
    for (int i = 0; i < names; i++) {
        const char *path = file_join(a, folder, name[i]);
        size_t size;
        bool is_needed = strncmp(name[i], "cgtp", 4) != 0;
        for (int k = 0; k < n; k++)
            is_needed |= !strcmp(needed[k].path, path);
        const char *text = !is_needed && file_is_plain(path) ? file_read(a, path, SIZE_MAX, &size) : NULL;
        if (text && runtime_seal(a, name[i], text, size) != SEAL_NONE)
            (*found)[all++] = (struct file_content){path, text, size};
    }
    return all;
}
