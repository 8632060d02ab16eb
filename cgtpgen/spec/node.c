/* node.c - see node.h: libyaml's events become a tree. */
#include "spec/node.h"

#include "spec/slips.h"
#include "util/unicode.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum { SOURCE_MAX = 1 << 20, DEPTH_MAX = 12 };

struct builder {
    struct arena *arena;
    struct diag *diag;
    yaml_parser_t parser;
    yaml_event_t event;
    bool has_event;
    const char *source;
    size_t size, text; /* text begins after a byte order mark */
    /* libyaml counts characters; this is where the last one asked for stands, so that going on from it is
     * cheap. */
    size_t characters, byte, line_begin;
    int line;
    int depth;
};

static struct pos pos_of_bytes(const struct builder *b, size_t line_begin, int line, size_t begin, size_t end)
{
    const char *newline = memchr(b->source + begin, '\n', end - begin);
    size_t width = newline ? (size_t)(newline - b->source) - begin : end - begin;
    return (struct pos){line, (int)(begin - line_begin) + 1, width ? (int)width : 1};
}

/* The place of bytes, wherever they are. */
static struct pos pos_of_place(const struct builder *b, size_t begin, size_t end)
{
    size_t line_begin = b->text;
    int line = 1;
    for (size_t i = 0; i < begin; i++)
        if (b->source[i] == '\n') {
            line++;
            line_begin = i + 1;
        }
    return pos_of_bytes(b, line_begin, line, begin, end);
}

/* The byte at which the mark's character begins. */
static size_t seek(struct builder *b, const yaml_mark_t *mark)
{
    if (mark->index < b->characters) {
        b->characters = 0;
        b->byte = b->line_begin = b->text;
        b->line = 1;
    }
    while (b->characters < mark->index && b->byte < b->size) {
        if (b->source[b->byte++] == '\n') {
            b->line++;
            b->line_begin = b->byte;
        }
        while (b->byte < b->size && ((unsigned char)b->source[b->byte] & 0xc0) == 0x80)
            b->byte++;
        b->characters++;
    }
    return b->byte;
}

/* The place of a mark; one past the end of the file is shown after the last text in it. */
static struct pos pos_of_mark(struct builder *b, const yaml_mark_t *mark)
{
    size_t byte = seek(b, mark);
    if (byte < b->size)
        return pos_of_bytes(b, b->line_begin, b->line, byte, byte);
    while (byte > 0 && strchr(" \t\r\n", b->source[byte - 1]))
        byte--;
    return pos_of_place(b, byte, byte);
}

static struct node *new_node(struct builder *b, enum node_kind kind)
{
    struct node *node = NEW(b->arena, struct node);
    node->kind = kind;
    node->begin = node->end = seek(b, &b->event.start_mark);
    node->pos = pos_of_bytes(b, b->line_begin, b->line, node->begin, node->begin);
    if (node->begin == b->size)
        node->pos = pos_of_mark(b, &b->event.start_mark);
    return node;
}

/* Sets where a node ends, and the width to underline: all of it, or its first line. A block mapping or list
 * is shown by its first character. */
static void end_node(struct builder *b, struct node *node, bool block)
{
    struct pos pos = node->pos;
    node->end = seek(b, &b->event.end_mark);
    if (node->end < node->begin)
        node->end = node->begin;
    if (!block && node->begin < b->size)
        node->pos = pos_of_bytes(b, node->begin - (size_t)(pos.column - 1), pos.line, node->begin, node->end);
}

static void drop_event(struct builder *b)
{
    if (b->has_event)
        yaml_event_delete(&b->event);
    b->has_event = false;
}

/* Does the text begin as some editors write it, with a mark of two bytes or with characters of several? */
static bool is_wide(const struct builder *b)
{
    const unsigned char *s = (const unsigned char *)b->source;
    return b->size >= 2 &&
           ((s[0] == 0xff && s[1] == 0xfe) || (s[0] == 0xfe && s[1] == 0xff) || !s[0] || !s[1]);
}

