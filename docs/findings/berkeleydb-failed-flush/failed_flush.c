/* Commits records to Berkeley DB, each synchronously, or looks which of them are there.
 *
 * Build: cc -O2 -o failed_flush failed_flush.c -ldb-5.3
 * Usage: failed_flush FOLDER commit|exit-at-error|look|look-fatal. The folder must exist.
 *
 * `commit` goes on after an error, and ends without closing the database, as a killed process does.
 * `exit-at-error` ends at the first message to the error callback, before the call that had the
 * error returns. `look` opens the database with DB_RECOVER, `look-fatal` with DB_RECOVER_FATAL.
 */
#include <db.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COMMITS = 30, VALUE_BYTES = 20000, LOG_BYTES = 128 << 10, LOG_BUFFER_BYTES = 32 << 10 };

static int committed;
static int exits_at_error;

static void show(const DB_ENV *env, const char *prefix, const char *message) {
    (void)env, (void)prefix;
    printf("    %s\n", message);
    if (exits_at_error) {
        printf("exits; %d commits had returned 0\n", committed);
        exit(1);
    }
}

static void check(int code, const char *what) {
    if (code) {
        printf("%s: %s\n", what, db_strerror(code));
        exit(1);
    }
}

static int put(DB_ENV *env, DB *db, int number) {
    static char value[VALUE_BYTES];
    DB_TXN *transaction;
    DBT key = {.data = &number, .size = sizeof number}, data = {.data = value, .size = VALUE_BYTES};
    memset(value, 'a' + number % 26, sizeof value);
    int code = env->txn_begin(env, NULL, &transaction, 0);
    if (code)
        return code;
    if ((code = db->put(db, transaction, &key, &data, 0))) {
        transaction->abort(transaction);
        return code;
    }
    return transaction->commit(transaction, 0); /* DB_TXN_SYNC is the default */
}

static void look(DB *db) {
    printf("opens; missing:");
    for (int number = 1; number <= COMMITS; number++) {
        DBT key = {.data = &number, .size = sizeof number}, data = {0};
        int code = db->get(db, NULL, &key, &data, 0);
        if (code == DB_NOTFOUND)
            printf(" %d", number);
        else
            check(code, "get");
    }
    printf("\n");
}

int main(int count, char **arguments) {
    DB_ENV *env;
    DB *db;
    const char *mode = count == 3 ? arguments[2] : "";
    int is_look = !strncmp(mode, "look", 4);
    if (!is_look && strcmp(mode, "commit") && strcmp(mode, "exit-at-error")) {
        fprintf(stderr, "usage: failed_flush FOLDER commit|exit-at-error|look|look-fatal\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    exits_at_error = !strcmp(mode, "exit-at-error");
    check(db_env_create(&env, 0), "environment");
    env->set_errcall(env, show);
    check(env->set_lg_bsize(env, LOG_BUFFER_BYTES), "log buffer");
    check(env->set_lg_max(env, LOG_BYTES), "log size");
    check(env->open(env, arguments[1], DB_CREATE | DB_INIT_TXN | DB_INIT_LOCK | DB_INIT_LOG |
                    DB_INIT_MPOOL | (strcmp(mode, "look-fatal") ? DB_RECOVER : DB_RECOVER_FATAL),
                    0), "does not open");
    check(db_create(&db, env, 0), "database");
    check(db->open(db, NULL, "records.db", NULL, DB_BTREE, DB_CREATE | DB_AUTO_COMMIT, 0),
          "does not open");
    for (int number = 1; number <= COMMITS && !is_look; number++) {
        int code = put(env, db, number);
        committed += !code;
        if (code)
            printf("commit %d returned: %s\n", number, db_strerror(code));
    }
    if (is_look)
        look(db);
    else
        printf("%d of %d commits returned 0\n", committed, COMMITS);
    exit(0);
}
