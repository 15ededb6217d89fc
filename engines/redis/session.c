/* Sessions: a connection each.
 *
 * A record is a string, under its key behind an 'r'. The sorted set "index" has all keys at one
 * score, and so in the order of bytes. A write transaction keeps its writes in the session, WATCHes
 * what it reads, and sends its writes in one MULTI ... EXEC, which fails if that has changed. */
#define _GNU_SOURCE
#include "engine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INDEX "index"
#define RECORD 'r'
#define SCAN_BATCH 256      /* as described */
#define CHANGES_AT_ONCE 256 /* of one command of a commit */

/* Where a record is in a buffer. */
typedef struct {
    size_t key;
    size_t key_size;
    size_t value;
    size_t value_size; /* or NO_VALUE: the record is removed, or not there */
} place;

#define NO_VALUE SIZE_MAX

struct tp_session {
    connection client;
    int is_watching;      /* the transaction WATCHes what it reads */
    int has_watched;      /* something */
    int has_watched_keys; /* the index */
    /* The transaction's writes, by ascending key. */
    place *changes;
    size_t change_count;
    size_t change_capacity;
    buffer changed; /* their bytes */
    /* The scan. */
    tp_range range;
    buffer from; /* where the next page begins, as ZRANGE takes it */
    int is_at_end;
    size_t next_change; /* of those in the range: from, counted in the scan's direction */
    size_t changes_left;
    place page[SCAN_BATCH]; /* in the client's replies */
    size_t page_size;
    size_t page_at;
};

/* ---- Transactions. ---- */

tp_status session_open(tp_database *database, tp_error *error, tp_session **opened)
{
    tp_session *session = calloc(1, sizeof *session);
    if (session == NULL) {
        return tp_fail(error, TP_ENGINE, errno, "no memory");
    }
    tp_status status = client_open(&session->client, database->server, database->folder, error);
    if (status != TP_OK) {
        free(session);
        return status;
    }
    *opened = session;
    return TP_OK;
}

static tp_status session_begin(tp_session *session, uint32_t mode)
{
    session->is_watching = mode == TP_WRITE;
    session->has_watched = 0;
    session->has_watched_keys = 0;
    session->change_count = 0;
    session->changed.size = 0;
    return TP_OK;
}

static tp_status session_abort(tp_session *session)
{
    connection *client = &session->client;
    if (!session->has_watched || client->is_broken) {
        return TP_OK;
    }
    client_begin(client);
    client_command(client, 1, "UNWATCH");
    tp_status status = client_send(client);
    return status == TP_OK ? client_skip(client) : status;
}

/* Adds the commands for some of the changes, those with or without values: two or none. */
static size_t add_changes(tp_session *session, const place *changes, size_t count, int are_puts)
{
    connection *client = &session->client;
    const char *bytes = session->changed.bytes;
    size_t matching = 0;
    for (size_t i = 0; i < count; i++) {
        matching += (changes[i].value_size != NO_VALUE) == are_puts;
    }
    if (matching == 0) {
        return 0;
    }
    client_command(client, 1 + matching * (are_puts ? 2 : 1), are_puts ? "MSET" : "DEL");
    for (size_t i = 0; i < count; i++) {
        if ((changes[i].value_size != NO_VALUE) == are_puts) {
            client_prefixed(client, RECORD, bytes + changes[i].key, changes[i].key_size);
            if (are_puts) {
                client_word(client, bytes + changes[i].value, changes[i].value_size);
            }
        }
    }
    client_command(client, 2 + matching * (are_puts ? 2 : 1), are_puts ? "ZADD" : "ZREM");
    client_word(client, INDEX, sizeof INDEX - 1);
    for (size_t i = 0; i < count; i++) {
        if ((changes[i].value_size != NO_VALUE) == are_puts) {
            if (are_puts) {
                client_word(client, "0", 1);
            }
            client_word(client, bytes + changes[i].key, changes[i].key_size);
        }
    }
    return 2;
}

/* Adds MULTI, the changes and EXEC, and returns how many replies come before that of EXEC. */
static size_t add_transaction(tp_session *session)
{
    size_t replies = 1;
    client_command(&session->client, 1, "MULTI");
    for (size_t i = 0; i < session->change_count; i += CHANGES_AT_ONCE) {
        size_t left = session->change_count - i;
        size_t count = left < CHANGES_AT_ONCE ? left : CHANGES_AT_ONCE;
        replies += add_changes(session, session->changes + i, count, 1);
        replies += add_changes(session, session->changes + i, count, 0);
    }
    client_command(&session->client, 1, "EXEC");
    return replies;
}