static void report_libyaml(struct builder *b)
{
    const yaml_parser_t *p = &b->parser;
    const char *problem = p->problem ? p->problem : "unknown problem";
    if (p->error == YAML_MEMORY_ERROR)
        longjmp(b->arena->failure, 1);
    if (p->error == YAML_READER_ERROR) { /* its place is a byte */
        size_t at = b->text + p->problem_offset;
        at = at < b->size ? at : b->size;
        struct pos pos = pos_of_place(b, at, at);
        if (is_wide(b))
            diag_report(b->diag, DIAG_NOT_TEXT, (struct pos){0},
                        "the file is UTF-16 or UTF-32; a spec is UTF-8");
        else if (strstr(problem, "control characters"))
            diag_report(b->diag, DIAG_NOT_TEXT, pos, "a control character (code %d); a spec is text",
                        p->problem_value);
        else
            diag_report(b->diag, DIAG_NOT_TEXT, pos, "not valid UTF-8: %s", problem);
        return;
    }
    size_t context = p->context ? seek(b, &p->context_mark) : 0, at = seek(b, &p->problem_mark);
    struct slip slip;
    if (slips_in_yaml(b->arena, b->diag, problem, at, context, &slip)) {
        diag_report(b->diag, slip.id, pos_of_place(b, slip.at, slip.at + slip.width), "%s", slip.message);
        return;
    }
    if (p->error == YAML_SCANNER_ERROR && at < b->size && b->source[at] == '\t')
        problem = "a tab where only spaces can indent";
    diag_report(b->diag, DIAG_YAML_SYNTAX, pos_of_mark(b, &p->problem_mark), "not valid YAML: %s", problem);
    /* A context at the same place, or none, has nothing to add. */
    if (p->context && p->context_mark.index != p->problem_mark.index)
        diag_note(b->diag, pos_of_mark(b, &p->context_mark), "%s that begins here", p->context);
}

/* The next event, or false where the text is no YAML. */
static bool next(struct builder *b)
{
    drop_event(b);
    if (!yaml_parser_parse(&b->parser, &b->event)) {
        report_libyaml(b);
        return false;
    }
    b->has_event = true;
    return true;
}

/* A text in quotes, after a prefix, cut where it is long. */
static const char *shortened(struct arena *arena, const char *prefix, const char *s)
{
    enum { SHOWN = 40 };
    size_t n = strlen(s);
    if (n <= SHOWN)
        return arena_printf(arena, "'%s%s'", prefix, s);
    for (n = SHOWN - 3; n > 0 && ((unsigned char)s[n] & 0xc0) == 0x80; n--)
        ;
    return arena_printf(arena, "'%s%.*s...'", prefix, (int)n, s);
}

/* Reports what may stand before a node but not in a spec. */
static void check_decoration(struct builder *b, const yaml_char_t *anchor, const yaml_char_t *tag)
{
    struct pos pos = pos_of_mark(b, &b->event.start_mark);
    if (anchor)
        diag_report(b->diag, DIAG_YAML_FEATURE, pos, "anchor %s: anchors and aliases are not part of a spec",
                    shortened(b->arena, "&", (const char *)anchor));
    if (tag) { /* as it is written: libyaml says what it stands for */
        size_t begin = seek(b, &b->event.start_mark), end;
        while (begin < b->size && b->source[begin] != '!')
            begin++;
        const char *ends = begin + 1 < b->size && b->source[begin + 1] == '<' ? " \r\n" : " \t\r\n,[]{}";
        for (end = begin; end < b->size && !strchr(ends, b->source[end]);)
            end++;
        diag_report(b->diag, DIAG_YAML_FEATURE, pos_of_place(b, begin, end),
                    "tag %s: tags are not part of a spec",
                    shortened(b->arena, "", arena_string(b->arena, b->source + begin, end - begin)));
    }
}

static struct node *read_node(struct builder *b);

static struct node *read_scalar(struct builder *b)
{
    const char *value = (const char *)b->event.data.scalar.value;
    size_t length = b->event.data.scalar.length;
    yaml_scalar_style_t style = b->event.data.scalar.style;
    struct node *node = new_node(b, NODE_SCALAR);
    check_decoration(b, b->event.data.scalar.anchor, b->event.data.scalar.tag);
    node->text = arena_string(b->arena, value, length);
    node->quoted = style != YAML_PLAIN_SCALAR_STYLE;
    end_node(b, node, style == YAML_LITERAL_SCALAR_STYLE || style == YAML_FOLDED_SCALAR_STYLE);
    int bytes;
    for (size_t i = 0; i < length; i += (size_t)bytes) {
        int32_t c = unicode_decode(value + i, length - i, &bytes);
        if (unicode_is_control(c) && c != '\n' && c != '\t') { /* written as an escape such as "\0" */
            diag_report(b->diag, DIAG_NOT_TEXT, node->pos, "a control character (code %d) in a text", (int)c);
            node->kind = NODE_WRONG;
            break;
        }
    }
    return node;
}

