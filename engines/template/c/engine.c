/* @NAME@: a storage engine as a plug-in of trueput (trueput_engine.h describes each function).
 *
 * Records are in a treap in memory. A write transaction copies the nodes that it changes, so that
 * readers keep the tree of their beginning. A commit appends its changes to a log, and an open
 * reads the log. Replace the store by yours, and keep what is around it. */
#define _GNU_SOURCE
#include "trueput_engine.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

TP_DESCRIPTION_FILE("description.json");

/* ---- The store: a treap of nodes that trees share. ---- */

typedef struct node {
    atomic_uint references;
    uint32_t priority; /* of the heap: higher ones are nearer to the root */
    uint32_t key_size;
    uint32_t value_size;
    struct node *left;
    struct node *right;
    unsigned char bytes[]; /* the key, then the value */
} node;

static void *allocate(size_t size)
{
    void *memory = malloc(size);
    if (memory == NULL) {
        fprintf(stderr, "@NAME@: no memory for %zu bytes\n", size);
        abort();
    }
    return memory;
}

static node *retain(node *one)
{
    if (one != NULL) {
        atomic_fetch_add_explicit(&one->references, 1, memory_order_relaxed);
    }
    return one;
}

static void release(node *one)
{
    while (one != NULL &&
           atomic_fetch_sub_explicit(&one->references, 1, memory_order_acq_rel) == 1) {
        node *right = one->right;
        release(one->left);
        free(one);
        one = right;
    }
}

/* A hash of the key (FNV-1a), so that the tree's form depends on its keys alone. */
static uint32_t priority_of(const unsigned char *key, size_t size)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ key[i]) * 16777619u;
    }
    return hash * 2654435761u;
}

static node *new_node(const void *key, size_t key_size, const void *value, size_t value_size)
{
    node *one = allocate(sizeof *one + key_size + value_size);
    atomic_init(&one->references, 1);
    one->priority = priority_of(key, key_size);
    one->key_size = (uint32_t)key_size;
    one->value_size = (uint32_t)value_size;
    one->left = NULL;
    one->right = NULL;
    if (key_size > 0) {
        memcpy(one->bytes, key, key_size);
    }
    if (value_size > 0) {
        memcpy(one->bytes + key_size, value, value_size);
    }
    return one;
}

/* Returns a node that no other tree has, for one reference to a node that others may have. */
static node *own(node *one)
{
    if (atomic_load_explicit(&one->references, memory_order_acquire) == 1) {
        return one;
    }
    node *copy = new_node(one->bytes, one->key_size, one->bytes + one->key_size, one->value_size);
    copy->left = retain(one->left);
    copy->right = retain(one->right);
    release(one);
    return copy;
}

static int compare(const void *key, size_t key_size, const node *one)
{
    size_t common = key_size < one->key_size ? key_size : one->key_size;
    int order = common > 0 ? memcmp(key, one->bytes, common) : 0;
    if (order != 0) {
        return order;
    }
    return key_size < one->key_size ? -1 : key_size > one->key_size;
}

/* Puts a new node into a tree; both references are given away. */
static node *insert(node *root, node *added)
{
    if (root == NULL) {
        return added;
    }
    int order = compare(added->bytes, added->key_size, root);
    if (order == 0) {
        added->left = retain(root->left);
        added->right = retain(root->right);
        release(root);
        return added;
    }
    root = own(root);
    if (order < 0) {
        node *left = insert(root->left, added);
        root->left = left;
        if (left->priority > root->priority) {
            root->left = left->right;
            left->right = root;
            return left;
        }
    } else {
        node *right = insert(root->right, added);
        root->right = right;
        if (right->priority > root->priority) {
            root->right = right->left;
            right->left = root;
            return right;
        }
    }
    return root;
}

/* Joins two trees, of which the first has the lower keys. */
static node *join(node *low, node *high)
{
    if (low == NULL) {
        return high;
    }
    if (high == NULL) {
        return low;
    }
    if (low->priority > high->priority) {
        low = own(low);
        low->right = join(low->right, high);
        return low;
    }
    high = own(high);
    high->left = join(low, high->left);
    return high;
}

static const node *find(const node *root, const void *key, size_t key_size)
{
    while (root != NULL) {
        int order = compare(key, key_size, root);
        if (order == 0) {
            return root;
        }
        root = order < 0 ? root->left : root->right;
    }
    return NULL;
}

