/*
 * Berkeley DB's functions as plain functions, see handles.h.
 */
#define PREFIX trueput_bdb_
#define ABSENT case DB_NOTFOUND: case DB_KEYEMPTY
#define NO_ROOM case DB_LOG_BUFFER_FULL
#define DELETE_FLAGS 0
#define CURSOR_CLOSE close
#define CURSOR_GET get
#include "handles.h"

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

static void drop_message(const DB_ENV *env, const char *text) {
	(void)env;
	(void)text;
}

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

/* Removes the shared memory of an environment that no process has open, and frees the handle. */
int trueput_bdb_env_remove(DB_ENV *env, const char *home) {
	env->set_errcall(env, keep_message);
	return env->remove(env, home, 0);
}

/* Checks a file that nobody has open, outside an environment; the handle is gone then. */
int trueput_bdb_verify(DB *db, const char *file) {
	db->set_errcall(db, keep_message);
	return db->verify(db, file, NULL, NULL, 0);
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

/* Fills sparse pages and gives free ones back to the file system, in transactions of its own. The
 * driver does without it, too. */
int trueput_bdb_compact(DB *db) {
	return db->compact(db, NULL, NULL, NULL, NULL, DB_FREE_SPACE, NULL);
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

int trueput_bdb_get(DB *db, DB_TXN *transaction, const void *key, uint32_t key_size,
    struct buffer *value, int for_update) {
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

/* Settings as the library reports them; texts apart from the log's folder are numbers here. */
int trueput_bdb_settings(DB_ENV *env, DB *db, visit *show, void *context) {
	uint32_t gib, bytes, number;
	int code = 0, on, regions;
	DBTYPE type;
#define SHOW_LOG_FLAG(flag) \
	STEP(env->log_get_config(env, flag, &on)); \
	if (code == 0) \
	show(context, #flag, on != 0)
	STEP(env->get_cachesize(env, &gib, &bytes, &regions));
	if (code == 0)
		show(context, "cachesize", ((uint64_t)gib << 30) + bytes);
	SHOW_NUMBER("lg_bsize", number, env->get_lg_bsize(env, &number));
	SHOW_NUMBER("lg_max", number, env->get_lg_max(env, &number));
	SHOW_NUMBER("lk_detect", number, env->get_lk_detect(env, &number));
	SHOW_NUMBER("lk_max_locks", number, env->get_lk_max_locks(env, &number));
	SHOW_NUMBER("tx_max", number, env->get_tx_max(env, &number));
	SHOW_NUMBER("pagesize", number, db->get_pagesize(db, &number));
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
