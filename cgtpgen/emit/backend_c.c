/* backend_c.c - portable C: a row of backend_table. */
#include "emit/backend.h"
#include "emit/emit_c_kernel.h"

const struct backend backend_c = {
    .name = "c",
    .device = "c",
    .suffix = ".c",
    .kernel = emit_c_kernel,
};
