/*
 * The functions of TokuDB's fractal tree library, whose API is Berkeley DB's, as plain functions, see
 * handles.h.
 */
#define PREFIX trueput_tokudb_
#define ABSENT case DB_NOTFOUND
#define NO_ROOM case TOKUDB_OUT_OF_LOCKS
/* Does not look first whether the key is there. */
#define DELETE_FLAGS DB_DELETE_ANY
#define CURSOR_CLOSE c_close
#define CURSOR_GET c_get
#include "handles.h"

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

int trueput_tokudb_begin(DB_ENV *env, DB_TXN **transaction, int is_snapshot) {
	uint32_t flags = (uint32_t)(uintptr_t)env->app_private;
	if (is_snapshot)
		flags |= DB_TXN_SNAPSHOT | DB_TXN_READ_ONLY;
	return env->txn_begin(env, NULL, transaction, flags);
}

/* A get in a serializable transaction takes the lock that a put takes, asked or not. */
int trueput_tokudb_get(DB *db, DB_TXN *transaction, const void *key, uint32_t key_size,
    struct buffer *value, int for_update) {
	DBT wanted = borrowed(key, key_size), found = receiving(value);
	int code = db->get(db, transaction, &wanted, &found, 0);
	(void)for_update;
	value->size = found.size;
	return code;
}

/* Settings as the library reports them. */
int trueput_tokudb_settings(DB_ENV *env, DB *db, visit *show, void *context) {
	uint32_t gib, bytes, number;
	uint64_t wide;
	int code = 0, regions;
	TOKU_COMPRESSION_METHOD method;
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
