/* diag_id.h - the kinds of messages, each with the name that is printed after it and explained in
 * docs/diagnostics.md.
 *
 * A new kind is a constant here, a row of diag_table, a section of a page of docs/diagnostics.md with a wrong
 * and a right spec, and a spec of tests/bad.
 */
#ifndef CGTPGEN_DIAG_ID_H
#define CGTPGEN_DIAG_ID_H

enum diag_id {
    /* The file and its YAML. */
    DIAG_EMPTY_FILE,
    DIAG_NOT_TEXT,
    DIAG_LINE_END,
    DIAG_YAML_SYNTAX,
    DIAG_YAML_FEATURE,
    DIAG_SECOND_DOCUMENT,
    DIAG_DUPLICATE_KEY,
    DIAG_MISSING_COLON,
    DIAG_MISSING_QUOTES,
    DIAG_LOOK_ALIKE,
    DIAG_INVISIBLE,
    DIAG_DIRECTION,
    /* Keys and values. */
    DIAG_UNKNOWN_KEY,
    DIAG_MISSING_KEY,
    DIAG_USELESS_KEY,
    DIAG_UNEXPECTED_VALUE,
    DIAG_UNKNOWN_WORD,
    DIAG_NUMBER_RANGE,
    DIAG_EMPTY_LIST,
    DIAG_LISTED_TWICE,
    DIAG_PRECISION,
    DIAG_BAD_NAME,
    DIAG_NAME_TAKEN,
    DIAG_VERSION,
    DIAG_LIMIT,
    DIAG_IRREPS_SYNTAX,
    DIAG_INSTRUCTION_SYNTAX,
    DIAG_TERM_SYNTAX,
    DIAG_UNKNOWN_KNOB,
    DIAG_KNOB_VALUE,
    /* What the product means. */
    DIAG_NO_SEGMENT,
    DIAG_PARITY,
    DIAG_TRIANGLE,
    DIAG_MULTIPLICITY,
    DIAG_NEEDS_WEIGHTS,
    DIAG_VARIANCE_COUNT,
    DIAG_VARIANCE_MERGED,
    DIAG_COEFFICIENT_RANGE,
    DIAG_UNKNOWN_OUTPUT,
    DIAG_UNKNOWN_ARGUMENT,
    DIAG_WRONG_SLOT,
    DIAG_MIXED_TARGETS,
    DIAG_NO_WEIGHTS,
    DIAG_COLLISION,
    /* A log of times (--measured). */
    DIAG_LOG_FORM,
    DIAG_LOG_OTHER,
    /* Warnings: what is said in vain. */
    DIAG_EMPTY_PRODUCT,
    DIAG_REPEATED_INSTRUCTION,
    DIAG_DEAD_INPUT,
    DIAG_DEAD_FILTER,
    DIAG_FILTER_MULTIPLICITY,
    DIAG_DEAD_OUTPUT,
    DIAG_DEAD_ARGUMENT,
    DIAG_DEAD_INDEX,
    /* And what it costs. */
    DIAG_LARGE_CODE,
    DIAG_MEMORY,
    DIAG_EDITED_FILE,
    DIAG_COUNT
};

enum diag_severity { SEVERITY_IGNORED, SEVERITY_WARNING, SEVERITY_ERROR };

struct diag_row {
    const char *name;            /* small letters and hyphens */
    enum diag_severity severity; /* unless the caller has others; what is not an error here can be ignored */
};

extern const struct diag_row diag_table[DIAG_COUNT];

#endif
