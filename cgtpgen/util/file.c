/* file.c - reading and replacing: see file.h. The diff is in diff.c. */
#define _XOPEN_SOURCE 700 /* realpath: glibc does not count it to POSIX */

#include "util/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READ_SIZE = 1 << 16 };

/* Signals by which people and systems end processes. */
static const int ending[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};

const char *file_read(struct arena *a, const char *path, size_t limit, size_t *size)
{
    bool is_stdin = !strcmp(path, "-");
    int descriptor = is_stdin ? STDIN_FILENO : open(path, O_RDONLY);
    struct text t = {.arena = a};
    ssize_t got = descriptor < 0 ? -1 : 1;
    char buffer[READ_SIZE];
    while (got > 0 && t.n < limit) {
        size_t room = limit - t.n;
        got = read(descriptor, buffer, room < READ_SIZE ? room : READ_SIZE);
        if (got > 0)
            text_put(&t, buffer, (size_t)got);
        else if (got < 0 && errno == EINTR)
            got = 1;
    }
    int error = errno;
    if (descriptor >= 0 && !is_stdin)
        close(descriptor); /* opened for reading: nothing can be lost */
    errno = error;
    *size = t.n;
    return got < 0 ? NULL : text_string(&t);
}

const char *file_read_regular(struct arena *a, const char *path, size_t *size)
{
    struct stat status;
    if (!stat(path, &status) && !S_ISREG(status.st_mode)) {
        errno = S_ISDIR(status.st_mode) ? EISDIR : ENOTSUP;
        return NULL;
    }
    return file_read(a, path, SIZE_MAX, size);
}

/* The path without symbolic links; NULL: nothing is there. */
static const char *resolve(struct arena *a, const char *path)
{
    char *resolved = realpath(path, NULL);
    if (!resolved && errno == ENOMEM)
        longjmp(a->failure, 1);
    const char *copy = resolved ? arena_string(a, resolved, strlen(resolved)) : NULL;
    free(resolved);
    return copy;
}

const char *file_place(struct arena *a, const char *path)
{
    const char *slash = strrchr(path, '/'), *whole = resolve(a, path);
    if (whole)
        return whole;
    const char *folder = resolve(a, slash ? arena_string(a, path, (size_t)(slash - path) + 1) : ".");
    return folder ? file_join(a, folder, slash ? slash + 1 : path) : path;
}

bool file_is_stdin(const char *path)
{
    struct stat there, input;
    return !stat(path, &there) && !fstat(STDIN_FILENO, &input) && S_ISREG(input.st_mode) &&
           there.st_dev == input.st_dev && there.st_ino == input.st_ino;
}

const char *file_input_place(struct arena *a, const char *path, const struct file_content *file, int files)
{
    if (strcmp(path, "-"))
        return file_place(a, path);
    for (int i = 0; i < files; i++)
        if (file_is_stdin(file[i].path))
            return file_place(a, file[i].path);
    return "";
}