/* Removes a key that is there. */
static node *delete_key(node *root, const void *key, size_t key_size)
{
    int order = compare(key, key_size, root);
    if (order == 0) {
        node *joined = join(retain(root->left), retain(root->right));
        release(root);
        return joined;
    }
    root = own(root);
    if (order < 0) {
        root->left = delete_key(root->left, key, key_size);
    } else {
        root->right = delete_key(root->right, key, key_size);
    }
    return root;
}

/* The first node with a key at or above (`or_equal`) or above the given one; NULL: none. */
static const node *above(const node *root, const void *key, size_t key_size, int or_equal)
{
    const node *best = NULL;
    while (root != NULL) {
        int order = compare(key, key_size, root);
        if (order < 0 || (order == 0 && or_equal)) {
            best = root;
            root = root->left;
        } else {
            root = root->right;
        }
    }
    return best;
}

static const node *below(const node *root, const void *key, size_t key_size, int or_equal)
{
    const node *best = NULL;
    while (root != NULL) {
        int order = compare(key, key_size, root);
        if (order > 0 || (order == 0 && or_equal)) {
            best = root;
            root = root->right;
        } else {
            root = root->left;
        }
    }
    return best;
}

/* ---- The log: for each commit its size and its checksum, 4 bytes each, and its changes. A change
 * is 'P' or 'D', the sizes of key and value, 4 bytes each, the key, the value. ---- */

typedef struct {
    unsigned char *bytes;
    size_t size;
    size_t capacity;
} buffer;

static void append(buffer *to, const void *bytes, size_t size)
{
    if (to->capacity - to->size < size) {
        size_t capacity = to->capacity == 0 ? 4096 : to->capacity;
        while (capacity - to->size < size) {
            capacity *= 2;
        }
        unsigned char *grown = allocate(capacity);
        if (to->size > 0) {
            memcpy(grown, to->bytes, to->size);
        }
        free(to->bytes);
        to->bytes = grown;
        to->capacity = capacity;
    }
    if (size > 0) {
        memcpy(to->bytes + to->size, bytes, size);
        to->size += size;
    }
}

/* CRC-32 (IEEE 802.3), without a table: the log is short. */
static uint32_t checksum(const unsigned char *bytes, size_t size)
{
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = (crc >> 1) ^ (0xedb88320u & (0u - (crc & 1u)));
        }
    }
    return ~crc;
}

#define HEADER_SIZE 8
#define CHANGE_SIZE 9

static void append_change(buffer *log, char kind, const void *key, size_t key_size,
                          const void *value, size_t value_size)
{
    uint32_t sizes[2] = {(uint32_t)key_size, (uint32_t)value_size};
    append(log, &kind, 1);
    append(log, sizes, sizeof sizes);
    append(log, key, key_size);
    append(log, value, value_size);
}

struct tp_database {
    int log;
    int is_sync;       /* flush at each commit */
    int is_broken;     /* a flush failed: what the log has is unknown */
    uint64_t end;      /* of the log, bytes */
    uint64_t reserved; /* the file's size, bytes */
    uint64_t step;
    uint64_t commits;
    pthread_mutex_t writer; /* held by the one write transaction */
    pthread_mutex_t root_lock;
    node *root; /* of the last commit */
};

struct tp_session {
    tp_database *database;
    tp_error *error;
    uint32_t mode;
    int is_open; /* a transaction is */
    int has_changes;
    node *root;     /* of the open transaction */
    buffer changes; /* of the open write transaction, after room for the header */
    const node *at; /* where a scan goes on; NULL: nowhere */
    tp_range range;
};

static tp_status fail(tp_error *error, const char *what)
{
    char text[256];
    int code = errno;
    snprintf(text, sizeof text, "%s: %s", what, strerror(code));
    int is_full = code == ENOSPC || code == EDQUOT || code == EFBIG;
    return tp_fail(error, is_full ? TP_FULL : TP_ENGINE, code, text);
}

static int write_all(int file, const unsigned char *bytes, size_t size, uint64_t at)
{
    while (size > 0) {
        ssize_t written = pwrite(file, bytes, size, (off_t)at);
        if (written < 0 && errno != EINTR) {
            return -1;
        }
        if (written > 0) {
            bytes += written;
            size -= (size_t)written;
            at += (uint64_t)written;
        }
    }
    return 0;
}

