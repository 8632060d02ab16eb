/* call.c - see call.h. */
#include "pipeline/call.h"

#include <assert.h>
#include <string.h>

static const struct function functions[] = {
    {"cgtp_get", {TOUCH_WRITE, TOUCH_READ}},
    {"cgtp_set", {TOUCH_WRITE, TOUCH_READ}},
    {"cgtp_get_components", {TOUCH_WRITE, TOUCH_READ, TOUCH_READ}},
    {"cgtp_set_components", {TOUCH_WRITE, TOUCH_READ, TOUCH_READ}},
    {"cgtp_clear_lane", {TOUCH_WRITE}},
    {"cgtp_add_channels", {TOUCH_ADD, TOUCH_READ, TOUCH_READ}},
    {"cgtp_add_products", {TOUCH_ADD, TOUCH_READ, TOUCH_READ}},
    {"cgtp_add_dots", {TOUCH_ADD, TOUCH_READ, TOUCH_READ}},
    {"cgtp_add_lane_sums", {TOUCH_ADD, TOUCH_READ, TOUCH_READ}},
    {"cgtp_add_lane_row", {TOUCH_ADD, TOUCH_READ, TOUCH_READ}},
};

const struct function *function_named(const char *name)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].name, name) == 0)
            return &functions[i];
    assert(0 && "a planner names a function that the runtime does not have");
    return NULL;
}

/* A term; what is a sum itself has brackets where it is multiplied. */
static void print_term(struct text *t, const struct term *term)
{
    if (term->by == 1)
        text_puts(t, term->variable);
    else
        text_printf(t, strstr(term->variable, " + ") ? "(%s) * %lld" : "%s * %lld", term->variable,
                    (long long)term->by);
}

const char *address_text(struct arena *a, const char *base, const struct address *at)
{
    struct text t = {.arena = a};
    const bool alone = !*base;
    text_puts(&t, base);
    if (alone && (at->offset || !at->terms))
        text_printf(&t, "%lld", (long long)at->offset);
    else if (at->offset)
        text_printf(&t, " %c %lld", at->offset < 0 ? '-' : '+',
                    (long long)(at->offset < 0 ? -at->offset : at->offset));
    for (int i = 0; i < at->terms; i++) {
        text_puts(&t, t.n ? " + " : "");
        print_term(&t, &at->term[i]);
    }
    return text_string(&t);
}
