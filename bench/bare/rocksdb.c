/* RocksDB at 'async': a TransactionDB, its transactions for writing and snapshots for reading. */
#include "bare.h"
#include <rocksdb/c.h>

static rocksdb_transactiondb_t *database;
static rocksdb_transaction_options_t *transaction_options;
static rocksdb_readoptions_t *reading;
static rocksdb_writeoptions_t *writing;
static rocksdb_transaction_t *transaction;
static const rocksdb_snapshot_t *snapshot;

static const char OPTIONS[] =
    "create_if_missing=true;manual_wal_flush=false;wal_bytes_per_sync=0;"
    "compaction_style=kCompactionStyleLevel;use_direct_reads=false;"
    "use_direct_io_for_flush_and_compaction=false;write_buffer_size=67108864;"
    "max_write_buffer_number=2;max_background_jobs=2;max_open_files=-1;"
    "compression=kSnappyCompression;"
    "block_based_table_factory={block_size=4096;block_cache=33554432;};";

static void check(const char *error) {
	if (error != NULL)
		fail("RocksDB", error);
}

static void database_open(const char *folder) {
	char *error = NULL;
	rocksdb_options_t *base = rocksdb_options_create(), *options = rocksdb_options_create();
	rocksdb_get_options_from_string(base, OPTIONS, options, &error);
	check(error);
	rocksdb_transactiondb_options_t *locks = rocksdb_transactiondb_options_create();
	database = rocksdb_transactiondb_open(options, locks, folder, &error);
	check(error);
	transaction_options = rocksdb_transaction_options_create();
	rocksdb_transaction_options_set_deadlock_detect(transaction_options, 1);
	reading = rocksdb_readoptions_create();
	writing = rocksdb_writeoptions_create();
	rocksdb_writeoptions_set_sync(writing, 0);
}

static void database_close(void) {
	if (transaction != NULL)
		rocksdb_transaction_destroy(transaction);
	rocksdb_transactiondb_close(database);
}

static void read_begin(void) {
	snapshot = rocksdb_transactiondb_create_snapshot(database);
	rocksdb_readoptions_set_snapshot(reading, snapshot);
}

static void read_end(void) {
	rocksdb_transactiondb_release_snapshot(database, snapshot);
}

static void get(const uint8_t *key) {
	char *error = NULL;
	rocksdb_pinnableslice_t *found =
	    rocksdb_transactiondb_get_pinned(database, reading, (const char *)key, KEY_BYTES, &error);
	check(error);
	if (found == NULL)
		fail("RocksDB", "a key is not there");
	size_t bytes;
	const char *value = rocksdb_pinnableslice_value(found, &bytes);
	take(value, bytes);
	rocksdb_pinnableslice_destroy(found);
}

/* The object of the last transaction is used again, as RocksDB advises. */
static void write_begin(void) {
	transaction =
	    rocksdb_transaction_begin(database, writing, transaction_options, transaction);
}

static void put(const uint8_t *key, const uint8_t *value) {
	char *error = NULL;
	rocksdb_transaction_put(
	    transaction, (const char *)key, KEY_BYTES, (const char *)value, VALUE_BYTES, &error);
	check(error);
}

static void write_commit(void) {
	char *error = NULL;
	rocksdb_transaction_commit(transaction, &error);
	check(error);
}
