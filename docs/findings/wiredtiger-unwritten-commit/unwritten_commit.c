/* Commits records to WiredTiger, each synchronously, or looks which of them are there.
 *
 * Build: cc -O2 -pthread -o unwritten_commit unwritten_commit.c -lwiredtiger
 * Usage: unwritten_commit FOLDER commit|exit-at-panic|look [BYTES [METHOD [THREADS]]]. The folder
 * must exist. BYTES are those of a value, 200000 unless said otherwise; METHOD is fsync or dsync.
 *
 * `commit` lets each thread commit until an error, for 3 s at most, and ends without closing the
 * database, as a killed process does. `exit-at-panic` ends when the error handler is called with
 * WT_PANIC, as WiredTiger's documentation recommends.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wiredtiger.h>

enum { COMMITS = 12, MAX_THREADS = 16, WAIT_S = 3 };

/* By thread, the commits that returned 0, and whether it has ended. */
static struct { atomic_int commits, has_ended; } threads[MAX_THREADS];
static WT_CONNECTION *connection;
static int bytes = 200000;
static int exits_at_panic;

static int on_error(WT_EVENT_HANDLER *handler, WT_SESSION *session, int code, const char *text) {
    (void)handler, (void)session, (void)text;
    printf("    handler: %s\n", wiredtiger_strerror(code));
    if (exits_at_panic && code == WT_PANIC)
        exit(1);
    return 0;
}
static WT_EVENT_HANDLER handler = {.handle_error = on_error};

static void check(int code, const char *what) {
    if (code) {
        printf("%s: %s\n", what, wiredtiger_strerror(code));
        exit(1);
    }
}

static WT_CURSOR *open_cursor(WT_SESSION **session) {
    WT_CURSOR *cursor;
    check(connection->open_session(connection, NULL, NULL, session), "session");
    check((*session)->open_cursor(*session, "table:record", NULL, NULL, &cursor), "cursor");
    return cursor;
}

static int key_of(int thread, int number) { return thread * 1000 + number; }

static int put(WT_SESSION *session, WT_CURSOR *cursor, int key, const char *value) {
    int code = session->begin_transaction(session, NULL);
    if (code)
        return code;
    cursor->set_key(cursor, key);
    cursor->set_value(cursor, value);
    if ((code = cursor->insert(cursor))) {
        session->rollback_transaction(session, NULL);
        return code;
    }
    return session->commit_transaction(session, NULL);
}

static void *commit_records(void *argument) {
    int thread = (int)(long)argument;
    WT_SESSION *session;
    WT_CURSOR *cursor = open_cursor(&session);
    char *value = calloc(1, (size_t)bytes + 1);
    memset(value, 'v', (size_t)bytes);
    for (int number = 1; number <= COMMITS; number++) {
        if (put(session, cursor, key_of(thread, number), value))
            break;
        threads[thread].commits = number;
        if (exits_at_panic)
            printf("commit %d returned 0\n", number);
    }
    threads[thread].has_ended = 1;
    return NULL;
}

static int count_ended(int count) {
    int ended = 0;
    for (int thread = 0; thread < count; thread++)
        ended += threads[thread].has_ended;
    return ended;
}

static void commit_all(int count) {
    pthread_t id;
    for (long thread = 0; thread < count; thread++)
        pthread_create(&id, NULL, commit_records, (void *)thread);
    for (int waited = 0; waited < WAIT_S * 100 && count_ended(count) < count; waited++)
        usleep(10000);
    for (int thread = 0; thread < count; thread++)
        printf("commits 1 to %d of thread %d returned 0%s\n", threads[thread].commits, thread,
               threads[thread].has_ended ? "" : ", and the next one does not return");
}

static void look(int count) {
    WT_SESSION *session;
    WT_CURSOR *cursor = open_cursor(&session);
    for (int thread = 0; thread < count; thread++) {
        int found = 0;
        for (int code = 0; !code; found += !code) {
            cursor->set_key(cursor, key_of(thread, found + 1));
            code = cursor->search(cursor);
        }
        printf("opens; commits 1 to %d of thread %d are there\n", found, thread);
    }
}

int main(int count, char **arguments) {
    WT_SESSION *session;
    char configuration[256];
    int major, minor, patch;
    const char *mode = count > 2 ? arguments[2] : "";
    bytes = count > 3 ? atoi(arguments[3]) : bytes;
    int threads_wanted = count > 5 ? atoi(arguments[5]) : 1;
    if ((strcmp(mode, "look") && strcmp(mode, "commit") && strcmp(mode, "exit-at-panic")) ||
        threads_wanted > MAX_THREADS) {
        fprintf(stderr, "usage: unwritten_commit FOLDER commit|exit-at-panic|look "
                        "[BYTES [METHOD [THREADS]]]\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    exits_at_panic = !strcmp(mode, "exit-at-panic");
    snprintf(configuration, sizeof configuration,
             "create,log=(enabled),transaction_sync=(enabled,method=%s)",
             count > 4 ? arguments[4] : "fsync");
    check(wiredtiger_open(arguments[1], &handler, configuration, &connection), "open");
    check(connection->open_session(connection, NULL, NULL, &session), "session");
    check(session->create(session, "table:record", "key_format=i,value_format=S"), "create");
    if (!strcmp(mode, "look")) {
        look(threads_wanted);
    } else {
        printf("%s\n", wiredtiger_version(&major, &minor, &patch));
        commit_all(threads_wanted);
    }
    exit(0);
}
