/* Counts commits that TidesDB acknowledged, and that are missing after the process was killed.
 *
 * The source of TidesDB 10.2.1, from crates.io; it needs cargo, cmake and a C compiler:
 *   cargo new --lib --vcs none /var/tmp/tidesdb && cd /var/tmp/tidesdb
 *   cargo add tidesdb@=1.0.0 && cargo vendor
 *   cmake -S vendor/tidesdb/tidesdb -B build -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF \
 *       -DTIDESDB_WITH_SNAPPY=OFF -DTIDESDB_WITH_LZ4=OFF -DTIDESDB_WITH_ZSTD=OFF \
 *       -DTIDESDB_BUILD_TESTS=OFF
 *   cmake --build build
 * Build: cc -O2 -I /var/tmp/tidesdb/vendor/tidesdb/tidesdb/include -o lost lost.c \
 *       /var/tmp/tidesdb/build/libtidesdb.a -lpthread -lm
 *   -DTHREADS=1, -DBUFFER=67108864, -DKEYS=100 and -DVALUE=900 replace the values below.
 * Usage: lost FOLDER full|interval MILLISECONDS ROUNDS [turns]. The folder must not exist.
 *
 * Each round starts a process of some threads. Each thread commits transactions of its own keys,
 * and notes each one that tidesdb_txn_commit acknowledged in shared memory. With `turns` the
 * threads commit one at a time. After MILLISECONDS the process is killed (SIGKILL). Another one
 * opens the database and looks up each acknowledged transaction.
 */
#include <db.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef THREADS
#define THREADS 4
#endif
#ifndef BUFFER
#define BUFFER 65536 /* bytes of the write buffer */
#endif
#ifndef KEYS
#define KEYS 2 /* of a transaction */
#endif
#ifndef VALUE
#define VALUE 100 /* bytes of a value */
#endif

static _Atomic(unsigned) *acknowledged; /* transactions of each thread */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static int takes_turns;
static tidesdb_t *db;
static tidesdb_column_family_t *family;

static void check(const char *what, int result)
{
    if (result == TDB_SUCCESS) return;
    fprintf(stderr, "%s: %s\n", what, tidesdb_strerror(result));
    exit(2);
}

static size_t key_of(char *key, unsigned thread, unsigned number, unsigned part)
{
    return (size_t)sprintf(key, "%02u/%08u/%u", thread, number, part);
}

static void open_db(char *path, int sync_mode)
{
    tidesdb_config_t config = tidesdb_default_config();
    config.db_path = path;
    config.memtable_sync_mode = sync_mode;
    config.memtable_write_buffer_size = BUFFER;
    config.log_level = TDB_LOG_ERROR;
    check("open", tidesdb_open(&config, &db));
    family = tidesdb_get_column_family(db, "records");
    if (family) return;
    const tidesdb_column_family_config_t defaults = tidesdb_default_column_family_config();
    check("create", tidesdb_create_column_family(db, "records", &defaults));
    family = tidesdb_get_column_family(db, "records");
}

static void *commit_forever(void *argument)
{
    const unsigned thread = (unsigned)(size_t)argument;
    char key[64], value[VALUE];
    memset(value, 'v', sizeof value);
    for (unsigned number = 0;; number++)
    {
        tidesdb_txn_t *txn = NULL;
        check("begin", tidesdb_txn_begin_with_isolation(db, TDB_ISOLATION_SNAPSHOT, &txn));
        for (unsigned part = 0; part < KEYS; part++)
            check("put", tidesdb_txn_put(txn, family, (uint8_t *)key,
                                         key_of(key, thread, number, part), (uint8_t *)value,
                                         sizeof value, 0));
        if (takes_turns) pthread_mutex_lock(&turn);
        check("commit", tidesdb_txn_commit(txn));
        if (takes_turns) pthread_mutex_unlock(&turn);
        atomic_store(&acknowledged[thread], number + 1);
        tidesdb_txn_free(txn);
    }
    return NULL;
}

/* Returns the number of keys of the transaction that are there. */
static unsigned look_up(tidesdb_txn_t *txn, unsigned thread, unsigned number)
{
    unsigned found = 0;
    char key[64];
    for (unsigned part = 0; part < KEYS; part++)
    {
        uint8_t *value = NULL;
        size_t size = 0;
        const size_t length = key_of(key, thread, number, part);
        const int result = tidesdb_txn_get(txn, family, (uint8_t *)key, length, &value, &size);
        if (result != TDB_ERR_NOT_FOUND) check("get", result);
        if (result == TDB_SUCCESS) found++;
        tidesdb_free(value);
    }
    return found;
}

static int report(unsigned round)
{
    unsigned total = 0, lost = 0, partial = 0;
    tidesdb_txn_t *txn = NULL;
    check("begin", tidesdb_txn_begin_with_isolation(db, TDB_ISOLATION_SNAPSHOT, &txn));
    for (unsigned thread = 0; thread < THREADS; thread++)
        for (unsigned number = 0; number < acknowledged[thread]; number++, total++)
        {
            const unsigned found = look_up(txn, thread, number);
            if (found == KEYS) continue;
            if (found == 0) lost++;
            else partial++;
            printf("  transaction %u of thread %u: %u of %d keys\n", number, thread, found, KEYS);
        }
    printf("round %u: %u acknowledged, %u lost, %u in part\n", round, total, lost, partial);
    fflush(stdout);
    return lost + partial > 0;
}

int main(int argc, char **argv)
{
    if (argc < 5 || mkdir(argv[1], 0755) != 0)
    {
        fprintf(stderr, "usage: lost FOLDER full|interval MILLISECONDS ROUNDS [turns]\n");
        return 2;
    }
    const int sync_mode = strcmp(argv[2], "full") == 0 ? TDB_SYNC_FULL : TDB_SYNC_INTERVAL;
    const unsigned rounds = (unsigned)atoi(argv[4]);
    unsigned bad = 0;
    takes_turns = argc > 5;
    acknowledged = mmap(NULL, THREADS * sizeof *acknowledged, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (unsigned round = 0; round < rounds; round++)
    {
        char path[4096];
        snprintf(path, sizeof path, "%s/%u", argv[1], round);
        for (unsigned thread = 0; thread < THREADS; thread++) acknowledged[thread] = 0;
        const pid_t writer = fork();
        if (writer == 0)
        {
            pthread_t thread;
            open_db(path, sync_mode);
            for (unsigned number = 0; number < THREADS; number++)
                pthread_create(&thread, NULL, commit_forever, (void *)(size_t)number);
            for (;;) pause();
        }
        usleep((useconds_t)atoi(argv[3]) * 1000);
        kill(writer, SIGKILL);
        waitpid(writer, NULL, 0);

        /* A process of its own, as fork does not keep the library's threads. */
        const pid_t reader = fork();
        if (reader == 0)
        {
            open_db(path, sync_mode);
            _exit(report(round));
        }
        int status = 0;
        waitpid(reader, &status, 0);
        if (!WIFEXITED(status) || WEXITSTATUS(status) > 1) return 2;
        bad += WEXITSTATUS(status);
    }
    printf("%u of %u rounds lost acknowledged commits\n", bad, rounds);
    return 0;
}
