/* replace.c - see replace.h. */
#include "cli/replace.h"
#include "cli/depend.h"
#include "cli/vendor.h"
#include "emit/seal.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

enum { DEPEND_MOST = 1 << 20 }; /* bytes of a dependency file that are looked at */

/* Its text, as far as it matters; NULL: nothing is there that could be lost, or *error says why it is not
 * known. */
static const char *there(struct arena *a, const struct file_content *file, bool generated, size_t *size,
                         int *error)
{
    const char *text = NULL;
    *error = 0;
    if (file_is_regular(file->path))
        text = file_read(a, file->path, generated ? SEAL_BEGIN : DEPEND_MOST, size);
    if (text && generated && *size == SEAL_BEGIN && vendor_seal(a, file->path, text, *size) != SEAL_NONE)
        text = file_read(a, file->path, SIZE_MAX, size);
    if (!text)
        *error = file_is_regular(file->path) ? errno : 0;
    return text && *size ? text : NULL;
}

/* Who wrote what stands where the file goes; whole: also where nothing is lost. */
static enum seal seal_there(struct arena *a, const struct file_content *file, bool generated, int *error)
{
    const struct arena_mark mark = arena_mark(a);
    size_t size = 0;
    enum seal seal = SEAL_WHOLE;
    const char *text = there(a, file, generated, &size, error);
    if (text && (size != file->size || memcmp(text, file->text, size)))
        seal = generated            ? vendor_seal(a, file->path, text, size)
               : depend_rules(text) ? SEAL_WHOLE
                                    : SEAL_NONE;
    arena_release(a, mark);
    return seal;
}

bool replace_check(struct arena *a, const struct options *options, const struct file_content *file,
                   int generated, int files, struct diag *edited, struct text *refused, const char **failed)
{
    for (int i = 0; i < files; i++) {
        int error;
        const enum seal seal = seal_there(a, &file[i], i < generated, &error);
        *failed = file[i].path;
        if (error) {
            errno = error;
            return false;
        }
        if (seal == SEAL_NONE && !options->force)
            text_printf(refused, "cgtpgen: %s is not of cgtpgen, and stays; --force replaces it\n",
                        file[i].path);
        if (seal == SEAL_EDITED) {
            edited[i] =
                (struct diag){.arena = a, .file = file[i].path, .severity = options->messages.severity};
            diag_report(&edited[i], DIAG_EDITED_FILE, (struct pos){0},
                        "it was edited since cgtpgen wrote it, and what was edited is replaced");
        }
    }
    return true;
}
