/* The tables of a plug-in in Go, interface version 1.0. trueput_engine.go has the other half.
 *
 * Handles are numbers of Go, which its collector must not take for pointers: they are cast here.
 * What a session returns is copied to memory of C: Go's own memory may not leave Go.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "trueput_engine.h"

#include <stdlib.h>
#include <string.h>

#include "_cgo_export.h"

TP_DESCRIPTION_FILE("description.json");

struct tp_session {
    uintptr_t handle;
    tp_error *error;
    unsigned char *bytes; /* what the last call returned */
    size_t size;
    size_t capacity;
};

/* Empties a session's memory, for the next call's results. */
void tp_go_clear(tp_session *session)
{
    session->size = 0;
}

/* Adds bytes to a session's memory, and returns where they lie from its beginning; SIZE_MAX: there
 * is no memory. */
size_t tp_go_add(tp_session *session, const void *bytes, size_t size)
{
    if (session->capacity - session->size < size) {
        size_t capacity = 2 * session->capacity + size;
        unsigned char *grown = realloc(session->bytes, capacity);
        if (grown == NULL) {
            return SIZE_MAX;
        }
        session->bytes = grown;
        session->capacity = capacity;
    }
    size_t at = session->size;
    if (size > 0) {
        memcpy(session->bytes + at, bytes, size);
    }
    session->size += size;
    return at;
}

/* The address of what lies there. */
const void *tp_go_at(const tp_session *session, size_t at)
{
    return session->bytes + at;
}

/* Reports a value of a setting or a counter. */
void tp_go_report(const tp_values *values, const tp_value *value)
{
    values->value(values->context, value);
}

static tp_status database_open(const tp_open *open, tp_database **database, tp_error *error)
{
    uintptr_t handle = 0;
    tp_status status = tpGoOpen((tp_open *)open, &handle, error);
    *database = (tp_database *)handle;
    return status;
}

static tp_status database_close(tp_database *database, tp_error *error)
{
    return tpGoClose((uintptr_t)database, error);
}

static tp_status new_session(tp_database *database, tp_error *error, tp_session **made)
{
    tp_session *session = calloc(1, sizeof *session);
    if (session == NULL) {
        return tp_fail(error, TP_FULL, 0, "no memory");
    }
    session->error = error;
    tp_status status = tpGoSession((uintptr_t)database, &session->handle, error);
    if (status != TP_OK) {
        free(session);
        return status;
    }
    *made = session;
    return TP_OK;
}

static tp_status checkpoint(tp_database *database, tp_error *error)
{
    return tpGoCheckpoint((uintptr_t)database, error);
}

static tp_status settings(tp_database *database, const tp_values *values, tp_error *error)
{
    return tpGoValues((uintptr_t)database, 0, (tp_values *)values, error);
}

static tp_status counters(tp_database *database, const tp_values *values, tp_error *error)
{
    return tpGoValues((uintptr_t)database, 1, (tp_values *)values, error);
}

static tp_status begin(tp_session *session, uint32_t mode)
{
    return tpGoBegin(session->handle, mode, session->error);
}

static tp_status commit(tp_session *session)
{
    return tpGoCommit(session->handle, session->error);
}

static tp_status abort_transaction(tp_session *session)
{
    return tpGoAbort(session->handle, session->error);
}

static tp_status get(tp_session *session, const void *key, size_t key_size, tp_slice *value)
{
    return tpGoGet(session, session->handle, (void *)key, key_size, value, session->error);
}

static tp_status put(tp_session *session, const void *key, size_t key_size, const void *value,
                     size_t value_size)
{
    return tpGoPut(session->handle, (void *)key, key_size, (void *)value, value_size,
                   session->error);
}

static tp_status remove_key(tp_session *session, const void *key, size_t key_size)
{
    return tpGoRemove(session->handle, (void *)key, key_size, session->error);
}

static tp_status scan_next(tp_session *session, tp_record *records, uint32_t capacity,
                           uint32_t *count)
{
    return tpGoScanNext(session, session->handle, records, capacity, count, session->error);
}

static void scan_end(tp_session *session)
{
    tpGoScanEnd(session->handle);
}

static tp_status scan_begin(tp_session *session, const tp_range *range, tp_record *records,
                            uint32_t capacity, uint32_t *count)
{
    tp_status status = tpGoScanBegin(session->handle, (tp_range *)range, session->error);
    if (status != TP_OK) {
        return status;
    }
    status = scan_next(session, records, capacity, count);
    if (status != TP_OK) {
        /* A scan that fails as it begins has not begun. */
        scan_end(session);
    }
    return status;
}

static void close_session(tp_session *session)
{
    tpGoCloseSession(session->handle);
    free(session->bytes);
    free(session);
}

static const tp_database_api DATABASE = {
    .size = sizeof DATABASE,
    .open = database_open,
    .close = database_close,
    .session = new_session,
    .checkpoint = checkpoint,
    .settings = settings,
    .counters = counters,
};

static const tp_session_api SESSION = {
    .size = sizeof SESSION,
    .begin = begin,
    .commit = commit,
    .abort = abort_transaction,
    .get = get,
    .put = put,
    .remove = remove_key,
    .scan_begin = scan_begin,
    .scan_next = scan_next,
    .scan_end = scan_end,
    .close = close_session,
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
