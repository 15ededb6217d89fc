/*
 * A flat interface to Berkeley DB, whose handles are structs of function pointers, so that a
 * program that was built without its header can call it. `scripts/engines` compiles this against
 * the installed db.h. It keeps no state and links with no library: the handles come from the
 * library that the caller loaded, which must be of the header's version, see
 * trueput_bdb_header_version.
 *
 * Every function that returns int returns Berkeley DB's own code, 0 for success.
 */
#include <db.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How an environment is opened. berkeleydb/shim.rs has the same struct. */
struct trueput_bdb_settings {
	uint64_t cache_bytes;
	uint32_t log_buffer_bytes;
	uint32_t log_file_bytes; /* 0: the library's default */
	uint32_t max_transactions;
	uint32_t max_locks;
	uint32_t deadlock_policy; /* index into POLICIES */
	uint32_t level;           /* enum level */
	uint32_t log_auto_remove;
	const char *log_directory; /* null: beside the data */
};

enum level { SYNC, WRITE_NOSYNC, NOSYNC, LOG_IN_MEMORY, NOT_DURABLE };

static const uint32_t POLICIES[] = {
	DB_LOCK_RANDOM, DB_LOCK_YOUNGEST, DB_LOCK_OLDEST, DB_LOCK_MINLOCKS, DB_LOCK_MINWRITE,
};

/* How the driver reacts to a code. berkeleydb/shim.rs has the same numbers. */
enum class { OTHER, ABSENT, CONFLICT, NO_ROOM, BUFFER_SMALL, NEEDS_RECOVERY };

/* The last message that the library had for an error, for the thread that met it. */
static _Thread_local char message[512];

static void keep_message(const DB_ENV *env, const char *prefix, const char *text) {
	(void)env;
	(void)prefix;
	snprintf(message, sizeof message, "%s", text);
}

static void drop_message(const DB_ENV *env, const char *text) {
	(void)env;
	(void)text;
}

/* The message of the calling thread's last error, empty where there was none; it is forgotten then,
 * but for the text that is returned, which lasts until the thread's next call. */
const char *trueput_bdb_take_message(void) {
	static _Thread_local char taken[sizeof message];
	memcpy(taken, message, sizeof taken);
	message[0] = '\0';
	return taken;
}

void trueput_bdb_header_version(int *major, int *minor) {
	*major = DB_VERSION_MAJOR;
	*minor = DB_VERSION_MINOR;
}