static tp_status session_commit(tp_session *session)
{
    connection *client = &session->client;
    if (session->change_count == 0 && !session->has_watched) {
        return TP_OK;
    }
    client_begin(client);
    size_t replies = add_transaction(session);
    tp_status status = client_send(client);
    for (size_t i = 0; i < replies && !client->is_broken; i++) {
        status = keep_first(status, client_skip(client));
    }
    if (client->is_broken) {
        return status;
    }
    reply head = {0};
    status = keep_first(status, client_read(client, &head));
    if (status == TP_OK && head.value < 0) {
        return tp_fail(client->error, TP_CONFLICT, 0, "what the transaction read has changed");
    }
    for (int64_t i = 0; i < head.value && !client->is_broken; i++) {
        status = keep_first(status, client_skip(client));
    }
    return status;
}

/* ---- Records. ---- */

static int compare(const void *left, size_t left_size, const void *right, size_t right_size)
{
    size_t common = left_size < right_size ? left_size : right_size;
    int order = common > 0 ? memcmp(left, right, common) : 0;
    return order != 0 ? order : (left_size > right_size) - (left_size < right_size);
}

/* The first change whose key is at or above the given one, or above it. */
static size_t find_change(const tp_session *session, const void *key, size_t key_size, int above)
{
    size_t low = 0;
    size_t high = session->change_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const place *one = &session->changes[middle];
        int order = compare(session->changed.bytes + one->key, one->key_size, key, key_size);
        if (order < 0 || (above && order == 0)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static int is_change(const tp_session *session, size_t at, const void *key, size_t key_size)
{
    if (at == session->change_count) {
        return 0;
    }
    const place *one = &session->changes[at];
    return compare(session->changed.bytes + one->key, one->key_size, key, key_size) == 0;
}

/* Makes room for a change at that position. */
static void insert_change(tp_session *session, size_t at, const void *key, size_t key_size)
{
    if (session->change_count == session->change_capacity) {
        size_t capacity = session->change_capacity == 0 ? 64 : session->change_capacity * 2;
        place *changes = realloc(session->changes, capacity * sizeof *changes);
        if (changes == NULL) {
            fprintf(stderr, "redis: no memory for %zu changes\n", capacity);
            abort();
        }
        session->changes = changes;
        session->change_capacity = capacity;
    }
    place *one = session->changes + at;
    memmove(one + 1, one, (session->change_count - at) * sizeof *one);
    session->change_count++;
    one->key = session->changed.size;
    one->key_size = key_size;
    buffer_append(&session->changed, key, key_size);
}

static place *change_of(tp_session *session, const void *key, size_t key_size)
{
    size_t at = find_change(session, key, key_size, 0);
    if (!is_change(session, at, key, key_size)) {
        insert_change(session, at, key, key_size);
    }
    return session->changes + at;
}

static tp_status session_put(tp_session *session, const void *key, size_t key_size,
                             const void *value, size_t value_size)
{
    place *change = change_of(session, key, key_size);
    change->value = session->changed.size;
    change->value_size = value_size;
    buffer_append(&session->changed, value, value_size);
    return TP_OK;
}

static tp_status session_remove(tp_session *session, const void *key, size_t key_size)
{
    change_of(session, key, key_size)->value_size = NO_VALUE;
    return TP_OK;
}

/* Gets a record from the server; it is watched first, so that no change after that is missed. */
static tp_status look_up(tp_session *session, int is_watching, const void *key, size_t key_size,
                         tp_slice *value)
{
    connection *client = &session->client;
    client_begin(client);
    if (is_watching) {
        session->has_watched = 1;
        client_command(client, 2, "WATCH");
        client_prefixed(client, RECORD, key, key_size);
    }
    client_command(client, 2, "GET");
    client_prefixed(client, RECORD, key, key_size);
    reply head = {0};
    size_t at = 0;
    tp_status status = client_send(client);
    if (is_watching && status == TP_OK) {
        status = client_skip(client);
    }
    status = client->is_broken ? status : keep_first(status, client_read(client, &head));
    if (status == TP_OK && head.value < 0) {
        return TP_NOT_FOUND;
    }
    status = status == TP_OK ? client_read_bytes(client, (size_t)head.value, &at) : status;
    if (status == TP_OK) {
        value->data = client->in.bytes + at;
        value->size = (size_t)head.value;
    }
    return status;
}

static tp_status session_get(tp_session *session, const void *key, size_t key_size, tp_slice *value)
{
    size_t at = find_change(session, key, key_size, 0);
    if (!is_change(session, at, key, key_size)) {
        return look_up(session, session->is_watching, key, key_size, value);
    }
    const place *change = &session->changes[at];
    if (change->value_size == NO_VALUE) {
        return TP_NOT_FOUND;
    }
    value->data = session->changed.bytes + change->value;
    value->size = change->value_size;
    return TP_OK;
}

static tp_status session_point_get(tp_session *session, const void *key, size_t key_size,
                                   tp_slice *value)
{
    return look_up(session, 0, key, key_size, value);
}

/* ---- Scans. They merge the records of the server with the transaction's writes. ---- */

/* Says where the next page begins: '-', '+', or '[' or '(' and a key. */
static void set_from(tp_session *session, char kind, const void *key, size_t key_size)
{
    session->from.size = 0;
    buffer_append(&session->from, &kind, 1);
    buffer_append(&session->from, key, key_size);
}

static void add_to(connection *client, uint32_t kind, char unbounded, const tp_slice *key)
{
    char prefix = kind == TP_UNBOUNDED ? unbounded : kind == TP_INCLUDED ? '[' : '(';
    client_prefixed(client, prefix, key->data, kind == TP_UNBOUNDED ? 0 : key->size);
}

/* Asks for the keys of the next page. */
static void add_zrange(tp_session *session, uint32_t count)
{
    const tp_range *range = &session->range;
    connection *client = &session->client;
    char limit[16];
    int size = snprintf(limit, sizeof limit, "%u", count);
    client_command(client, range->backward ? 9 : 8, "ZRANGE");
    client_word(client, INDEX, sizeof INDEX - 1);
    client_word(client, session->from.bytes, session->from.size);
    if (range->backward) {
        add_to(client, range->lower_kind, '-', &range->lower);
        client_word(client, "REV", 3);
    } else {
        add_to(client, range->upper_kind, '+', &range->upper);
    }
    client_word(client, "BYLEX", 5);
    client_word(client, "LIMIT", 5);
    client_word(client, "0", 1);
    client_word(client, limit, (size_t)size);
}

/* Reads the keys or the values of the page. */
static tp_status read_page(tp_session *session, int are_keys)
{
    connection *client = &session->client;
    reply head = {0};
    tp_status status = client_read(client, &head);
    for (int64_t i = 0; i < head.value && status == TP_OK; i++) {
        place *record = &session->page[i];
        reply part = {0};
        size_t at = 0;
        status = client_read(client, &part);
        if (status == TP_OK && part.value >= 0) {
            status = client_read_bytes(client, (size_t)part.value, &at);
        }
        if (are_keys) {
            record->key = at;
            record->key_size = (size_t)part.value;
        } else {
            record->value = at;
            record->value_size = part.value < 0 ? NO_VALUE : (size_t)part.value;
        }
    }
    session->page_size = are_keys ? (size_t)head.value : session->page_size;
    return status;
}

static tp_status fetch_keys(tp_session *session, uint32_t count)
{
    connection *client = &session->client;
    int watches = session->is_watching && !session->has_watched_keys;
    if (watches) {
        client_command(client, 2, "WATCH");
        client_word(client, INDEX, sizeof INDEX - 1);
        session->has_watched = 1;
        session->has_watched_keys = 1;
    }
    add_zrange(session, count);
    tp_status status = client_send(client);
    status = status == TP_OK && watches ? client_skip(client) : status;
    return status == TP_OK ? read_page(session, 1) : status;
}

static void add_page(tp_session *session, const char *command)
{
    connection *client = &session->client;
    client_command(client, 1 + session->page_size, command);
    for (size_t i = 0; i < session->page_size; i++) {
        const place *record = &session->page[i];
        client_prefixed(client, RECORD, client->in.bytes + record->key, record->key_size);
    }
}

static tp_status fetch_values(tp_session *session)
{
    connection *client = &session->client;
    if (session->is_watching) {
        add_page(session, "WATCH");
    }
    add_page(session, "MGET");
    tp_status status = client_send(client);
    status = status == TP_OK && session->is_watching ? client_skip(client) : status;
    return status == TP_OK ? read_page(session, 0) : status;
}

/* Fetches up to `count` records; others that the same call fetched stay in place. */
static tp_status fetch(tp_session *session, uint32_t count)
{
    session->page_at = 0;
    session->page_size = 0;
    tp_status status = fetch_keys(session, count);
    if (status != TP_OK) {
        return status;
    }
    session->is_at_end = session->page_size < count;
    if (session->page_size == 0) {
        return TP_OK;
    }
    const place *last = &session->page[session->page_size - 1];
    set_from(session, '(', session->client.in.bytes + last->key, last->key_size);
    return fetch_values(session);
}

/* What comes next in the scan: a record of the page, a change, or both; the change wins. */
typedef struct {
    const buffer *in;
    place at;
} candidate;

static void take_next(tp_session *session, candidate *taken)
{
    const place *record = NULL;
    const place *change = NULL;
    const char *replies = session->client.in.bytes;
    if (session->page_at < session->page_size) {
        record = &session->page[session->page_at];
    }
    if (session->changes_left > 0) {
        change = &session->changes[session->next_change];
    }
    int order = record == NULL ? 1 : change == NULL ? -1 : 0;
    if (record != NULL && change != NULL) {
        order = compare(replies + record->key, record->key_size,
                        session->changed.bytes + change->key, change->key_size);
        order = session->range.backward ? -order : order;
    }
    taken->in = order < 0 ? &session->client.in : &session->changed;
    taken->at = order < 0 ? *record : *change;
    session->page_at += order <= 0;
    if (order >= 0) {
        session->changes_left--;
        session->next_change += session->range.backward ? (size_t)-1 : 1;
    }
}

/* What the server sent and the call does not return is asked for again: few transactions scan what
 * they have written, and so the replies of a call need not outlive it. */
static void drop_page(tp_session *session)
{
    if (session->page_at < session->page_size) {
        const place *record = &session->page[session->page_at];
        set_from(session, '[', session->client.in.bytes + record->key, record->key_size);
        session->is_at_end = 0;
    }
    session->page_at = 0;
    session->page_size = 0;
}

static tp_slice slice_of(const buffer *in, size_t at, size_t size)
{
    return (tp_slice){in->bytes + at, size};
}

static tp_status session_scan_next(tp_session *session, tp_record *records, uint32_t capacity,
                                   uint32_t *count)
{
    candidate found[SCAN_BATCH]; /* replies can move until the last one has come */
    uint32_t filled = 0;
    client_begin(&session->client);
    while (filled < capacity) {
        if (session->page_at == session->page_size && !session->is_at_end) {
            tp_status status = fetch(session, capacity - filled);
            if (status != TP_OK) {
                return status;
            }
            continue;
        }
        if (session->page_at == session->page_size && session->changes_left == 0) {
            break;
        }
        take_next(session, &found[filled]);
        filled += found[filled].at.value_size != NO_VALUE;
    }
    drop_page(session);
    for (uint32_t i = 0; i < filled; i++) {
        const place *at = &found[i].at;
        records[i].key = slice_of(found[i].in, at->key, at->key_size);
        records[i].value = slice_of(found[i].in, at->value, at->value_size);
    }
    *count = filled;
    return TP_OK;
}

/* Finds the changes that are in the range. */
static void begin_changes(tp_session *session)
{
    const tp_range *range = &session->range;
    size_t first = 0;
    size_t end = session->change_count;
    if (range->lower_kind != TP_UNBOUNDED) {
        first = find_change(session, range->lower.data, range->lower.size,
                            range->lower_kind == TP_EXCLUDED);
    }
    if (range->upper_kind != TP_UNBOUNDED) {
        end = find_change(session, range->upper.data, range->upper.size,
                          range->upper_kind == TP_INCLUDED);
    }
    session->changes_left = end > first ? end - first : 0;
    session->next_change = range->backward ? end - 1 : first;
}

static tp_status session_scan_begin(tp_session *session, const tp_range *range, tp_record *records,
                                    uint32_t capacity, uint32_t *count)
{
    uint32_t kind = range->backward ? range->upper_kind : range->lower_kind;
    const tp_slice *from = range->backward ? &range->upper : &range->lower;
    if (kind == TP_UNBOUNDED) {
        set_from(session, range->backward ? '+' : '-', NULL, 0);
    } else {
        set_from(session, kind == TP_INCLUDED ? '[' : '(', from->data, from->size);
    }
    session->range = *range;
    session->is_at_end = 0;
    session->page_at = 0;
    session->page_size = 0;
    begin_changes(session);
    return session_scan_next(session, records, capacity, count);
}

static void session_scan_end(tp_session *session)
{
    session->changes_left = 0;
}

static void session_close(tp_session *session)
{
    client_close(&session->client); /* the server forgets what it watched */
    free(session->changes);
    free(session->changed.bytes);
    free(session->from.bytes);
    free(session);
}

const tp_session_api SESSION = {
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
    .point_get = session_point_get,
};
