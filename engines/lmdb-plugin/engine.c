/* LMDB as a plug-in, as the driver in the tree uses it: one reader slot for each session, renewed
 * and reset; its cursor kept between read transactions. */
#define _GNU_SOURCE
#include "trueput_engine.h"

#include <errno.h>
#include <lmdb.h>
#include <stdlib.h>
#include <string.h>

TP_DESCRIPTION_FILE("description.json");

struct tp_database {
    MDB_env *environment;
    MDB_dbi table;
};

struct tp_session {
    tp_database *database;
    tp_error *error;
    MDB_txn *reader;     /* kept; reset while no read transaction is open */
    MDB_cursor *cursor;  /* of the reader; NULL until its first scan */
    MDB_txn *open;       /* the open transaction */
    MDB_cursor *scan;    /* of the running scan */
    uint32_t mode;
    tp_range range;
    int is_at_end;
};

static tp_status fail(tp_error *error, int code)
{
    int is_full = code == MDB_MAP_FULL || code == MDB_READERS_FULL || code == MDB_TXN_FULL ||
                  code == ENOSPC || code == EDQUOT;
    return tp_fail(error, is_full ? TP_FULL : TP_ENGINE, code, mdb_strerror(code));
}

static tp_status checked(tp_error *error, int code)
{
    return code == MDB_SUCCESS ? TP_OK : fail(error, code);
}

static int open_table(tp_database *database)
{
    MDB_txn *transaction;
    int code = mdb_txn_begin(database->environment, NULL, MDB_RDONLY, &transaction);
    if (code != MDB_SUCCESS) {
        return code;
    }
    code = mdb_dbi_open(transaction, NULL, 0, &database->table);
    if (code != MDB_SUCCESS) {
        mdb_txn_abort(transaction);
        return code;
    }
    return mdb_txn_commit(transaction);
}

static tp_status database_open(const tp_open *open, tp_database **opened, tp_error *error)
{
    unsigned flags = MDB_NOTLS;
    if (open->durability == TP_ASYNC) {
        flags |= MDB_NOMETASYNC;
    } else if (open->durability == TP_PROCESS) {
        flags |= MDB_NOSYNC;
    } else if (open->durability != TP_SYNC) {
        return tp_fail(error, TP_UNSUPPORTED, 0, "no such level of durability");
    }
    char *path = strndup(open->directory.data, open->directory.size);
    tp_database *database = calloc(1, sizeof *database);
    if (path == NULL || database == NULL) {
        free(path);
        free(database);
        return tp_fail(error, TP_FULL, 0, "no memory");
    }
    const tp_value *map_size = tp_knob(open, "map_size");
    const tp_value *readers = tp_knob(open, "max_readers");
    int code = mdb_env_create(&database->environment);
    if (code == MDB_SUCCESS) {
        MDB_env *environment = database->environment;
        code = mdb_env_set_mapsize(environment, (size_t)map_size->integer);
        code = code != MDB_SUCCESS ? code
                                   : mdb_env_set_maxreaders(environment, (unsigned)readers->integer);
        code = code != MDB_SUCCESS ? code : mdb_env_open(environment, path, flags, 0644);
        code = code != MDB_SUCCESS ? code : open_table(database);
        if (code != MDB_SUCCESS) {
            mdb_env_close(environment);
        }
    }
    free(path);
    if (code != MDB_SUCCESS) {
        free(database);
        return fail(error, code);
    }
    *opened = database;
    return TP_OK;
}

static tp_status database_close(tp_database *database, tp_error *error)
{
    (void)error;
    mdb_env_close(database->environment);
    free(database);
    return TP_OK;
}

static tp_status database_checkpoint(tp_database *database, tp_error *error)
{
    return checked(error, mdb_env_sync(database->environment, 1));
}

static tp_status database_settings(tp_database *database, const tp_values *values, tp_error *error)
{
    MDB_envinfo info;
    unsigned flags = 0;
    int code = mdb_env_info(database->environment, &info);
    if (code == MDB_SUCCESS) {
        code = mdb_env_get_flags(database->environment, &flags);
    }
    if (code != MDB_SUCCESS) {
        return fail(error, code);
    }
    tp_report_text(values, "version", mdb_version(NULL, NULL, NULL));
    tp_report_integer(values, "flags", (int64_t)flags);
    tp_report_integer(values, "me_mapsize", (int64_t)info.me_mapsize);
    tp_report_integer(values, "me_maxreaders", (int64_t)info.me_maxreaders);
    return TP_OK;
}

