/* backend.c - see backend.h. */
#include "emit/backend.h"

const struct backend *const backend_table[] = {&backend_cuda, &backend_c};
const int backend_count = sizeof backend_table / sizeof *backend_table;