/* Applies a commit of the log; 0 if it is damaged, and then nothing. */
static int replay(node **root, const unsigned char *bytes, size_t size)
{
    node *changed = retain(*root);
    while (size > 0) {
        uint32_t sizes[2];
        if (size < CHANGE_SIZE) {
            break;
        }
        memcpy(sizes, bytes + 1, sizeof sizes);
        uint64_t whole = (uint64_t)CHANGE_SIZE + sizes[0] + sizes[1];
        if (size < whole || (bytes[0] != 'P' && bytes[0] != 'D')) {
            break;
        }
        const unsigned char *key = bytes + CHANGE_SIZE;
        if (bytes[0] == 'P') {
            changed = insert(changed, new_node(key, sizes[0], key + sizes[0], sizes[1]));
        } else if (find(changed, key, sizes[0]) != NULL) {
            changed = delete_key(changed, key, sizes[0]);
        }
        bytes += whole;
        size -= whole;
    }
    if (size > 0) {
        release(changed);
        return 0;
    }
    release(*root);
    *root = changed;
    return 1;
}

/* Reads the log up to the first commit that is not whole, and cuts off the rest. */
static tp_status recover(tp_database *database, tp_error *error)
{
    struct stat status;
    if (fstat(database->log, &status) != 0) {
        return fail(error, "cannot read the log");
    }
    uint64_t size = (uint64_t)status.st_size;
    unsigned char *bytes = allocate(size + 1);
    for (uint64_t at = 0; at < size;) {
        ssize_t read = pread(database->log, bytes + at, size - at, (off_t)at);
        if (read <= 0) {
            free(bytes);
            return fail(error, "cannot read the log");
        }
        at += (uint64_t)read;
    }
    uint64_t end = 0;
    while (size - end >= HEADER_SIZE) {
        uint32_t header[2];
        memcpy(header, bytes + end, sizeof header);
        const unsigned char *changes = bytes + end + HEADER_SIZE;
        if (header[0] == 0 || header[0] > size - end - HEADER_SIZE ||
            checksum(changes, header[0]) != header[1] ||
            !replay(&database->root, changes, header[0])) {
            break;
        }
        end += HEADER_SIZE + header[0];
    }
    free(bytes);
    if (end < size && ftruncate(database->log, (off_t)end) != 0) {
        return fail(error, "cannot cut off the log");
    }
    database->end = end;
    database->reserved = end;
    return TP_OK;
}

static tp_status database_close(tp_database *database, tp_error *error)
{
    tp_status status = TP_OK;
    if (database->log >= 0 && close(database->log) != 0) {
        status = fail(error, "cannot close the log");
    }
    release(database->root);
    pthread_mutex_destroy(&database->writer);
    pthread_mutex_destroy(&database->root_lock);
    free(database);
    return status;
}

/* Makes the entry of the log in its folder durable. */
static int sync_folder(const char *folder)
{
    int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0) {
        return -1;
    }
    int result = fsync(file);
    close(file);
    return result;
}

static tp_status open_log(tp_database *database, const tp_open *open_as, tp_error *error)
{
    char *path = allocate(open_as->directory.size + sizeof "/log");
    memcpy(path, open_as->directory.data, open_as->directory.size);
    path[open_as->directory.size] = '\0';
    int folder_is_synced = 0;
    char *folder_end = path + open_as->directory.size;
    strcpy(folder_end, "/log");
    database->log = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    *folder_end = '\0';
    if (database->log >= 0) {
        folder_is_synced = sync_folder(path) == 0;
    }
    free(path);
    if (!folder_is_synced) {
        return fail(error, "cannot open the log");
    }
    if (flock(database->log, LOCK_EX | LOCK_NB) != 0) {
        return tp_fail(error, TP_UNSUPPORTED, errno, "the database is open already");
    }
    return recover(database, error);
}

