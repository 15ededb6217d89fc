/* LevelDB at 'async': write batches, and snapshots for reading. */
#include "bare.h"
#include <leveldb/c.h>

static leveldb_t *database;
static leveldb_readoptions_t *reading;
static leveldb_writeoptions_t *writing;
static leveldb_writebatch_t *batch;
static const leveldb_snapshot_t *snapshot;

static void check(const char *error) {
	if (error != NULL)
		fail("LevelDB", error);
}

static void database_open(const char *folder) {
	char *error = NULL;
	leveldb_options_t *options = leveldb_options_create();
	leveldb_options_set_create_if_missing(options, 1);
	leveldb_options_set_write_buffer_size(options, 4 << 20);
	leveldb_options_set_block_size(options, 4 << 10);
	leveldb_options_set_max_open_files(options, 1000);
	leveldb_options_set_compression(options, leveldb_snappy_compression);
	leveldb_options_set_cache(options, leveldb_cache_create_lru(8 << 20));
	database = leveldb_open(options, folder, &error);
	check(error);
	reading = leveldb_readoptions_create();
	writing = leveldb_writeoptions_create();
	leveldb_writeoptions_set_sync(writing, 0);
	batch = leveldb_writebatch_create();
}

static void database_close(void) {
	leveldb_close(database);
}

static void read_begin(void) {
	snapshot = leveldb_create_snapshot(database);
	leveldb_readoptions_set_snapshot(reading, snapshot);
}

static void read_end(void) {
	leveldb_release_snapshot(database, snapshot);
}

static void get(const uint8_t *key) {
	char *error = NULL;
	size_t bytes;
	char *value = leveldb_get(database, reading, (const char *)key, KEY_BYTES, &bytes, &error);
	check(error);
	if (value == NULL)
		fail("LevelDB", "a key is not there");
	take(value, bytes);
	leveldb_free(value);
}

static void write_begin(void) {
	leveldb_writebatch_clear(batch);
}

static void put(const uint8_t *key, const uint8_t *value) {
	leveldb_writebatch_put(batch, (const char *)key, KEY_BYTES, (const char *)value, VALUE_BYTES);
}

static void write_commit(void) {
	char *error = NULL;
	leveldb_write(database, writing, batch, &error);
	check(error);
}
