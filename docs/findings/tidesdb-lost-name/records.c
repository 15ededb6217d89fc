/* Commits records to a TidesDB database, or reads them. ../power-cut/lost_name.sh and cut_power.sh
 * run it.
 *
 * ../tidesdb-lost-commits/lost.c says how to build TidesDB 10.2.1. Build: cc -O2 \
 *       -I /var/tmp/tidesdb/vendor/tidesdb/tidesdb/include -o /var/tmp/tidesdb-records records.c \
 *       /var/tmp/tidesdb/build/libtidesdb.a -lpthread -lm
 * Usage: records write|read|more FOLDER
 *
 * write: creates a database, flushes its folder, commits with TDB_SYNC_FULL, waits until the first
 * log has become a table, and ends without closing the database.
 * read: opens it and prints which of these commits are missing or cannot be read.
 * more: opens it, commits more records, closes it, and prints the same.
 */
#include <db.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COMMITS 800
#define MORE 100
#define LARGE 4000 /* bytes of a value that goes to the value log: those of odd numbers */
#define SMALL 400

static tidesdb_t *db;
static tidesdb_column_family_t *family;

static void check(const char *what, int result)
{
    if (result == TDB_SUCCESS) return;
    printf("%s: %s\n", what, tidesdb_strerror(result));
    exit(1);
}

static void open_db(char *path)
{
    tidesdb_config_t config = tidesdb_default_config();
    config.db_path = path;
    config.memtable_sync_mode = TDB_SYNC_FULL;
    config.memtable_write_buffer_size = 64 << 10; /* so that new files begin soon */
    config.vlog_segment_size = 512 << 10;
    config.log_level = TDB_LOG_NONE;
    check("does not open", tidesdb_open(&config, &db));
    family = tidesdb_get_column_family(db, "records");
}

static void commit(unsigned number)
{
    char key[16], value[LARGE];
    tidesdb_txn_t *txn = NULL;
    const size_t size = number % 2 == 1 ? LARGE : SMALL;
    const size_t length = (size_t)sprintf(key, "%08u", number);
    memset(value, 'v', size);
    check("begin", tidesdb_txn_begin_with_isolation(db, TDB_ISOLATION_SNAPSHOT, &txn));
    check("put", tidesdb_txn_put(txn, family, (uint8_t *)key, length, (uint8_t *)value, size, 0));
    check("commit", tidesdb_txn_commit(txn));
    tidesdb_txn_free(txn);
}

static void write_records(char *path)
{
    char log[4096];
    open_db(path);
    const tidesdb_column_family_config_t defaults = tidesdb_default_column_family_config();
    check("create", tidesdb_create_column_family(db, "records", &defaults));
    family = tidesdb_get_column_family(db, "records");
    const int folder = open(path, O_RDONLY | O_DIRECTORY);
    if (folder < 0 || fsync(folder) != 0) exit(2);
    for (unsigned number = 1; number <= COMMITS; number++) commit(number);
    snprintf(log, sizeof log, "%s/000000000000.log", path);
    while (access(log, F_OK) == 0) usleep(10000);
    printf("%d commits returned\n", COMMITS);
    fflush(stdout);
    _exit(0);
}

/* Some numbers: how many, and the first and the last of them. */
typedef struct
{
    unsigned count, first, last;
} numbers_t;

static void add(numbers_t *numbers, unsigned number)
{
    if (numbers->count++ == 0) numbers->first = number;
    numbers->last = number;
}

static void describe(void)
{
    numbers_t missing = {0}, failed = {0};
    int error = TDB_SUCCESS;
    tidesdb_txn_t *txn = NULL;
    check("begin", tidesdb_txn_begin_with_isolation(db, TDB_ISOLATION_SNAPSHOT, &txn));
    for (unsigned number = 1; number <= COMMITS; number++)
    {
        char key[16];
        uint8_t *value = NULL;
        size_t size = 0;
        const size_t length = (size_t)sprintf(key, "%08u", number);
        const int result = tidesdb_txn_get(txn, family, (uint8_t *)key, length, &value, &size);
        if (result == TDB_ERR_NOT_FOUND) add(&missing, number);
        else if (result != TDB_SUCCESS)
        {
            add(&failed, number);
            error = result;
        }
        tidesdb_free(value);
    }
    tidesdb_txn_free(txn);
    printf("of %d commits are missing: ", COMMITS);
    if (missing.count == 0) printf("none");
    else printf("%u from %u to %u", missing.count, missing.first, missing.last);
    if (failed.count > 0)
        printf("; cannot be read: %u from %u to %u (%s)", failed.count, failed.first, failed.last,
               tidesdb_strerror(error));
    printf("\n");
}

int main(int argc, char **argv)
{
    if (argc < 3) return 2;
    if (strcmp(argv[1], "write") == 0) write_records(argv[2]);
    open_db(argv[2]);
    if (!family)
    {
        printf("opens; the column family is missing\n");
        return 1;
    }
    if (strcmp(argv[1], "more") == 0)
    {
        for (unsigned number = COMMITS + 1; number <= COMMITS + MORE; number++) commit(number);
        check("close", tidesdb_close(db));
        open_db(argv[2]);
        printf("after %d more commits: ", MORE);
    }
    else printf("opens; ");
    describe();
    check("close", tidesdb_close(db));
    return 0;
}