static tp_status new_session(tp_database *database, tp_error *error, tp_session **made)
{
    tp_session *session = calloc(1, sizeof *session);
    if (session == NULL) {
        return tp_fail(error, TP_FULL, 0, "no memory");
    }
    session->database = database;
    session->error = error;
    int code = mdb_txn_begin(database->environment, NULL, MDB_RDONLY, &session->reader);
    if (code != MDB_SUCCESS) {
        free(session);
        return fail(error, code);
    }
    mdb_txn_reset(session->reader);
    *made = session;
    return TP_OK;
}

static tp_status session_begin(tp_session *session, uint32_t mode)
{
    int code;
    if (mode == TP_READ) {
        code = mdb_txn_renew(session->reader);
        session->open = session->reader;
    } else {
        code = mdb_txn_begin(session->database->environment, NULL, 0, &session->open);
    }
    session->mode = mode;
    if (code != MDB_SUCCESS) {
        session->open = NULL;
        return fail(session->error, code);
    }
    return TP_OK;
}

static tp_status session_commit(tp_session *session)
{
    MDB_txn *open = session->open;
    session->open = NULL;
    if (session->mode == TP_READ) {
        mdb_txn_reset(open);
        return TP_OK;
    }
    return checked(session->error, mdb_txn_commit(open));
}

static tp_status session_abort(tp_session *session)
{
    MDB_txn *open = session->open;
    session->open = NULL;
    if (session->mode == TP_READ) {
        mdb_txn_reset(open);
    } else {
        mdb_txn_abort(open);
    }
    return TP_OK;
}

static MDB_val bytes_of(const void *data, size_t size)
{
    MDB_val bytes = {size, (void *)data};
    return bytes;
}

static tp_status session_get(tp_session *session, const void *key, size_t key_size, tp_slice *value)
{
    if (key_size == 0) {
        return TP_NOT_FOUND;
    }
    MDB_val wanted = bytes_of(key, key_size);
    MDB_val found;
    int code = mdb_get(session->open, session->database->table, &wanted, &found);
    if (code == MDB_NOTFOUND) {
        return TP_NOT_FOUND;
    }
    value->data = found.mv_data;
    value->size = found.mv_size;
    return checked(session->error, code);
}

static tp_status session_put(tp_session *session, const void *key, size_t key_size,
                             const void *value, size_t value_size)
{
    if (key_size == 0) {
        return tp_fail(session->error, TP_UNSUPPORTED, 0, "LMDB has no empty keys");
    }
    MDB_val to = bytes_of(key, key_size);
    MDB_val from = bytes_of(value, value_size);
    return checked(session->error,
                   mdb_put(session->open, session->database->table, &to, &from, 0));
}

static tp_status session_remove(tp_session *session, const void *key, size_t key_size)
{
    if (key_size == 0) {
        return TP_OK;
    }
    MDB_val gone = bytes_of(key, key_size);
    int code = mdb_del(session->open, session->database->table, &gone, NULL);
    return code == MDB_NOTFOUND ? TP_OK : checked(session->error, code);
}

/* The order of a key and an end of a range, as LMDB orders them: bytes, then length. */
static int compare(const MDB_val *key, const tp_slice *end)
{
    size_t common = key->mv_size < end->size ? key->mv_size : end->size;
    int order = common > 0 ? memcmp(key->mv_data, end->data, common) : 0;
    if (order != 0) {
        return order;
    }
    return key->mv_size < end->size ? -1 : key->mv_size > end->size;
}

static int is_in_range(const tp_range *range, const MDB_val *key)
{
    uint32_t kind = range->backward ? range->lower_kind : range->upper_kind;
    if (kind == TP_UNBOUNDED) {
        return 1;
    }
    int order = compare(key, range->backward ? &range->lower : &range->upper);
    if (order == 0) {
        return kind == TP_INCLUDED;
    }
    return range->backward ? order > 0 : order < 0;
}

/* Moves the cursor to the first record of a forward scan. */
static int first_above(tp_session *session, MDB_val *key, MDB_val *value)
{
    const tp_range *range = &session->range;
    if (range->lower_kind == TP_UNBOUNDED || range->lower.size == 0) {
        return mdb_cursor_get(session->scan, key, value, MDB_FIRST);
    }
    *key = bytes_of(range->lower.data, range->lower.size);
    int code = mdb_cursor_get(session->scan, key, value, MDB_SET_RANGE);
    if (code == MDB_SUCCESS && range->lower_kind == TP_EXCLUDED &&
        compare(key, &range->lower) == 0) {
        code = mdb_cursor_get(session->scan, key, value, MDB_NEXT);
    }
    return code;
}

