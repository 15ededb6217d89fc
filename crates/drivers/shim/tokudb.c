/*
 * A flat interface to TokuDB's fractal tree library, whose handles are structs of function pointers
 * as Berkeley DB's are, though laid out otherwise. `scripts/engines` compiles this against the db.h
 * of the library's version. It keeps no state and links with no library, see berkeleydb.c.
 *
 * Every function that returns int returns the library's own code, 0 for success.
 */
#include <db.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How an environment is opened. tokudb/environment.rs has the same struct. */
struct trueput_tokudb_settings {
	uint64_t cache_bytes;
	uint64_t lock_bytes;
	uint32_t checkpoint_period_s; /* 0: never */
	uint32_t fsync_log_period_ms; /* 0: never */
	uint32_t lock_timeout_ms;
	uint32_t is_nosync;
};

/* How a new dictionary is laid out. tokudb/environment.rs has the same struct. */
struct trueput_tokudb_layout {
	uint32_t node_bytes;
	uint32_t basement_bytes;
	uint32_t fanout;
	uint32_t compression; /* toku_compression_method */
};

/* How the driver reacts to a code. berkeleydb/shim.rs has the same numbers. */
enum class { OTHER, ABSENT, CONFLICT, NO_ROOM, BUFFER_SMALL, NEEDS_RECOVERY };

/* The last message that the library had for an error, for the thread that met it. */
static _Thread_local char message[512];

static void keep_message(const DB_ENV *env, const char *prefix, const char *text) {
	(void)env;
	(void)prefix;
	snprintf(message, sizeof message, "%s", text);
	message[strcspn(message, "\n")] = '\0';
}

/* The message of the calling thread's last error, empty where there was none; it is forgotten then,
 * but for the text that is returned, which lasts until the thread's next call. */
const char *trueput_tokudb_take_message(void) {
	static _Thread_local char taken[sizeof message];
	memcpy(taken, message, sizeof taken);
	message[0] = '\0';
	return taken;
}

void trueput_tokudb_header_version(int *major, int *minor) {
	*major = DB_VERSION_MAJOR;
	*minor = DB_VERSION_MINOR;
}

int trueput_tokudb_class(int code) {
	switch (code) {
	case DB_NOTFOUND:
		return ABSENT;
	case DB_LOCK_DEADLOCK:
	case DB_LOCK_NOTGRANTED:
		return CONFLICT;
	case TOKUDB_OUT_OF_LOCKS:
		return NO_ROOM;
	case DB_BUFFER_SMALL:
		return BUFFER_SMALL;
	case DB_RUNRECOVERY:
		return NEEDS_RECOVERY;
	default:
		return OTHER;
	}
}

/* Does `call` unless one before it failed. */
#define STEP(call) \
	do { \
		if (code == 0) \
			code = (call); \
	} while (0)

int trueput_tokudb_env_open(DB_ENV *env, const char *home,
    const struct trueput_tokudb_settings *set) {
	const uint64_t gib = 1ULL << 30;
	int code = 0;
	env->set_errcall(env, keep_message);
	/* Huge pages cost it memory, which is no reason to refuse the machine. */
	env->set_check_thp(env, false);
	/* The library leaves this pointer to its caller. */
	env->app_private = (void *)(uintptr_t)(set->is_nosync ? DB_TXN_NOSYNC : 0);
	STEP(env->set_cachesize(env, (uint32_t)(set->cache_bytes / gib),
	    (uint32_t)(set->cache_bytes % gib), 1));
	STEP(env->set_lk_max_memory(env, set->lock_bytes));
	STEP(env->set_lock_timeout(env, set->lock_timeout_ms, NULL));
	env->change_fsync_log_period(env, set->fsync_log_period_ms);
	STEP(env->open(env, home, DB_CREATE | DB_PRIVATE | DB_THREAD | DB_INIT_TXN | DB_INIT_LOCK |
	    DB_INIT_LOG | DB_INIT_MPOOL | DB_RECOVER, 0644));
	STEP(env->checkpointing_set_period(env, set->checkpoint_period_s));
	/* As MariaDB has them: once a second a few nodes are looked for that need work. */
	STEP(env->cleaner_set_period(env, 1));
	STEP(env->cleaner_set_iterations(env, 5));
	return code;
}

int trueput_tokudb_env_close(DB_ENV *env) {
	return env->close(env, 0);
}

int trueput_tokudb_checkpoint(DB_ENV *env, uint32_t kib) {
	return env->txn_checkpoint(env, kib, 0, 0);
}

int trueput_tokudb_open(DB *db, const char *name, const struct trueput_tokudb_layout *layout) {
	DB_ENV *env = db->dbenv;
	DB_TXN *transaction;
	int code = 0;
	STEP(db->set_pagesize(db, layout->node_bytes));
	STEP(db->set_readpagesize(db, layout->basement_bytes));
	STEP(db->set_fanout(db, layout->fanout));
	STEP(db->set_compression_method(db, (TOKU_COMPRESSION_METHOD)layout->compression));
	STEP(env->txn_begin(env, NULL, &transaction, 0));
	if (code != 0)
		return code;
	code = db->open(db, transaction, name, NULL, DB_BTREE, DB_CREATE | DB_THREAD, 0644);
	if (code == 0)
		return transaction->commit(transaction, DB_TXN_SYNC);
	transaction->abort(transaction);
	return code;
}

int trueput_tokudb_close(DB *db) {
	return db->close(db, 0);
}

