/* mutated.c - for simt_mutants.t: whether the program is the mutant of this number, as its environment says. */
#include <stdbool.h>
#include <stdlib.h>

bool simt_mutated(int number);

bool simt_mutated(int number)
{
    static int chosen = -1;
    if (chosen < 0) {
        const char *said = getenv("SIMT_MUTANT");
        chosen = said ? atoi(said) : 0;
    }
    return number == chosen;
}
