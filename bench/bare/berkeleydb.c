/* Berkeley DB at 'buffered': a transactional environment with DB_TXN_NOSYNC, and a B-tree. */
#include "bare.h"
#include <db.h>
#include <pthread.h>
#include <time.h>

static DB_ENV *env;
static DB *db;
static DB_TXN *transaction;
static const char *home;
static uint8_t found[4096];
static pthread_t checkpoints;

static void check(int code) {
	if (code != 0)
		fail("Berkeley DB", db_strerror(code));
}

/* Writes the cache out once 128 MiB of log were written, as the driver does. */
static void *write_checkpoints(void *nothing) {
	const struct timespec pause = {.tv_nsec = 500000000};
	for (;;) {
		nanosleep(&pause, NULL);
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
		check(env->txn_checkpoint(env, 128 << 10, 0, 0));
		pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	}
	return nothing;
}

static void database_open(const char *folder) {
	const uint32_t flags = DB_CREATE | DB_THREAD | DB_INIT_TXN | DB_INIT_LOCK | DB_INIT_LOG |
	    DB_INIT_MPOOL | DB_REGISTER | DB_RECOVER;
	int major, minor;
	db_version(&major, &minor, NULL);
	if (major != DB_VERSION_MAJOR || minor != DB_VERSION_MINOR)
		fail("Berkeley DB", "the header is of another version than the library");
	home = folder;
	check(db_env_create(&env, 0));
	check(env->set_cachesize(env, 0, 64 << 20, 1));
	check(env->set_lg_bsize(env, 32 << 10));
	check(env->set_lg_max(env, 10 << 20));
	check(env->log_set_config(env, DB_LOG_AUTO_REMOVE, 1));
	check(env->set_lk_detect(env, DB_LOCK_RANDOM));
	check(env->set_lk_max_locks(env, 1000000));
	check(env->set_lk_max_objects(env, 1000000));
	check(env->set_tx_max(env, 1000));
	check(env->set_flags(env, DB_TXN_NOSYNC, 1));
	check(env->open(env, folder, flags, 0));
	check(db_create(&db, env, 0));
	check(db->set_pagesize(db, 4096));
	check(db->open(
	    db, NULL, "records.db", NULL, DB_BTREE, DB_CREATE | DB_THREAD | DB_AUTO_COMMIT, 0));
	check(pthread_create(&checkpoints, NULL, write_checkpoints, NULL));
}

/* The environment's shared memory is removed, so that the next run begins without its cache. */
static void database_close(void) {
	pthread_cancel(checkpoints);
	check(pthread_join(checkpoints, NULL));
	check(env->txn_checkpoint(env, 0, 0, DB_FORCE));
	check(db->close(db, 0));
	check(env->close(env, 0));
	check(db_env_create(&env, 0));
	check(env->remove(env, home, 0));
}

static void read_begin(void) {
	check(env->txn_begin(env, NULL, &transaction, 0));
}

static void read_end(void) {
	check(transaction->commit(transaction, 0));
}

static void get(const uint8_t *key) {
	DBT wanted = {.data = (void *)key, .size = KEY_BYTES};
	DBT value = {.data = found, .ulen = sizeof found, .flags = DB_DBT_USERMEM};
	check(db->get(db, transaction, &wanted, &value, 0));
	take(value.data, value.size);
}

static void write_begin(void) {
	read_begin();
}

/* With the look-up before it that 5.3 needs where writers overlap, see berkeleydb_lost_record.c. */
static void put(const uint8_t *key, const uint8_t *value) {
	DBT where = {.data = (void *)key, .size = KEY_BYTES};
	DBT nothing = {.flags = DB_DBT_USERMEM | DB_DBT_PARTIAL};
	DBT what = {.data = (void *)value, .size = VALUE_BYTES};
	int code = db->get(db, transaction, &where, &nothing, DB_RMW);
	check(code == DB_NOTFOUND ? 0 : code);
	check(db->put(db, transaction, &where, &what, 0));
}

static void write_commit(void) {
	read_end();
}