static tp_status database_open(const tp_open *open_as, tp_database **opened, tp_error *error)
{
    if (open_as->durability != TP_SYNC && open_as->durability != TP_PROCESS) {
        return tp_fail(error, TP_UNSUPPORTED, 0, "no such level of durability");
    }
    const tp_value *step = tp_knob(open_as, "log_step");
    tp_database *database = allocate(sizeof *database);
    memset(database, 0, sizeof *database);
    database->log = -1;
    database->is_sync = open_as->durability == TP_SYNC;
    database->step = step == NULL ? 0 : (uint64_t)step->integer;
    pthread_mutex_init(&database->writer, NULL);
    pthread_mutex_init(&database->root_lock, NULL);
    tp_status status = open_log(database, open_as, error);
    if (status != TP_OK) {
        tp_error ignored;
        database_close(database, &ignored);
        return status;
    }
    *opened = database;
    return TP_OK;
}

static tp_status database_checkpoint(tp_database *database, tp_error *error)
{
    return fdatasync(database->log) == 0 ? TP_OK : fail(error, "cannot flush the log");
}

static tp_status database_settings(tp_database *database, const tp_values *values, tp_error *error)
{
    (void)error;
    tp_report_text(values, "fdatasync", database->is_sync ? "each commit" : "none");
    tp_report_integer(values, "log_step", (int64_t)database->step);
    return TP_OK;
}

static tp_status database_counters(tp_database *database, const tp_values *values, tp_error *error)
{
    (void)error;
    pthread_mutex_lock(&database->writer);
    int64_t commits = (int64_t)database->commits;
    int64_t log_bytes = (int64_t)database->end;
    pthread_mutex_unlock(&database->writer);
    tp_report_integer(values, "commits", commits);
    tp_report_integer(values, "log_bytes", log_bytes);
    return TP_OK;
}

/* ---- Sessions. ---- */

static tp_status new_session(tp_database *database, tp_error *error, tp_session **made)
{
    tp_session *session = allocate(sizeof *session);
    memset(session, 0, sizeof *session);
    session->database = database;
    session->error = error;
    *made = session;
    return TP_OK;
}

static tp_status session_begin(tp_session *session, uint32_t mode)
{
    tp_database *database = session->database;
    if (mode == TP_WRITE) {
        pthread_mutex_lock(&database->writer);
        static const unsigned char header[HEADER_SIZE];
        session->changes.size = 0;
        append(&session->changes, header, sizeof header);
    }
    pthread_mutex_lock(&database->root_lock);
    session->root = retain(database->root);
    pthread_mutex_unlock(&database->root_lock);
    session->mode = mode;
    session->is_open = 1;
    session->has_changes = 0;
    return TP_OK;
}

static tp_status session_abort(tp_session *session)
{
    release(session->root);
    session->root = NULL;
    session->is_open = 0;
    if (session->mode == TP_WRITE) {
        pthread_mutex_unlock(&session->database->writer);
    }
    return TP_OK;
}

/* Appends the transaction's changes to the log, and flushes it at `sync`. */
static tp_status write_log(tp_session *session)
{
    tp_database *database = session->database;
    buffer *changes = &session->changes;
    if (database->is_broken) {
        return tp_fail(session->error, TP_ENGINE, 0, "a flush failed: open the database again");
    }
    if (changes->size - HEADER_SIZE > UINT32_MAX) {
        return tp_fail(session->error, TP_UNSUPPORTED, 0, "a transaction of 4 GiB or more");
    }
    uint32_t size = (uint32_t)(changes->size - HEADER_SIZE);
    uint32_t header[2] = {size, checksum(changes->bytes + HEADER_SIZE, size)};
    memcpy(changes->bytes, header, sizeof header);
    uint64_t end = database->end + changes->size;
    if (database->step > 0 && end > database->reserved) {
        uint64_t more = (end - database->reserved + database->step - 1) / database->step;
        off_t length = (off_t)(more * database->step);
        errno = posix_fallocate(database->log, (off_t)database->reserved, length);
        if (errno != 0) {
            return fail(session->error, "cannot reserve the log");
        }
        database->reserved += (uint64_t)length;
    }
    if (write_all(database->log, changes->bytes, changes->size, database->end) != 0) {
        tp_status status = fail(session->error, "cannot write the log");
        /* Part of it may be there; it is the end of the log, and is written over or cut off. */
        database->is_broken = ftruncate(database->log, (off_t)database->end) != 0;
        database->reserved = database->end;
        return status;
    }
    if (database->is_sync && fdatasync(database->log) != 0) {
        database->is_broken = 1;
        return fail(session->error, "cannot flush the log");
    }
    database->end = end;
    database->commits++;
    return TP_OK;
}

