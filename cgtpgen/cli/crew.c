/* crew.c - see crew.h. Products know nothing of each other until all are there, and nothing global is
 * written, so that threads share no more than the number of the next spec, and whose turn it is to tell.
 */
#include "cli/crew.h"
#include "util/file.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

/* Threads where nobody said how many: memory is shared by all. */
enum { USUAL_MOST = 4 };

struct crew {
    const struct options *options;
    struct mutation *mutation;
    struct product *product;
    pthread_mutex_t turn; /* of: */
    int next, told;       /* specs */
};

struct worker {
    struct crew *crew;
    struct arena *arena;
    pthread_t thread;
    bool failed; /* memory is exhausted */
};

static int next_spec(struct crew *c)
{
    pthread_mutex_lock(&c->turn);
    const int i = c->next < c->options->specs ? c->next++ : -1;
    pthread_mutex_unlock(&c->turn);
    return i;
}

/* The spec is done: what is to be said of it is, and of those after it, once all before it are told. */
static void end_spec(struct crew *c, int i, enum exit_status status)
{
    pthread_mutex_lock(&c->turn);
    c->product[i].status = status;
    c->product[i].done = true;
    for (; c->told < c->options->specs && c->product[c->told].done; c->told++) {
        const struct text *t = &c->product[c->told].told;
        file_put(STDERR_FILENO, text_string(t),
                 t->n); /* where that cannot be told, the exit status still is */
    }
    pthread_mutex_unlock(&c->turn);
}

static void *work(void *of)
{
    struct worker *w = of;
    jmp_buf outer;
    memcpy(&outer, &w->arena->failure, sizeof outer);
    if (setjmp(w->arena->failure)) {
        w->failed = true;
    } else {
        struct kept *kept = compile_begin(w->arena);
        for (int i; (i = next_spec(w->crew)) >= 0;)
            end_spec(w->crew, i,
                     compile_spec(w->arena, kept, w->crew->options, w->crew->mutation, &w->crew->product[i]));
    }
    memcpy(&w->arena->failure, &outer, sizeof outer);
    return NULL;
}

/* Mutations are counted over all specs, and memory is reported of one thread. */
static int threads_for(const struct options *o, const struct mutation *mutation)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    const int usual = processors < 1 ? 1 : processors < USUAL_MOST ? (int)processors : USUAL_MOST;
    const int n = mutation || o->dump & 1u << DUMP_MEMORY ? 1 : o->jobs ? o->jobs : usual;
    return n < o->specs ? n : o->specs;
}

enum exit_status crew_compile(struct arena *arena, const struct options *options, struct mutation *mutation,
                              struct product *product)
{
    struct crew c = {options, mutation, product, PTHREAD_MUTEX_INITIALIZER, 0, 0};
    struct worker worker[JOBS_MOST] = {{&c, arena, 0, false}};
    const int wanted = threads_for(options, mutation);
    int n = 1;
    bool failed = false;
    for (; n < wanted; n++) { /* where there is no other thread to be had, there are fewer */
        worker[n] = (struct worker){&c, &arena[n], 0, false};
        if (pthread_create(&worker[n].thread, NULL, work, &worker[n]))
            break;
    }
    work(&worker[0]);
    for (int i = 1; i < n; i++) {
        pthread_join(worker[i].thread, NULL);
        memcpy(&arena[i].failure, &arena->failure, sizeof arena->failure); /* what is asked of it later */
    }
    for (int i = 0; i < n; i++)
        failed |= worker[i].failed;
    if (failed)
        longjmp(arena->failure, 1);
    enum exit_status status = EXIT_OK;
    for (int i = 0; i < options->specs && !status; i++)
        status = product[i].status;
    return status;
}
