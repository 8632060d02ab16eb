/* call.c - see call.h. */
#include "pipeline/call.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* What functions do with their first arguments; with any after these nothing but read, and with numbers
 * nothing. */
static const struct contract {
    enum touch touch[4];
    bool pairs; /* after the first, a number, two by two */
    const char *functions;
} contracts[] = {
    {{TOUCH_WRITE},
     false,
     " cgtp_get cgtp_set cgtp_get_components cgtp_set_components cgtp_clear_lane cgtp_load_row "
     "cgtp_load_lane cgtp_store_lane cgtp_load_lane_components cgtp_load_shifted cgtp_load_shifted_some "
     "cgtp_load_shifted_row cgtp_shifted_lane cgtp_store_lane_components cgtp_widen_row cgtp_load_segments "
     "cgtp_keep_segments cgtp_spread_sums cgtp_join_sums cgtp_lead_number cgtp_outgoing cgtp_outgoing_some "
     "cgtp_outgoing_slice cgtp_outgoing_apart cgtp_outgoing_slice_apart cgtp_outgoing_shifted "},
    {{TOUCH_ADD},
     false,
     " cgtp_add_channels cgtp_add_products cgtp_add_dots cgtp_add_lane_sums cgtp_add_lane_row "
     "cgtp_scale_segments cgtp_join_items cgtp_plain "},
    {{TOUCH_WRITE}, true, " cgtp_load_lanes cgtp_store_lanes "},
    {{TOUCH_WRITE, TOUCH_READ, TOUCH_WRITE}, false, " cgtp_store_segments "},
    {{TOUCH_WRITE, TOUCH_ADD}, false, " cgtp_reduce_lanes cgtp_reduce_items "},
    {{TOUCH_ADD, TOUCH_ADD}, false, " cgtp_carry cgtp_carried "},
    {{TOUCH_READ, TOUCH_ADD}, false, " cgtp_finish "},
    {{TOUCH_ADD, TOUCH_ADD, TOUCH_ADD, TOUCH_ADD}, false, " cgtp_hand_over "},
    {{TOUCH_READ}, false, " cgtp_incoming cgtp_incoming_apart cgtp_widen cgtp_kept cgtp_shifted_weights "},
};

enum touch function_touch(const char *function, int argument)
{
    char word[64];
    snprintf(word, sizeof word, " %s ", function);
    for (const struct contract *k = contracts; k < contracts + sizeof contracts / sizeof *contracts; k++)
        if (strstr(k->functions, word))
            return k->pairs && argument        ? k->touch[(argument - 1) % 2]
                   : k->pairs || argument >= 4 ? TOUCH_READ
                                               : k->touch[argument];
    assert(0 && "a planner names a function that the runtime does not have");
    return TOUCH_READ;
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
    for (const struct term *q = at->term; q < at->term + at->terms; q++) {
        const bool sum = q->by != 1 && strstr(q->variable, " + "); /* brackets where it is multiplied */
        text_printf(&t, sum ? "%s(%s)" : "%s%s", t.n ? " + " : "", q->variable);
        if (q->by != 1)
            text_printf(&t, " * %lld", (long long)q->by);
    }
    return text_string(&t);
}
