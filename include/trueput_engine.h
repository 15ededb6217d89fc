/* A storage engine as a plug-in of trueput. Interface version 1.0.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A plug-in is a shared library for 64-bit little-endian Linux. It exports two symbols:
 *
 *   trueput_engine_v1_description  data: what the engine is, in JSON (docs/PLUGINS.md lists the
 *                                  fields). trueput reads it from the file. It runs no code of a
 *                                  plug-in before a database is opened.
 *   trueput_engine_v1              a function that returns the table of the plug-in's functions.
 *
 * `trueput engines new NAME --language c` writes a plug-in that builds and conforms, and `trueput
 * check ./libNAME.so` says whether one keeps what is written here.
 *
 * Versions. The major version is part of both symbols' names. Within a major version, structs that
 * begin with `size` grow at their end, and nothing changes its meaning. The sender sets `size` to
 * its sizeof; the receiver reads nothing beyond it. Optional functions are NULL where absent. The
 * other structs never change.
 *
 * Processes and threads. A plug-in is loaded in processes that were executed, not forked, and stays
 * loaded until the process ends; in a trial's workers it is the only one. Functions of a database are called
 * from any thread. A session is made, used and closed on one thread.
 *
 * Memory. Nobody frees what the other side allocated. What a plug-in receives is valid during the
 * call, and what a session returns is valid until the next call on that session.
 *
 * Errors. No exception, panic or longjmp leaves a plug-in. Each function catches its own and
 * returns a status with a text. A crash ends the worker, and the trial fails with the signal.
 *
 * Calls come in the right order: trueput itself refuses a second begin, a write in a read
 * transaction, keys and values that are longer than described, and empty ranges. A key may be
 * empty, and so may a bound: an engine without an empty key refuses its `put` with TP_UNSUPPORTED,
 * and otherwise behaves as one that does not have it. */
#ifndef TRUEPUT_ENGINE_H
#define TRUEPUT_ENGINE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TP_MAGIC UINT32_C(0x31505254) /* "TRP1" in memory */
#define TP_MAJOR UINT32_C(1)
#define TP_MINOR UINT32_C(0)

/* The outcome of a call. Any other value counts as TP_ENGINE. */
typedef int32_t tp_status;
#define TP_OK 0
#define TP_NOT_FOUND 1    /* of `get` and `point_get`: no such key */
#define TP_CONFLICT 2     /* another transaction interfered: trueput aborts, counts and retries */
#define TP_DEADLOCK 3     /* a conflict that the engine reports as a deadlock */
#define TP_UNSUPPORTED 4  /* the engine cannot do that at all */
#define TP_FULL 5         /* the disk, the map or another limit is full */
#define TP_ENGINE 6       /* any other error */

/* A database's level of durability. The promise of each is stated in the description. */
#define TP_SYNC UINT32_C(0)     /* every commit survives killed processes and lost power */
#define TP_ASYNC UINT32_C(1)    /* every commit survives killed processes; a prefix, lost power */
#define TP_BUFFERED UINT32_C(2) /* a consistent prefix survives either */
#define TP_PROCESS UINT32_C(3)  /* every commit survives killed processes only */
#define TP_NONE UINT32_C(4)     /* no promise */

/* The kind of a transaction. */
#define TP_READ UINT32_C(0)
#define TP_WRITE UINT32_C(1)

/* The plug-in's own types. */
typedef struct tp_database tp_database;
typedef struct tp_session tp_session;

/* Bytes. `data` may be NULL where `size` is 0; of what trueput passes, it is. */
typedef struct {
    const void *data;
    size_t size;
} tp_slice;

typedef struct {
    tp_slice key;
    tp_slice value;
} tp_record;

/* What went wrong, for people. trueput allocates it and clears it before each call that takes one.
 * A session's error is cleared after each error that trueput has read. */
typedef struct {
    int64_t code;       /* the engine's own; 0 if it has none */
    uint32_t text_size; /* at most sizeof text; the rest of a longer message is cut off */
    uint32_t reserved;
    char text[496];     /* UTF-8, not terminated */
} tp_error;