const char *file_join(struct arena *a, const char *folder, const char *name)
{
    if (!folder)
        return name;
    return arena_printf(a, "%s%s%s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/", name);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int file_names(struct arena *a, const char *folder, const char ***names)
{
    const char **list = NULL;
    int n = 0, capacity = 0;
    DIR *all = opendir(folder);
    if (!all)
        return -1;
    errno = 0;
    for (const struct dirent *entry; (entry = readdir(all)); errno = 0) {
        list = arena_grow(a, list, n, &capacity, sizeof *list);
        list[n++] = arena_string(a, entry->d_name, strlen(entry->d_name));
    }
    int error = errno;
    closedir(all);
    errno = error;
    if (n) /* qsort takes no null pointer */
        qsort(list, (size_t)n, sizeof *list, by_name);
    *names = list;
    return error ? -1 : n;
}

bool file_is_regular(const char *path)
{
    struct stat status;
    return !stat(path, &status) && S_ISREG(status.st_mode);
}

bool file_is_plain(const char *path)
{
    struct stat status;
    return !lstat(path, &status) && S_ISREG(status.st_mode);
}

bool file_put(int descriptor, const char *s, size_t n)
{
    while (n) {
        ssize_t put = write(descriptor, s, n);
        if (put < 0 && errno != EINTR)
            return false;
        if (put > 0) {
            s += put;
            n -= (size_t)put;
        }
    }
    return true;
}

bool file_make_folder(struct arena *a, const char *path)
{
    char *s = arena_string(a, path, strlen(path));
    for (char *p = s + 1; *p; p++)
        if (*p == '/') {
            *p = '\0';
            if (mkdir(s, 0777) && errno != EEXIST)
                return false;
            *p = '/';
        }
    if (!mkdir(s, 0777))
        return true;
    int error = errno;
    struct stat status;
    if (!stat(s, &status) && !S_ISDIR(status.st_mode))
        error = ENOTDIR;
    errno = error;
    return error == EEXIST;
}

/* One file that is to change. */
struct change {
    const struct file_content *content;
    const char *path;      /* behind symbolic links */
    const char *temporary; /* NULL: written in place, not being a regular file */
    bool written;          /* the temporary file exists */
};

/* Does the file hold the text? */
static bool holds(struct arena *a, const struct file_content *content)
{
    const struct arena_mark mark = arena_mark(a);
    size_t size;
    const char *there = file_read(a, content->path, content->size, &size);
    const bool same = there && size == content->size && !memcmp(there, content->text, size);
    arena_release(a, mark);
    return same;
}

/* Fills *change; false where the file holds the content already. */
static bool plan_change(struct arena *a, const struct file_content *content, int number,
                        struct change *change)
{
    *change = (struct change){.content = content, .path = content->path};
    struct stat status;
    bool exists = !stat(content->path, &status);
    if (exists && S_ISREG(status.st_mode) && (uintmax_t)status.st_size == content->size && holds(a, content))
        return false;
    const char *resolved = resolve(a, content->path);
    change->path = resolved ? resolved : content->path;
    if (!exists || S_ISREG(status.st_mode))
        change->temporary = arena_printf(a, "%s.%ld.%d.tmp", change->path, (long)getpid(), number);
    return true;
}

/* Opens, writes, closes. A new file's permissions are the umask's, an old one's are kept, but for the bits
 * that let a program run as the file's owner: who writes it now may be another. */
static bool write_change(struct change *c)
{
    /* Opening a pipe without a reader fails where it would wait for one; what is written then waits. */
    int flags = c->temporary ? O_WRONLY | O_CREAT | O_EXCL : O_WRONLY | O_NONBLOCK;
    int descriptor = open(c->temporary ? c->temporary : c->path, flags, 0666);
    if (descriptor < 0 || (!c->temporary && fcntl(descriptor, F_SETFL, O_WRONLY) < 0))
        return false;
    c->written = c->temporary;
    struct stat status;
    bool ok = file_put(descriptor, c->content->text, c->content->size);
    if (ok && c->temporary && !stat(c->path, &status))
        ok = !fchmod(descriptor, status.st_mode & 0777);
    int error = errno;
    if (close(descriptor) && ok)
        return false;
    errno = error;
    return ok;
}

/* Writes those that are written in place, or the temporary files of the others; the first that fails, or
 * NULL. */
static const struct change *write_changes(struct change *change, int changes, bool in_place)
{
    for (int i = 0; i < changes; i++)
        if (!change[i].temporary == in_place && !write_change(&change[i]))
            return &change[i];
    return NULL;
}

static const struct change *rename_changes(struct change *change, int changes)
{
    for (int i = 0; i < changes; i++)
        if (change[i].temporary) {
            if (rename(change[i].temporary, change[i].path))
                return &change[i];
            change[i].written = false;
        }
    return NULL;
}

const char *file_replace(struct arena *a, const struct file_content *content, int count)
{
    struct change *change = NEW_ARRAY(a, struct change, count + 1);
    int changes = 0;
    for (int i = 0; i < count; i++)
        changes += plan_change(a, &content[i], i, &change[changes]);
    /* From here on nothing ends before temporary files are gone: there is no allocation that could fail, and
     * signals that end the process wait. What is written in place may wait for a reader, so it comes first.
     */
    const struct change *failed = write_changes(change, changes, true);
    sigset_t waiting, before;
    sigemptyset(&waiting);
    for (int i = 0; i < (int)(sizeof ending / sizeof *ending); i++)
        sigaddset(&waiting, ending[i]);
    sigprocmask(SIG_BLOCK, &waiting, &before);
    if (!failed)
        failed = write_changes(change, changes, false);
    if (!failed)
        failed = rename_changes(change, changes);
    int error = errno;
    for (int i = 0; i < changes; i++)
        if (change[i].written)
            unlink(change[i].temporary);
    sigprocmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return failed ? failed->content->path : NULL;
}
