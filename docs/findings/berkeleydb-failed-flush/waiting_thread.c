/* A transaction of Berkeley DB waits for a page that another one has locked, while the abort of that
 * one cannot read the log.
 *
 * Build: cc -O2 -pthread -o waiting_thread waiting_thread.c -ldb-5.3
 * Usage: waiting_thread FOLDER. The folder must exist and be empty.
 */
#include <db.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A transaction's records leave the log's buffer, so that an abort reads them from the file. */
enum { VALUE_BYTES = 200000, LOG_BUFFER_BYTES = 32 << 10, WAIT_S = 3 };

static DB_ENV *env;
static DB *db;
static char value[VALUE_BYTES];
static atomic_int has_returned;

static void show(const DB_ENV *of, const char *prefix, const char *message) {
    (void)of, (void)prefix;
    printf("    %s\n", message);
}

static void check(int code, const char *what) {
    if (code) {
        printf("%s: %s\n", what, db_strerror(code));
        exit(1);
    }
}

static DB_TXN *begin(void) {
    DB_TXN *transaction;
    check(env->txn_begin(env, NULL, &transaction, 0), "begin");
    return transaction;
}

static int put(DB_TXN *transaction) {
    int number = 1;
    DBT key = {.data = &number, .size = sizeof number}, data = {.data = value, .size = VALUE_BYTES};
    return db->put(db, transaction, &key, &data, 0);
}

static void *put_the_same(void *nothing) {
    printf("the second thread's put returned: %s\n", db_strerror(put(begin())));
    has_returned = 1;
    return nothing;
}

int main(int count, char **arguments) {
    pthread_t second;
    if (count != 2) {
        fprintf(stderr, "usage: waiting_thread FOLDER\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    check(db_env_create(&env, 0), "environment");
    env->set_errcall(env, show);
    check(env->set_lg_bsize(env, LOG_BUFFER_BYTES), "log buffer");
    check(env->open(env, arguments[1], DB_CREATE | DB_THREAD | DB_INIT_TXN | DB_INIT_LOCK |
                    DB_INIT_LOG | DB_INIT_MPOOL, 0), "environment");
    check(db_create(&db, env, 0), "database");
    check(db->open(db, NULL, "records.db", NULL, DB_BTREE,
                   DB_CREATE | DB_THREAD | DB_AUTO_COMMIT, 0), "database");
    DB_TXN *first = begin();
    check(put(first), "put");
    pthread_create(&second, NULL, put_the_same, NULL);
    sleep(1);
    printf("the first thread's abort returned: %s\n", db_strerror(first->abort(first)));
    for (int waited = 0; waited < WAIT_S * 100 && !has_returned; waited++)
        usleep(10000);
    if (!has_returned)
        printf("the second thread's put does not return within %d s\n", WAIT_S);
    exit(0);
}