int trueput_bdb_class(int code) {
	switch (code) {
	case DB_NOTFOUND:
	case DB_KEYEMPTY:
		return ABSENT;
	case DB_LOCK_DEADLOCK:
	case DB_LOCK_NOTGRANTED:
		return CONFLICT;
	case DB_LOG_BUFFER_FULL:
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

int trueput_bdb_env_open(DB_ENV *env, const char *home, const struct trueput_bdb_settings *set) {
	const uint64_t gib = 1ULL << 30;
	int code = 0;
	env->set_errcall(env, keep_message);
	env->set_msgcall(env, drop_message);
	STEP(env->set_cachesize(env, (uint32_t)(set->cache_bytes / gib),
	    (uint32_t)(set->cache_bytes % gib), 1));
	/* Before the buffer, which is checked against the mode. */
	if (set->level == LOG_IN_MEMORY)
		STEP(env->log_set_config(env, DB_LOG_IN_MEMORY, 1));
	STEP(env->set_lg_bsize(env, set->log_buffer_bytes));
	if (set->log_file_bytes != 0)
		STEP(env->set_lg_max(env, set->log_file_bytes));
	if (set->log_directory != NULL)
		STEP(env->set_lg_dir(env, set->log_directory));
	if (set->log_auto_remove != 0)
		STEP(env->log_set_config(env, DB_LOG_AUTO_REMOVE, 1));
	STEP(env->set_lk_detect(env, POLICIES[set->deadlock_policy]));
	STEP(env->set_lk_max_locks(env, set->max_locks));
	STEP(env->set_lk_max_objects(env, set->max_locks));
	STEP(env->set_tx_max(env, set->max_transactions));
	if (set->level == WRITE_NOSYNC)
		STEP(env->set_flags(env, DB_TXN_WRITE_NOSYNC, 1));
	if (set->level == NOSYNC)
		STEP(env->set_flags(env, DB_TXN_NOSYNC, 1));
	STEP(env->open(env, home, DB_CREATE | DB_THREAD | DB_INIT_TXN | DB_INIT_LOCK | DB_INIT_LOG |
	    DB_INIT_MPOOL | DB_REGISTER | DB_RECOVER, 0));
	return code;
}

int trueput_bdb_env_close(DB_ENV *env) {
	return env->close(env, 0);
}

/* Removes the shared memory of an environment that no process has open, and frees the handle. */
int trueput_bdb_env_remove(DB_ENV *env, const char *home) {
	env->set_errcall(env, keep_message);
	return env->remove(env, home, 0);
}

int trueput_bdb_lsn_reset(DB_ENV *env, const char *file) {
	return env->lsn_reset(env, file, 0);
}

/* Writes the cache out where so much log was written since the last time; 0: in any case. */
int trueput_bdb_checkpoint(DB_ENV *env, uint32_t kib) {
	return env->txn_checkpoint(env, kib, 0, kib == 0 ? DB_FORCE : 0);
}

int trueput_bdb_open(DB *db, const char *file, int is_hash, uint32_t page_bytes,
    int is_multiversion, int is_not_durable) {
	int code = 0;
	STEP(db->set_pagesize(db, page_bytes));
	if (is_not_durable)
		STEP(db->set_flags(db, DB_TXN_NOT_DURABLE));
	STEP(db->open(db, NULL, file, NULL, is_hash ? DB_HASH : DB_BTREE,
	    DB_CREATE | DB_THREAD | DB_AUTO_COMMIT | (is_multiversion ? DB_MULTIVERSION : 0), 0));
	return code;
}

int trueput_bdb_close(DB *db) {
	return db->close(db, 0);
}

int trueput_bdb_begin(DB_ENV *env, DB_TXN **transaction, int is_snapshot) {
	return env->txn_begin(env, NULL, transaction, is_snapshot ? DB_TXN_SNAPSHOT : 0);
}

/* Waits until no other transaction that asked for this is open, in any process; deadlocks with it
 * are found like those of pages. Commit and abort end it. */
int trueput_bdb_take_turn(DB_ENV *env, DB_TXN *transaction) {
	DBT turn;
	DB_LOCK lock;
	memset(&turn, 0, sizeof turn);
	turn.data = "trueput: writers take turns";
	turn.size = (uint32_t)strlen(turn.data);
	return env->lock_get(env, transaction->id(transaction), 0, &turn, DB_LOCK_WRITE, &lock);
}

int trueput_bdb_commit(DB_TXN *transaction) {
	return transaction->commit(transaction, 0);
}

int trueput_bdb_abort(DB_TXN *transaction) {
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
struct trueput_bdb_buffer {
	void *data;
	uint32_t capacity;
	uint32_t size; /* what is in it, or what it would have to hold */
};

static DBT receiving(const struct trueput_bdb_buffer *buffer) {
	DBT thing;
	memset(&thing, 0, sizeof thing);
	thing.data = buffer->data;
	thing.ulen = buffer->capacity;
	thing.size = buffer->size;
	thing.flags = DB_DBT_USERMEM;
	return thing;
}

int trueput_bdb_get(DB *db, DB_TXN *transaction, const void *key, uint32_t key_size,
    struct trueput_bdb_buffer *value, int for_update) {
	DBT wanted = borrowed(key, key_size), found = receiving(value);
	int code = db->get(db, transaction, &wanted, &found, for_update ? DB_RMW : 0);
	value->size = found.size;
	return code;
}

/* Looks `key` up without its value and takes the write lock of the leaf where it is, or would be, to
 * the end of the transaction: nobody else splits that leaf before the put that follows. */
int trueput_bdb_guard(DB *db, DB_TXN *transaction, const void *key, uint32_t key_size) {
	DBT wanted = borrowed(key, key_size), nothing;
	memset(&nothing, 0, sizeof nothing);
	nothing.flags = DB_DBT_USERMEM | DB_DBT_PARTIAL;
	int code = db->get(db, transaction, &wanted, &nothing, DB_RMW);
	return code == DB_NOTFOUND || code == DB_KEYEMPTY ? 0 : code;
}

int trueput_bdb_put(DB *db, DB_TXN *transaction, const void *key, uint32_t key_size,
    const void *value, uint32_t value_size) {
	DBT where = borrowed(key, key_size), what = borrowed(value, value_size);
	return db->put(db, transaction, &where, &what, 0);
}

int trueput_bdb_delete(DB *db, DB_TXN *transaction, const void *key, uint32_t key_size) {
	DBT where = borrowed(key, key_size);
	return db->del(db, transaction, &where, 0);
}

int trueput_bdb_cursor_open(DB *db, DB_TXN *transaction, DBC **cursor) {
	return db->cursor(db, transaction, cursor, 0);
}

int trueput_bdb_cursor_close(DBC *cursor) {
	return cursor->close(cursor);
}

/* Moves and shows; `move` is one of berkeleydb/shim.rs's `Move`; a seek takes `key`. */
int trueput_bdb_cursor_get(DBC *cursor, struct trueput_bdb_buffer *key,
    struct trueput_bdb_buffer *value, int move) {
	static const uint32_t MOVES[] = {DB_FIRST, DB_LAST, DB_NEXT, DB_PREV, DB_SET_RANGE};
	DBT found_key = receiving(key), found_value = receiving(value);
	int code = cursor->get(cursor, &found_key, &found_value, MOVES[move]);
	key->size = found_key.size;
	value->size = found_value.size;
	return code;
}

typedef void visit(void *context, const char *name, uint64_t number);

/* Settings as the library reports them; texts apart from the log's folder are numbers here. */
int trueput_bdb_settings(DB_ENV *env, DB *db, visit *show, void *context) {
	uint32_t gib, bytes, number;
	int code = 0, on, regions;
	DBTYPE type;
#define SHOW_NUMBER(name, call) \
	STEP(call); \
	if (code == 0) \
	show(context, name, number)
#define SHOW_LOG_FLAG(flag) \
	STEP(env->log_get_config(env, flag, &on)); \
	if (code == 0) \
	show(context, #flag, on != 0)
	STEP(env->get_cachesize(env, &gib, &bytes, &regions));
	if (code == 0)
		show(context, "cachesize", ((uint64_t)gib << 30) + bytes);
	SHOW_NUMBER("lg_bsize", env->get_lg_bsize(env, &number));
	SHOW_NUMBER("lg_max", env->get_lg_max(env, &number));
	SHOW_NUMBER("lk_detect", env->get_lk_detect(env, &number));
	SHOW_NUMBER("lk_max_locks", env->get_lk_max_locks(env, &number));
	SHOW_NUMBER("tx_max", env->get_tx_max(env, &number));
	SHOW_NUMBER("pagesize", db->get_pagesize(db, &number));
	STEP(db->get_type(db, &type));
	if (code == 0)
		show(context, "type", type == DB_HASH ? 2 : 1);
	SHOW_LOG_FLAG(DB_LOG_IN_MEMORY);
	SHOW_LOG_FLAG(DB_LOG_AUTO_REMOVE);
	STEP(env->get_flags(env, &number));
	if (code == 0) {
		show(context, "DB_TXN_NOSYNC", (number & DB_TXN_NOSYNC) != 0);
		show(context, "DB_TXN_WRITE_NOSYNC", (number & DB_TXN_WRITE_NOSYNC) != 0);
	}
	STEP(db->get_flags(db, &number));
	if (code == 0)
		show(context, "DB_TXN_NOT_DURABLE", (number & DB_TXN_NOT_DURABLE) != 0);
	STEP(db->get_open_flags(db, &number));
	if (code == 0)
		show(context, "DB_MULTIVERSION", (number & DB_MULTIVERSION) != 0);
	return code;
}

#define SHOW(field) show(context, #field, stat->field)

/* The library returns each struct in memory of malloc's that the caller frees. */

static int log_statistics(DB_ENV *env, visit *show, void *context) {
	DB_LOG_STAT *stat;
	int code = env->log_stat(env, &stat, 0);
	if (code != 0)
		return code;
	SHOW(st_record);
	show(context, "st_w", ((uint64_t)stat->st_w_mbytes << 20) + stat->st_w_bytes);
	SHOW(st_wcount);
	SHOW(st_wcount_fill);
	SHOW(st_scount);
	SHOW(st_maxcommitperflush);
	SHOW(st_cur_file);
	free(stat);
	return 0;
}

static int lock_statistics(DB_ENV *env, visit *show, void *context) {
	DB_LOCK_STAT *stat;
	int code = env->lock_stat(env, &stat, 0);
	if (code != 0)
		return code;
	SHOW(st_nrequests);
	SHOW(st_lock_wait);
	SHOW(st_ndeadlocks);
	SHOW(st_maxnlocks);
	SHOW(st_maxnlockers);
	free(stat);
	return 0;
}

static int cache_statistics(DB_ENV *env, visit *show, void *context) {
	DB_MPOOL_STAT *stat;
	int code = env->memp_stat(env, &stat, NULL, 0);
	if (code != 0)
		return code;
	SHOW(st_cache_hit);
	SHOW(st_cache_miss);
	SHOW(st_page_create);
	SHOW(st_page_in);
	SHOW(st_page_out);
	SHOW(st_ro_evict);
	SHOW(st_rw_evict);
	SHOW(st_page_clean);
	SHOW(st_page_dirty);
	SHOW(st_mvcc_frozen);
	free(stat);
	return 0;
}

static int transaction_statistics(DB_ENV *env, visit *show, void *context) {
	DB_TXN_STAT *stat;
	int code = env->txn_stat(env, &stat, 0);
	if (code != 0)
		return code;
	SHOW(st_nbegins);
	SHOW(st_ncommits);
	SHOW(st_naborts);
	SHOW(st_nactive);
	SHOW(st_maxnactive);
	show(context, "st_last_ckp.file", stat->st_last_ckp.file);
	free(stat);
	return 0;
}

/* Counters of the environment, by the library's own names. */
int trueput_bdb_statistics(DB_ENV *env, visit *show, void *context) {
	int code = 0;
	STEP(log_statistics(env, show, context));
	STEP(lock_statistics(env, show, context));
	STEP(cache_statistics(env, show, context));
	STEP(transaction_statistics(env, show, context));
	return code;
}