/* A named value. Which member holds it is the kind's; the others are 0. */
#define TP_INTEGER UINT32_C(0) /* `integer`: a number, or bytes */
#define TP_REAL UINT32_C(1)    /* `real`: a fraction, or seconds */
#define TP_BOOLEAN UINT32_C(2) /* `integer`: 0 or 1 */
#define TP_TEXT UINT32_C(3)    /* `text`: a choice, a text, or a default's word */
typedef struct {
    uint32_t size;
    uint32_t kind;
    tp_slice name;
    int64_t integer;
    double real;
    tp_slice text;
} tp_value;

/* How a database is opened. */
typedef struct {
    uint32_t size;
    uint32_t durability;
    uint32_t sessions;            /* the most that this process has at once */
    uint32_t knob_count;
    tp_slice directory;           /* an absolute path of an existing folder, not terminated */
    const tp_value *const *knobs; /* each described knob, in that order, within its range */
} tp_open;

/* What a scan covers: keys in unsigned byte order. */
#define TP_UNBOUNDED UINT32_C(0)
#define TP_INCLUDED UINT32_C(1)
#define TP_EXCLUDED UINT32_C(2)
typedef struct {
    uint32_t size;
    uint32_t lower_kind; /* TP_UNBOUNDED, TP_INCLUDED or TP_EXCLUDED */
    uint32_t upper_kind;
    uint32_t backward;   /* 1: by descending key */
    tp_slice lower;      /* a bound need not be an existing key */
    tp_slice upper;
} tp_range;

/* Where a plug-in puts the values that it reports. `value` copies what it is given. It is called
 * during the call that has it, and on its thread. */
typedef struct {
    uint32_t size;
    uint32_t reserved;
    void *context; /* the first argument of `value` */
    void (*value)(void *context, const tp_value *value);
} tp_values;

/* What trueput offers to a plug-in. It lives as long as the process. */
typedef struct {
    uint32_t size;
    uint32_t major;
    uint32_t minor;
    uint32_t reserved;
} tp_host;

/* Functions of a session. None of them allocates, locks, formats or reads a clock unless the engine
 * itself does: they are what trueput measures. */
typedef struct {
    uint32_t size;
    uint32_t reserved;
    /* No transaction is open after an error of it. */
    tp_status (*begin)(tp_session *, uint32_t mode);
    /* Makes the writes visible, and durable at the database's level. No transaction is open after
     * it, nor after an error of it; after TP_CONFLICT, nothing was written. */
    tp_status (*commit)(tp_session *);
    /* Forgets the writes. It succeeds also where the engine has already ended the transaction. */
    tp_status (*abort)(tp_session *);
    /* Sees the transaction's own writes. */
    tp_status (*get)(tp_session *, const void *key, size_t key_size, tp_slice *value);
    tp_status (*put)(tp_session *, const void *key, size_t key_size, const void *value,
                     size_t value_size);
    /* It is no error if the key does not exist. */
    tp_status (*remove)(tp_session *, const void *key, size_t key_size);
    /* Begins a scan, and fills up to `capacity` records. Fewer than that, and the range has ended.
     * `capacity` is 1 at first, and doubles up to the described `scan_batch`. The ends of the range
     * are there until `scan_end`, which follows each scan that was begun without an error, also
     * after an error of `scan_next`. No other call comes before it. */
    tp_status (*scan_begin)(tp_session *, const tp_range *, tp_record *records, uint32_t capacity,
                            uint32_t *count);
    tp_status (*scan_next)(tp_session *, tp_record *records, uint32_t capacity, uint32_t *count);
    void (*scan_end)(tp_session *);
    /* Ends the session, and aborts its transaction if one is open. */
    void (*close)(tp_session *);
    /* Optional: a get in a read transaction of its own, for an engine that serves a single lookup
     * without a snapshot. */
    tp_status (*point_get)(tp_session *, const void *key, size_t key_size, tp_slice *value);
    /* Optional: makes the database's counters include what this session did. */
    tp_status (*flush_counters)(tp_session *);
} tp_session_api;

