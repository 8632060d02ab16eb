/* diag_json.c - diagnostics for programs: see diag_json in diag.h. */
#include "util/diag.h"

/* The members that say where. */
static void put_place(struct text *out, const struct diag *diag, struct pos pos)
{
    text_puts(out, "\"file\": ");
    text_json(out, diag_escaped(out->arena, diag->file));
    if (pos.line > 0)
        text_printf(out, ", \"line\": %d, \"column\": %d, \"length\": %d", pos.line, pos.column,
                    pos.width > 0 ? pos.width : 1);
    else
        text_puts(out, ", \"line\": null, \"column\": null, \"length\": null");
}

static void put_notes(struct text *out, const struct diag *diag, const struct diag_note *note)
{
    text_puts(out, ", \"notes\": [");
    for (const char *separator = ""; note; note = note->next, separator = ", ") {
        text_printf(out, "%s{", separator);
        put_place(out, diag, note->pos);
        text_puts(out, ", \"message\": ");
        text_json(out, note->text);
        text_puts(out, "}");
    }
    text_puts(out, "]}\n");
}

void diag_json(struct text *out, const struct diag *diag)
{
    for (int i = 0; i < diag->messages; i++) {
        const struct diag_message *m = &diag->message[i];
        text_printf(out, "{\"id\": \"%s\", \"severity\": \"%s\", ", diag_table[m->id].name,
                    m->severity == SEVERITY_ERROR ? "error" : "warning");
        put_place(out, diag, m->pos);
        text_puts(out, ", \"message\": ");
        text_json(out, m->text);
        text_puts(out, ", \"suggestion\": ");
        if (m->suggestion)
            text_json(out, m->suggestion);
        else
            text_puts(out, "null");
        put_notes(out, diag, m->note);
    }
    const char *rest[2];
    for (int n = diag_not_shown(diag, rest), i = 0; i < n; i++) {
        text_puts(out, "{\"id\": null, \"severity\": \"note\", ");
        put_place(out, diag, (struct pos){0});
        text_printf(out, ", \"message\": \"%s\", \"suggestion\": null", rest[i]);
        put_notes(out, diag, NULL);
    }
}
