/* call.c - see call.h. */
#include "pipeline/call.h"

#include <assert.h>
#include <string.h>

static const struct function functions[] = {
    {"cgtp_get", {TOUCH_WRITE, TOUCH_READ}, false},
    {"cgtp_set", {TOUCH_WRITE, TOUCH_READ}, false},
    {"cgtp_get_components", {TOUCH_WRITE, TOUCH_READ, TOUCH_READ}, false},
    {"cgtp_set_components", {TOUCH_WRITE, TOUCH_READ, TOUCH_READ}, false},
    {"cgtp_clear_lane", {TOUCH_WRITE}, false},
    {"cgtp_add_channels", {TOUCH_ADD, TOUCH_READ, TOUCH_READ}, false},
    {"cgtp_add_products", {TOUCH_ADD, TOUCH_READ, TOUCH_READ}, false},
    {"cgtp_add_dots", {TOUCH_ADD, TOUCH_READ, TOUCH_READ}, false},
    {"cgtp_add_lane_sums", {TOUCH_ADD, TOUCH_READ, TOUCH_READ}, false},
    {"cgtp_add_lane_row", {TOUCH_ADD, TOUCH_READ, TOUCH_READ}, false},
    /* Of the convolution, cgtp_convolution.h and cgtp_epilogue.h: rows, */
    {"cgtp_load_row", {TOUCH_WRITE, TOUCH_READ}, false},
    {"cgtp_load_lanes", {TOUCH_WRITE, TOUCH_READ}, true},
    {"cgtp_store_lanes", {TOUCH_WRITE, TOUCH_READ}, true},
    {"cgtp_load_lane", {TOUCH_WRITE, TOUCH_READ}, false},
    {"cgtp_store_lane", {TOUCH_WRITE, TOUCH_READ}, false},
    {"cgtp_load_lane_components", {TOUCH_WRITE, TOUCH_READ}, false},
    {"cgtp_load_shifted", {TOUCH_WRITE, TOUCH_READ, TOUCH_READ}, false},
    {"cgtp_load_shifted_some", {TOUCH_WRITE, TOUCH_READ, TOUCH_READ}, false},
    {"cgtp_load_shifted_row", {TOUCH_WRITE, TOUCH_READ, TOUCH_READ}, false},
    {"cgtp_shifted_lane", {TOUCH_WRITE, TOUCH_READ}, false},
    {"cgtp_store_lane_components", {TOUCH_WRITE, TOUCH_READ}, false},
    {"cgtp_widen_row", {TOUCH_WRITE, TOUCH_READ}, false},
    {"cgtp_load_segments", {TOUCH_WRITE, TOUCH_READ}, false},
    {"cgtp_keep_segments", {TOUCH_WRITE, TOUCH_READ}, false},
    {"cgtp_store_segments", {TOUCH_WRITE, TOUCH_READ, TOUCH_WRITE}, false},
    {"cgtp_scale_segments", {TOUCH_ADD}, false},
    /* sums, */
    {"cgtp_spread_sums", {TOUCH_WRITE, TOUCH_READ}, false},
    {"cgtp_join_sums", {TOUCH_WRITE, TOUCH_READ}, false},
    {"cgtp_reduce_lanes", {TOUCH_WRITE, TOUCH_ADD}, false},
    {"cgtp_reduce_items", {TOUCH_WRITE, TOUCH_ADD}, false},
    {"cgtp_join_items", {TOUCH_ADD}, false},
    {"cgtp_lead_number", {TOUCH_WRITE, TOUCH_READ}, false},
    {"cgtp_carry", {TOUCH_ADD, TOUCH_ADD}, false},
    {"cgtp_finish", {TOUCH_READ, TOUCH_ADD}, false},
    {"cgtp_hand_over", {TOUCH_ADD, TOUCH_ADD, TOUCH_ADD, TOUCH_ADD}, false},
    /* and what arguments are passed through. */
    {"cgtp_incoming", {TOUCH_READ}, false},
    {"cgtp_incoming_apart", {TOUCH_READ}, false},
    {"cgtp_widen", {TOUCH_READ}, false},
    {"cgtp_kept", {TOUCH_READ}, false},
    {"cgtp_outgoing", {TOUCH_WRITE}, false},
    {"cgtp_outgoing_some", {TOUCH_WRITE}, false},
    {"cgtp_outgoing_slice", {TOUCH_WRITE}, false},
    {"cgtp_outgoing_apart", {TOUCH_WRITE}, false},
    {"cgtp_outgoing_slice_apart", {TOUCH_WRITE}, false},
    {"cgtp_outgoing_shifted", {TOUCH_WRITE}, false},
    {"cgtp_shifted_weights", {TOUCH_READ}, false},
    {"cgtp_plain", {TOUCH_ADD}, false},
    {"cgtp_carried", {TOUCH_ADD, TOUCH_ADD}, false},
};

enum touch function_touch(const struct function *f, int argument)
{
    if (f->pairs)
        return argument ? f->touch[(argument - 1) % 2] : TOUCH_READ;
    return argument < 4 ? f->touch[argument] : TOUCH_READ;
}

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
