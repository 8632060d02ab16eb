/* runtime.h - the runtime's files, which the generator carries: those that products need beside them.
 *
 * The texts are made of runtime/ when the generator is built (Makefile, CMakeLists.txt), so that they
 * are of one version.
 */
#ifndef CGTPGEN_RUNTIME_H
#define CGTPGEN_RUNTIME_H

#include "emit/emitter.h"
#include "emit/seal.h"

struct runtime_text {
    const char *name;
    const char *const *line; /* with their ends; at last NULL */
};

extern const struct runtime_text runtime_texts[]; /* at last one without a name */

/* What is known of a file: the runtime's have no checksum, but their names and what they say of themselves;
 * of the text or of its beginning. Of other names what seal_of says. */
enum seal runtime_seal(struct arena *, const char *name, const char *text, size_t size);

/* What these files include, and what that includes; the sources that they are linked with; the licence.
 * rows: what --emit asks for of the runtime by words of its own. Returns the number. */
int runtime_files(struct arena *, const struct output_file *, int files, unsigned rows,
                  struct output_file **needed);

#endif