int trueput_tokudb_begin(DB_ENV *env, DB_TXN **transaction, int is_snapshot) {
	uint32_t flags = (uint32_t)(uintptr_t)env->app_private;
	if (is_snapshot)
		flags |= DB_TXN_SNAPSHOT | DB_TXN_READ_ONLY;
	return env->txn_begin(env, NULL, transaction, flags);
}

int trueput_tokudb_commit(DB_TXN *transaction) {
	return transaction->commit(transaction, 0);
}

int trueput_tokudb_abort(DB_TXN *transaction) {
	return transaction->abort(transaction);
}

static DBT borrowed(const void *data, uint32_t size) {
	DBT thing;
	memset(&thing, 0, sizeof thing);
	thing.data = (void *)data;
	thing.size = size;
	return thing;
}

/* A buffer of the caller's that receives a key or value. */
struct trueput_tokudb_buffer {
	void *data;
	uint32_t capacity;
	uint32_t size; /* what is in it, or what it would have to hold */
};

static DBT receiving(const struct trueput_tokudb_buffer *buffer) {
	DBT thing;
	memset(&thing, 0, sizeof thing);
	thing.data = buffer->data;
	thing.ulen = buffer->capacity;
	thing.size = buffer->size;
	thing.flags = DB_DBT_USERMEM;
	return thing;
}

/* A get in a serializable transaction takes the lock that a put takes, asked or not. */
int trueput_tokudb_get(DB *db, DB_TXN *transaction, const void *key, uint32_t key_size,
    struct trueput_tokudb_buffer *value, int for_update) {
	DBT wanted = borrowed(key, key_size), found = receiving(value);
	int code = db->get(db, transaction, &wanted, &found, 0);
	(void)for_update;
	value->size = found.size;
	return code;
}

int trueput_tokudb_put(DB *db, DB_TXN *transaction, const void *key, uint32_t key_size,
    const void *value, uint32_t value_size) {
	DBT where = borrowed(key, key_size), what = borrowed(value, value_size);
	return db->put(db, transaction, &where, &what, 0);
}

/* Does not look first whether the key is there. */
int trueput_tokudb_delete(DB *db, DB_TXN *transaction, const void *key, uint32_t key_size) {
	DBT where = borrowed(key, key_size);
	return db->del(db, transaction, &where, DB_DELETE_ANY);
}

int trueput_tokudb_cursor_open(DB *db, DB_TXN *transaction, DBC **cursor) {
	return db->cursor(db, transaction, cursor, 0);
}

int trueput_tokudb_cursor_close(DBC *cursor) {
	return cursor->c_close(cursor);
}

/* Moves and shows; `move` is one of berkeleydb/shim.rs's `Move`; a seek takes `key`. */
int trueput_tokudb_cursor_get(DBC *cursor, struct trueput_tokudb_buffer *key,
    struct trueput_tokudb_buffer *value, int move) {
	static const uint32_t MOVES[] = {DB_FIRST, DB_LAST, DB_NEXT, DB_PREV, DB_SET_RANGE};
	DBT found_key = receiving(key), found_value = receiving(value);
	int code = cursor->c_get(cursor, &found_key, &found_value, MOVES[move]);
	key->size = found_key.size;
	value->size = found_value.size;
	return code;
}

typedef void visit(void *context, const char *name, uint64_t number);

/* Settings as the library reports them. */
int trueput_tokudb_settings(DB_ENV *env, DB *db, visit *show, void *context) {
	uint32_t gib, bytes, number;
	uint64_t wide;
	int code = 0, regions;
	TOKU_COMPRESSION_METHOD method;
#define SHOW_NUMBER(name, number, call) \
	STEP(call); \
	if (code == 0) \
	show(context, name, number)
	SHOW_NUMBER("cachesize", ((uint64_t)gib << 30) + bytes,
	    env->get_cachesize(env, &gib, &bytes, &regions));
	SHOW_NUMBER("lk_max_memory", wide, env->get_lk_max_memory(env, &wide));
	SHOW_NUMBER("lock_timeout", wide, env->get_lock_timeout(env, &wide));
	SHOW_NUMBER("checkpointing_period", number, env->checkpointing_get_period(env, &number));
	SHOW_NUMBER("cleaner_period", number, env->cleaner_get_period(env, &number));
	SHOW_NUMBER("cleaner_iterations", number, env->cleaner_get_iterations(env, &number));
	SHOW_NUMBER("lg_max", number, env->get_lg_max(env, &number));
	SHOW_NUMBER("pagesize", number, db->get_pagesize(db, &number));
	SHOW_NUMBER("readpagesize", number, db->get_readpagesize(db, &number));
	SHOW_NUMBER("fanout", number, db->get_fanout(db, &number));
	SHOW_NUMBER("compression_method", (uint64_t)method, db->get_compression_method(db, &method));
	return code;
}

/* The engine's status as far as it consists of whole numbers, by the library's own names. */
int trueput_tokudb_statistics(DB_ENV *env, visit *show, void *context) {
	uint64_t most, count = 0, panic = 0;
	fs_redzone_state redzone;
	char text[1];
	TOKU_ENGINE_STATUS_ROW rows;
	int code = env->get_engine_status_num_rows(env, &most);
	if (code != 0)
		return code;
	rows = calloc(most, sizeof *rows);
	if (rows == NULL)
		return DB_RUNRECOVERY;
	code = env->get_engine_status(env, rows, most, &count, &redzone, &panic, text, sizeof text,
	    TOKU_ENGINE_STATUS);
	for (uint64_t row = 0; code == 0 && row < count; row++)
		if (rows[row].type == UINT64 && rows[row].value.num != 0)
			show(context, rows[row].keyname, rows[row].value.num);
	free(rows);
	return code;
}
