/* code_dump.c - code as text, a node per line: what -d c shows. */
#include "plan/demand.h"

static void print_value(struct text *out, int value)
{
    text_printf(out, "%sn%d", value < 0 ? "-" : "", code_number(value));
}

static void print_operand(struct text *out, const struct recipe *r, int operand, int component)
{
    bool input = operand < r->inputs;
    text_printf(out, "%s[%d]", input ? r->input[operand].name : r->output[operand - r->inputs].name,
                component);
}

static void print_node(struct text *out, const struct code *c, int number)
{
    const struct code_node *n = &c->node[number];
    text_printf(out, "    n%d%s = ", number, n->item ? " (per item)" : "");
    if (n->op == CODE_LOAD) {
        print_operand(out, c->recipe, n->a, n->b);
    } else if (n->op == CODE_CONSTANT) {
        surd_print(out, c->constant[n->a]);
    } else {
        if (n->op != CODE_MUL) {
            print_value(out, n->c);
            text_printf(out, " + ");
        }
        print_value(out, n->a);
        if (n->op != CODE_ADD) {
            text_printf(out, " * ");
            print_value(out, n->b);
        }
    }
    text_printf(out, "; %d use%s\n", n->uses, n->uses == 1 ? "" : "s");
}

void code_dump(struct text *out, const struct code *c)
{
    for (int i = 0; i < c->nodes; i++)
        if (c->node[i].uses)
            print_node(out, c, i);
    for (int i = 0; i < c->results; i++) {
        const struct code_result *r = &c->result[i];
        text_printf(out, "    ");
        print_operand(out, c->recipe, c->recipe->inputs + r->output, r->component);
        text_printf(out, r->adds ? " += " : " = ");
        print_value(out, r->value);
        text_printf(out, "\n");
    }
}

void demand_dump(struct text *out, const struct demand *d)
{
    for (int p = 0; p < d->plan->problem->paths; p++) {
        const struct code *code[] = {demand_code(d, p).tensor, demand_code(d, p).product};
        for (int i = 0; d->variant_of[p] >= 0 && i < 2; i++)
            if (code[i]) {
                text_printf(out, "  path %d, %s: %.0f flops per channel, %.0f per item\n", p,
                            i ? "product" : "T", code_flops(code[i]->channel), code_flops(code[i]->item));
                code_dump(out, code[i]);
            }
    }
}