/* Moves the cursor to the first record of a backward scan. */
static int first_below(tp_session *session, MDB_val *key, MDB_val *value)
{
    const tp_range *range = &session->range;
    if (range->upper_kind == TP_UNBOUNDED) {
        return mdb_cursor_get(session->scan, key, value, MDB_LAST);
    }
    if (range->upper.size == 0) {
        return MDB_NOTFOUND;
    }
    *key = bytes_of(range->upper.data, range->upper.size);
    int code = mdb_cursor_get(session->scan, key, value, MDB_SET_RANGE);
    if (code == MDB_NOTFOUND) {
        return mdb_cursor_get(session->scan, key, value, MDB_LAST);
    }
    int is_end = code == MDB_SUCCESS && compare(key, &range->upper) == 0;
    if (code == MDB_SUCCESS && !(is_end && range->upper_kind == TP_INCLUDED)) {
        code = mdb_cursor_get(session->scan, key, value, MDB_PREV);
    }
    return code;
}

static tp_status fill(tp_session *session, int code, MDB_val key, MDB_val value,
                      tp_record *records, uint32_t capacity, uint32_t *count)
{
    MDB_cursor_op next = session->range.backward ? MDB_PREV : MDB_NEXT;
    uint32_t filled = 0;
    for (;;) {
        if (code == MDB_NOTFOUND || (code == MDB_SUCCESS && !is_in_range(&session->range, &key))) {
            session->is_at_end = 1;
            break;
        }
        if (code != MDB_SUCCESS) {
            return fail(session->error, code);
        }
        records[filled].key.data = key.mv_data;
        records[filled].key.size = key.mv_size;
        records[filled].value.data = value.mv_data;
        records[filled].value.size = value.mv_size;
        filled++;
        if (filled == capacity) {
            break;
        }
        code = mdb_cursor_get(session->scan, &key, &value, next);
    }
    *count = filled;
    return TP_OK;
}

static tp_status session_scan_next(tp_session *session, tp_record *records, uint32_t capacity,
                                   uint32_t *count)
{
    *count = 0;
    if (session->is_at_end) {
        return TP_OK;
    }
    MDB_val key = {0, NULL};
    MDB_val value = {0, NULL};
    int code = mdb_cursor_get(session->scan, &key, &value,
                              session->range.backward ? MDB_PREV : MDB_NEXT);
    return fill(session, code, key, value, records, capacity, count);
}

static void session_scan_end(tp_session *session)
{
    if (session->mode == TP_WRITE) {
        mdb_cursor_close(session->scan);
    }
    session->scan = NULL;
}

static int scan_cursor(tp_session *session)
{
    MDB_dbi table = session->database->table;
    if (session->mode == TP_WRITE) {
        return mdb_cursor_open(session->open, table, &session->scan);
    }
    int code = session->cursor != NULL ? mdb_cursor_renew(session->open, session->cursor)
                                       : mdb_cursor_open(session->open, table, &session->cursor);
    session->scan = session->cursor;
    return code;
}

static tp_status session_scan_begin(tp_session *session, const tp_range *range, tp_record *records,
                                    uint32_t capacity, uint32_t *count)
{
    int code = scan_cursor(session);
    if (code != MDB_SUCCESS) {
        return fail(session->error, code);
    }
    session->range = *range;
    session->is_at_end = 0;
    MDB_val key = {0, NULL};
    MDB_val value = {0, NULL};
    code = range->backward ? first_below(session, &key, &value) : first_above(session, &key, &value);
    tp_status status = fill(session, code, key, value, records, capacity, count);
    if (status != TP_OK) {
        session_scan_end(session);
    }
    return status;
}

static void session_close(tp_session *session)
{
    if (session->open != NULL) {
        session_abort(session);
    }
    if (session->cursor != NULL) {
        mdb_cursor_close(session->cursor);
    }
    mdb_txn_abort(session->reader);
    free(session);
}

static const tp_database_api DATABASE = {
    .size = sizeof DATABASE,
    .open = database_open,
    .close = database_close,
    .session = new_session,
    .checkpoint = database_checkpoint,
    .settings = database_settings,
};

static const tp_session_api SESSION = {
    .size = sizeof SESSION,
    .begin = session_begin,
    .commit = session_commit,
    .abort = session_abort,
    .get = session_get,
    .put = session_put,
    .remove = session_remove,
    .scan_begin = session_scan_begin,
    .scan_next = session_scan_next,
    .scan_end = session_scan_end,
    .close = session_close,
};

static const tp_engine ENGINE = {
    .magic = TP_MAGIC,
    .size = sizeof ENGINE,
    .major = TP_MAJOR,
    .minor = TP_MINOR,
    .database = &DATABASE,
    .session = &SESSION,
};

const tp_engine *trueput_engine_v1(const tp_host *host)
{
    (void)host;
    return &ENGINE;
}