/* Orders entries by key, then by place in the file. */
static int compare_keys(const void *a, const void *b)
{
    const struct node *p = (*(const struct entry *const *)a)->key,
                      *q = (*(const struct entry *const *)b)->key;
    int c = strcmp(p->text, q->text);
    return c ? c : p->begin < q->begin ? -1 : p->begin > q->begin;
}

static void check_duplicates(struct builder *b, struct node *mapping)
{
    struct entry **sorted = NEW_ARRAY(b->arena, struct entry *, mapping->n + 1);
    for (int i = 0; i < mapping->n; i++)
        sorted[i] = &mapping->entry[i];
    qsort(sorted, (size_t)mapping->n, sizeof *sorted, compare_keys);
    const struct node *first = NULL;
    for (int i = 0; i < mapping->n; i++) {
        struct node *key = sorted[i]->key;
        if (first && strcmp(first->text, key->text) == 0) {
            diag_report(b->diag, DIAG_DUPLICATE_KEY, key->pos, "the key %s is given twice",
                        node_shown(b->arena, key));
            diag_note(b->diag, first->pos, "it is first given here");
            key->kind = NODE_WRONG;
        } else {
            first = key;
        }
    }
}

static struct node *read_list(struct builder *b)
{
    bool block = b->event.data.sequence_start.style == YAML_BLOCK_SEQUENCE_STYLE;
    int capacity = 0;
    struct node *node = new_node(b, NODE_LIST);
    check_decoration(b, b->event.data.sequence_start.anchor, b->event.data.sequence_start.tag);
    for (;;) {
        if (!next(b))
            return NULL;
        if (b->event.type == YAML_SEQUENCE_END_EVENT)
            break;
        node->child = arena_grow(b->arena, node->child, node->n, &capacity, sizeof *node->child);
        if (!(node->child[node->n++] = read_node(b)))
            return NULL;
    }
    end_node(b, node, block);
    return node;
}

static struct node *read_mapping(struct builder *b)
{
    bool block = b->event.data.mapping_start.style == YAML_BLOCK_MAPPING_STYLE;
    int capacity = 0;
    struct node *node = new_node(b, NODE_MAPPING);
    check_decoration(b, b->event.data.mapping_start.anchor, b->event.data.mapping_start.tag);
    for (;;) {
        struct entry entry;
        if (!next(b))
            return NULL;
        if (b->event.type == YAML_MAPPING_END_EVENT)
            break;
        if (!(entry.key = read_node(b)) || !next(b) || !(entry.value = read_node(b)))
            return NULL;
        if (entry.key->kind != NODE_SCALAR) {
            if (entry.key->kind != NODE_WRONG)
                diag_report(b->diag, DIAG_UNEXPECTED_VALUE, entry.key->pos,
                            "expected a word as key, found %s", node_shown(b->arena, entry.key));
            continue;
        }
        node->entry = arena_grow(b->arena, node->entry, node->n, &capacity, sizeof *node->entry);
        node->entry[node->n++] = entry;
    }
    check_duplicates(b, node);
    end_node(b, node, block);
    return node;
}

/* The node that begins with the current event; NULL where the rest cannot be read. */
static struct node *read_node(struct builder *b)
{
    struct node *node = NULL;
    if (b->depth == DEPTH_MAX) {
        diag_report(b->diag, DIAG_LIMIT, pos_of_mark(b, &b->event.start_mark),
                    "nested more than %d levels deep; no part of a spec is", DEPTH_MAX);
        return NULL;
    }
    b->depth++;
    switch (b->event.type) {
    case YAML_SCALAR_EVENT:
        node = read_scalar(b);
        break;
    case YAML_SEQUENCE_START_EVENT:
        node = read_list(b);
        break;
    case YAML_MAPPING_START_EVENT:
        node = read_mapping(b);
        break;
    case YAML_ALIAS_EVENT:
        node = new_node(b, NODE_WRONG);
        end_node(b, node, false);
        diag_report(b->diag, DIAG_YAML_FEATURE, node->pos,
                    "alias %s: anchors and aliases are not part of a spec",
                    shortened(b->arena, "*", (const char *)b->event.data.alias.anchor));
        break;
    default: /* libyaml sends nothing else where a node must stand */
        break;
    }
    b->depth--;
    return node;
}

/* YAML ends lines at a carriage return too; nothing else does any more. */
static bool check_line_ends(struct builder *b)
{
    for (size_t i = 0; i < b->size; i++)
        if (b->source[i] == '\r' && (i + 1 == b->size || b->source[i + 1] != '\n')) {
            diag_report(b->diag, DIAG_LINE_END, pos_of_place(b, i, i),
                        "a carriage return without a line feed; lines of a spec end with LF, or CR and LF");
            return false;
        }
    return true;
}