/* Functions of a database. */
typedef struct {
    uint32_t size;
    uint32_t reserved;
    /* Creates the database if it does not exist, and makes the folder's entries durable. It refuses
     * a level that is not described with TP_UNSUPPORTED. */
    tp_status (*open)(const tp_open *, tp_database **, tp_error *);
    /* All sessions are closed. It frees the database also where it fails, and the trial fails with
     * the error. Opened again, the database has every commit, at each level of durability: levels
     * speak of crashes. */
    tp_status (*close)(tp_database *, tp_error *);
    /* Errors of the session's calls go to `error`, which outlives it. */
    tp_status (*session)(tp_database *, tp_error *error, tp_session **);
    /* Brings every commit so far to storage, by the engine's own means. */
    tp_status (*checkpoint)(tp_database *, tp_error *);
    /* The settings as the engine reports them back, by its own names: not as requested. */
    tp_status (*settings)(tp_database *, const tp_values *, tp_error *);
    /* Optional: the engine's own counters. */
    tp_status (*counters)(tp_database *, const tp_values *, tp_error *);
    /* Optional: checks a closed database by the engine's own means; an error says what is damaged. */
    tp_status (*check_files)(const tp_open *, tp_error *);
    /* Optional: what the engine's documentation asks of its users after lost power, before the
     * database is opened. */
    tp_status (*prepare_after_power_loss)(const tp_open *, tp_error *);
} tp_database_api;

/* The plug-in. Its first 16 bytes are the same in every major version. */
typedef struct {
    uint32_t magic; /* TP_MAGIC */
    uint32_t size;
    uint32_t major; /* TP_MAJOR */
    uint32_t minor; /* TP_MINOR */
    const tp_database_api *database;
    const tp_session_api *session;
} tp_engine;

#define TP_EXPORT __attribute__((visibility("default"), used))

/* Returns the plug-in's table, which lives as long as the process. It is called once per process.
 * NULL: this plug-in cannot run here, after a line on standard error that says why, which the
 * failure of the trial quotes. */
TP_EXPORT const tp_engine *trueput_engine_v1(const tp_host *host);

/* Defines the description from a file of JSON, found as the assembler finds included files: in the
 * folder of the compilation and in those of -I. In C++, use it outside of extern "C". */
#define TP_DESCRIPTION_FILE(path)                                              \
    __asm__(".pushsection .rodata\n"                                           \
            ".globl trueput_engine_v1_description\n"                           \
            ".type trueput_engine_v1_description, %object\n"                   \
            "trueput_engine_v1_description:\n"                                 \
            ".incbin \"" path "\"\n"                                           \
            ".size trueput_engine_v1_description, . - trueput_engine_v1_description\n" \
            ".popsection\n")

/* Helpers for plug-ins. */

/* Fills an error and returns `status`. */
static inline tp_status tp_fail(tp_error *error, tp_status status, int64_t code, const char *text)
{
    uint32_t size = 0;
    while (text[size] != '\0' && size < sizeof error->text) {
        error->text[size] = text[size];
        size++;
    }
    error->code = code;
    error->text_size = size;
    return status;
}

/* The knob of that name; NULL if it is not described. */
static inline const tp_value *tp_knob(const tp_open *open, const char *name)
{
    for (uint32_t i = 0; i < open->knob_count; i++) {
        const tp_value *knob = open->knobs[i];
        const char *bytes = (const char *)knob->name.data;
        size_t at = 0;
        while (at < knob->name.size && name[at] != '\0' && name[at] == bytes[at]) {
            at++;
        }
        if (at == knob->name.size && name[at] == '\0') {
            return knob;
        }
    }
    return NULL;
}

/* Reports one value. The name and the text are terminated strings. */
static inline void tp_report_integer(const tp_values *values, const char *name, int64_t integer)
{
    size_t size = 0;
    tp_value value;
    while (name[size] != '\0') {
        size++;
    }
    value.size = sizeof value;
    value.kind = TP_INTEGER;
    value.name.data = name;
    value.name.size = size;
    value.integer = integer;
    value.real = 0.0;
    value.text.data = NULL;
    value.text.size = 0;
    values->value(values->context, &value);
}

static inline void tp_report_text(const tp_values *values, const char *name, const char *text)
{
    size_t name_size = 0;
    size_t text_size = 0;
    tp_value value;
    while (name[name_size] != '\0') {
        name_size++;
    }
    while (text[text_size] != '\0') {
        text_size++;
    }
    value.size = sizeof value;
    value.kind = TP_TEXT;
    value.name.data = name;
    value.name.size = name_size;
    value.integer = 0;
    value.real = 0.0;
    value.text.data = text;
    value.text.size = text_size;
    values->value(values->context, &value);
}

#ifdef __cplusplus
}
#endif

#endif
