/* names.c - see names.h. */
#include "spec/names.h"

#include <string.h>

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

const char *name_problem(struct arena *a, const char *s)
{
    size_t n = strlen(s), letters = 0;
    while (is_letter(s[letters]) || (letters > 0 && s[letters] >= '0' && s[letters] <= '9'))
        letters++;
    if (n == 0 || letters < n)
        return "a C identifier has letters, digits and underscores, and no digit first";
    if (n > NAME_MAX_LENGTH)
        return arena_printf(a, "it has %zu characters; at most %d are allowed", n, NAME_MAX_LENGTH);
    return *s == '_' ? "names that begin with an underscore are reserved in C" : NULL;
}

const char *name_product_problem(const char *s)
{
    if (!strcmp(s, "cgtp"))
        return "its files would be called as the runtime's";
    return strncmp(s, "cgtp_", 5) ? NULL : "names that begin with cgtp_ are the runtime's";
}

bool name_is_type(const char *symbol)
{
    static const char *const type[] = {"size_t", "ptrdiff_t", "wchar_t", "max_align_t"};
    size_t n = strlen(symbol);
    for (int i = 0; i < 4; i++)
        if (strcmp(symbol, type[i]) == 0)
            return true;
    return (strncmp(symbol, "int", 3) == 0 || strncmp(symbol, "uint", 4) == 0) &&
           strcmp(symbol + n - 2, "_t") == 0;
}

bool name_product(struct arena *a, struct spec *spec, const char *pattern, struct diag *diag)
{
    struct text name = {.arena = a};
    const struct pos nowhere = {0};
    int errors = diag->errors;
    for (const char *p = pattern; *p; p++)
        text_put(&name, *p == '%' ? spec->written_name : p, *p == '%' ? strlen(spec->written_name) : 1);
    spec->name = text_string(&name);
    const char *problem = name_problem(a, spec->name);
    problem = problem ? problem : name_product_problem(spec->name);
    if (problem)
        diag_report(diag, DIAG_BAD_NAME, nowhere, "--name=%s: '%s' cannot be the name of a product: %s",
                    pattern, spec->name, problem);
    for (int k = 0; k < spec->kernels && !problem; k++) {
        const char *symbol = arena_printf(a, "%s_%s", spec->name, spec->kernel[k].name);
        if (name_is_type(symbol))
            diag_report(diag, DIAG_BAD_NAME, nowhere,
                        "--name=%s: the function of kernel %s would be %s, which is a type in C", pattern,
                        spec->kernel[k].name, symbol);
    }
    return diag->errors == errors;
}
