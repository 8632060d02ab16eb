/* file.h - reading files, replacing them only when they change, and showing how they differ. */
#ifndef CGTPGEN_FILE_H
#define CGTPGEN_FILE_H

#include "util/text.h"

#include <stdbool.h>

/* What a file is to hold. */
struct file_content {
    const char *path;
    const char *text;
    size_t size;
};

/* Reads all of the file ("-": standard input), or its first `limit` bytes; the text is NUL-terminated and its
 * size in *size. Returns NULL with errno set when that fails. */
const char *file_read(struct arena *, const char *path, size_t limit, size_t *size);

/* All of a regular file; NULL with errno set (ENOTSUP for what is none, which could block) when that fails.
 */
const char *file_read_regular(struct arena *, const char *path, size_t *size);

/* The same text for all paths to a file, there or not; the path itself where its folder cannot be found. */
const char *file_place(struct arena *, const char *path);

/* Is it the regular file that standard input reads, under whatever name? */
bool file_is_stdin(const char *path);

/* Where a file that is read stands: for standard input the written file that it comes from, nowhere if none
 * is. */
const char *file_input_place(struct arena *a, const char *path, const struct file_content *file, int files);

/* FOLDER/NAME; NAME where the folder is NULL. */
const char *file_join(struct arena *, const char *folder, const char *name);

/* The names of all that is in the folder, sorted. Returns their number; -1 with errno set when that fails. */
int file_names(struct arena *, const char *folder, const char ***names);

/* Is it a regular file, or a symbolic link to one? */
bool file_is_regular(const char *path);

/* Is it a regular file itself, not by way of a symbolic link? */
bool file_is_plain(const char *path);

/* Writes n bytes to a descriptor; false with errno set when that fails. */
bool file_put(int descriptor, const char *s, size_t n);

/* Makes the folder and those above it where missing; false with errno set. */
bool file_make_folder(struct arena *, const char *path);

/* Writes the files that differ from what is there, keeping the others as they are (and their times). All are
 * written under temporary names beside their places first and renamed when every one is complete, so a full
 * disk changes nothing; signals that end the process wait for that. A symbolic link stays one and its target
 * is replaced; what is not a regular file (/dev/null) is written to directly, before the others, and a pipe
 * must have a reader. Returns NULL, or the path at which it failed with errno set. */
const char *file_replace(struct arena *, const struct file_content *, int count);

/* The unified diff, three lines of context, that turns a into b; nothing where they are equal. Where more
 * than some thousand lines differ it may not be the shortest. */
void file_diff(struct text *, const char *a_name, const char *a, size_t a_size, const char *b_name,
               const char *b, size_t b_size);

#endif