static tp_status session_commit(tp_session *session)
{
    tp_database *database = session->database;
    if (session->mode == TP_READ || !session->has_changes) {
        return session_abort(session);
    }
    tp_status status = write_log(session);
    if (status == TP_OK) {
        pthread_mutex_lock(&database->root_lock);
        node *before = database->root;
        database->root = session->root;
        session->root = before;
        pthread_mutex_unlock(&database->root_lock);
    }
    session_abort(session);
    return status;
}

static tp_status session_get(tp_session *session, const void *key, size_t key_size, tp_slice *value)
{
    const node *found = find(session->root, key, key_size);
    if (found == NULL) {
        return TP_NOT_FOUND;
    }
    value->data = found->bytes + found->key_size;
    value->size = found->value_size;
    return TP_OK;
}

static tp_status session_put(tp_session *session, const void *key, size_t key_size,
                             const void *value, size_t value_size)
{
    append_change(&session->changes, 'P', key, key_size, value, value_size);
    session->root = insert(session->root, new_node(key, key_size, value, value_size));
    session->has_changes = 1;
    return TP_OK;
}

static tp_status session_remove(tp_session *session, const void *key, size_t key_size)
{
    if (find(session->root, key, key_size) != NULL) {
        append_change(&session->changes, 'D', key, key_size, NULL, 0);
        session->root = delete_key(session->root, key, key_size);
        session->has_changes = 1;
    }
    return TP_OK;
}

/* Whether a node is before the scan's other end. */
static int is_in_range(const tp_range *range, const node *one)
{
    uint32_t kind = range->backward ? range->lower_kind : range->upper_kind;
    const tp_slice *end = range->backward ? &range->lower : &range->upper;
    if (kind == TP_UNBOUNDED) {
        return 1;
    }
    int order = compare(end->data, end->size, one);
    if (order == 0) {
        return kind == TP_INCLUDED;
    }
    return range->backward ? order < 0 : order > 0;
}

static const node *following(const tp_session *session, const node *one)
{
    const tp_range *range = &session->range;
    one = range->backward ? below(session->root, one->bytes, one->key_size, 0)
                          : above(session->root, one->bytes, one->key_size, 0);
    return one != NULL && is_in_range(range, one) ? one : NULL;
}

static tp_status session_scan_next(tp_session *session, tp_record *records, uint32_t capacity,
                                   uint32_t *count)
{
    uint32_t filled = 0;
    while (filled < capacity && session->at != NULL) {
        const node *one = session->at;
        records[filled].key.data = one->bytes;
        records[filled].key.size = one->key_size;
        records[filled].value.data = one->bytes + one->key_size;
        records[filled].value.size = one->value_size;
        filled++;
        session->at = following(session, one);
    }
    *count = filled;
    return TP_OK;
}

static const node *outermost(const node *root, int is_last)
{
    while (root != NULL && (is_last ? root->right : root->left) != NULL) {
        root = is_last ? root->right : root->left;
    }
    return root;
}

static tp_status session_scan_begin(tp_session *session, const tp_range *range, tp_record *records,
                                    uint32_t capacity, uint32_t *count)
{
    uint32_t kind = range->backward ? range->upper_kind : range->lower_kind;
    const tp_slice *from = range->backward ? &range->upper : &range->lower;
    const node *first;
    if (kind == TP_UNBOUNDED) {
        first = outermost(session->root, (int)range->backward);
    } else if (range->backward) {
        first = below(session->root, from->data, from->size, kind == TP_INCLUDED);
    } else {
        first = above(session->root, from->data, from->size, kind == TP_INCLUDED);
    }
    session->range = *range;
    session->at = first != NULL && is_in_range(range, first) ? first : NULL;
    return session_scan_next(session, records, capacity, count);
}

static void session_scan_end(tp_session *session)
{
    session->at = NULL;
}

static void session_close(tp_session *session)
{
    if (session->is_open) {
        session_abort(session);
    }
    free(session->changes.bytes);
    free(session);
}

/* ---- The tables. ---- */

static const tp_database_api DATABASE = {
    .size = sizeof DATABASE,
    .open = database_open,
    .close = database_close,
    .session = new_session,
    .checkpoint = database_checkpoint,
    .settings = database_settings,
    .counters = database_counters,
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
