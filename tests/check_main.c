/* check_main.c - runs checks on all products linked into the program and prints TAP.
 *
 *     PROGRAM [problems=FOLDER] KIND...
 *
 * Kinds are the rows of the table below. With problems=, a product's paths are those of FOLDER/NAME.problem
 * (and golden compares FOLDER/NAME.f64); else those of its descriptor under e3nn's default normalisation.
 */
#include "check.h"

#include <string.h>

extern const cgtp_product *const check_products[]; /* ends with NULL; made with the products */

static const struct {
    const char *name;
    void (*run)(struct check *);
} kinds[] = {
    {"descriptor", check_descriptor}, {"sizes", check_sizes},       {"paths", check_paths},
    {"calls", check_calls},           {"symmetry", check_symmetry}, {"euler", check_euler},
    {"quotients", check_quotients},
};

enum { KINDS = sizeof kinds / sizeof *kinds };

int main(int argc, char **argv)
{
    const char *folder = NULL;
    int products = 0, lines = 0, failed = 0;
    double worst = 0, share = 0;
    while (check_products[products])
        products++;
    for (int a = 1; a < argc; a++) {
        if (strncmp(argv[a], "problems=", 9) == 0) {
            folder = argv[a] + 9;
            continue;
        }
        bool golden = strcmp(argv[a], "golden") == 0;
        int kind = 0;
        while (kind < KINDS && strcmp(kinds[kind].name, argv[a]) != 0)
            kind++;
        if ((kind == KINDS && !golden) || (golden && !folder)) {
            fprintf(stderr, "not a kind of check, or golden without problems=: %s\n", argv[a]);
            return 2;
        }
        for (int i = 0; i < products; i++) {
            const cgtp_product *p = check_products[i];
            struct check c = {.product = p,
                              .kind = argv[a],
                              .roundoff = p->compute == CGTP_FLOAT64 ? 0x1p-53 : 0x1p-24,
                              .seed = (uint64_t)i * 77 + 1};
            c.problem = driver_problem(p, folder);
            if (golden)
                check_golden(&c, folder);
            else
                kinds[kind].run(&c);
            ref_problem_free(c.problem);
            failed += c.failures > 0;
            worst = c.worst > worst ? c.worst : worst;
            share = c.share > share ? c.share : share;
            printf("%sok %d - %s: %s; %ld compared, error up to %.2f u sum|terms|\n",
                   c.failures ? "not " : "", ++lines, p->name, argv[a], c.compared, c.worst);
            if (c.failures)
                printf("# %ld failures\n", c.failures);
            fflush(stdout);
        }
    }
    printf(
        "1..%d\n# largest error: %.2f u sum|terms|; %.2f of the bound (16 + n/8) u sum|terms| of n terms\n",
        lines, worst, share);
    return failed > 0;
}