static struct node *read_document(struct builder *b)
{
    if (!check_line_ends(b))
        return NULL;
    if (!next(b) || !next(b)) /* the stream's start, then the first document's */
        return NULL;
    if (b->event.type == YAML_STREAM_END_EVENT) {
        diag_report(b->diag, DIAG_EMPTY_FILE, (struct pos){0},
                    "the file is empty: expected a spec, which begins with 'cgtp: 1'");
        return NULL;
    }
    if (b->event.data.document_start.tag_directives.start != b->event.data.document_start.tag_directives.end)
        diag_report(b->diag, DIAG_YAML_FEATURE, pos_of_mark(b, &b->event.start_mark),
                    "a %%TAG directive: tags are not part of a spec");
    if (!next(b))
        return NULL;
    struct node *root = read_node(b);
    if (!root || !next(b) || !next(b)) /* the document's end, then the stream's */
        return NULL;
    if (b->event.type != YAML_STREAM_END_EVENT) {
        diag_report(b->diag, DIAG_SECOND_DOCUMENT, pos_of_mark(b, &b->event.start_mark),
                    "a second document begins here; a file holds one spec");
        diag_note(b->diag, root->pos, "the first one begins here");
    }
    return root;
}

struct node *node_read(struct arena *arena, struct diag *diag)
{
    if (diag->source_size > SOURCE_MAX) {
        diag_report(diag, DIAG_LIMIT, (struct pos){0}, "the file is larger than 1 MiB");
        return NULL;
    }
    /* In the arena, so that it keeps its value when an allocation that fails comes back here by longjmp. */
    struct builder *b = NEW(arena, struct builder);
    b->arena = arena;
    b->diag = diag;
    b->line = 1;
    b->source = diag->source;
    b->size = diag->source_size;
    b->text = b->size >= 3 && memcmp(b->source, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    b->byte = b->line_begin = b->text;

    if (!yaml_parser_initialize(&b->parser))
        longjmp(arena->failure, 1);
    jmp_buf outer;
    memcpy(&outer, &arena->failure, sizeof outer);
    if (setjmp(arena->failure)) { /* out of memory: free libyaml's, then on to the owner */
        drop_event(b);
        yaml_parser_delete(&b->parser);
        memcpy(&arena->failure, &outer, sizeof outer);
        longjmp(arena->failure, 1);
    }
    yaml_parser_set_encoding(&b->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&b->parser, (const unsigned char *)b->source + b->text, b->size - b->text);
    struct node *root = read_document(b);
    drop_event(b);
    yaml_parser_delete(&b->parser);
    memcpy(&arena->failure, &outer, sizeof outer);
    return root;
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

struct pos node_pos_at(const struct diag *diag, const struct node *node, int at, int width)
{
    /* Folding and indentation change white space alone: what is not space stands in the same order in text
     * and source. */
    const char *s = diag->source + node->begin, *end = diag->source + node->end, *t = node->text;
    if (node->quoted && s < end) {
        if (*s == '|' || *s == '>') /* the header of a block scalar */
            while (s < end && *s != '\n')
                s++;
        else
            s++;
    }
    struct pos pos = node->pos;
    const char *from = diag->source + node->begin, *place = NULL;
    for (;; s++) {
        while (s < end && is_space(*s))
            s++;
        while (is_space(*t) && t - node->text < at)
            t++;
        if (t - node->text >= at) {
            place = s;
            break;
        }
        if (s >= end || *s != *t)
            return node->pos;
        t++;
    }
    for (const char *p = from; p < place; p++) {
        pos.column++;
        if (*p == '\n') {
            pos.line++;
            pos.column = 1;
        }
    }
    pos.width = width > 0 ? width : 1;
    return pos;
}

struct node *node_join(struct arena *arena, const struct diag *diag, const struct node *list, int first,
                       int last)
{
    struct node *node = NEW(arena, struct node);
    *node = *list->child[first];
    node->end = list->child[last]->end;
    node->quoted = false;
    node->text = arena_string(arena, diag->source + node->begin, node->end - node->begin);
    const char *newline = strchr(node->text, '\n');
    node->pos.width = newline ? (int)(newline - node->text) : (int)(node->end - node->begin);
    return node;
}

const char *node_shown(struct arena *arena, const struct node *node)
{
    if (node->kind == NODE_LIST)
        return "a list";
    if (node->kind == NODE_MAPPING)
        return "a mapping";
    if (!node->quoted && !*node->text)
        return "nothing";
    return shortened(arena, "", node->text);
}
