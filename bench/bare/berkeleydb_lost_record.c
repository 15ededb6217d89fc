/*
 * Berkeley DB 5.3: a committed record is lost where write transactions overlap, and two ways around.
 *
 *   cc -O2 -Wall -o lost_record bench/bare/berkeleydb_lost_record.c -ldb-5.3 -lpthread
 *   ./lost_record FOLDER overlapping|turns|guarded [RUNS [THREADS [PUTS [PAGE_BYTES]]]] [OPTION...]
 *
 * Each run makes an environment in FOLDER/run, starts THREADS threads (16) that each commit PUTS
 * (6,000) records of random keys in pages of PAGE_BYTES (1,024), and then, with one thread, looks
 * every record up, walks the tree with a cursor, and runs the library's own verification. A
 * transaction that the library gives up because of a deadlock is aborted and tried again. It prints
 * the runs (100) that lost a record, and exits with 1 where there was one.
 *
 *   overlapping  put, as "Getting Started with Transaction Processing" has it: loses records
 *   turns        the same, one transaction at a time
 *   guarded      before each put the same transaction gets the key with DB_RMW and a partial length
 *                of 0: it holds the leaf's write lock, so that no other transaction can split it
 *
 *   deletes      each thread also deletes every third of its records, a transaction each
 *   batches      eight records in a transaction
 *   hash         a hash table instead of a B-tree
 *
 * The fault is in src/btree/bt_cursor.c and bt_split.c. A put whose leaf is full drops its locks and
 * calls __bam_split. If another transaction has split that leaf meanwhile, __bam_split returns the
 * leaf's parent, unlocked, as the page to begin the search at. If that parent is split too before
 * the search begins, the key goes to the last leaf of the left half, where no search from the root
 * finds it. Change log of 6.2: #24733.
 *
 * Seen with Debian's 5.3.28 (2 cores, AMD EPYC, virtual, Linux 6.18, 2026-11-22), runs that lost a
 * record of runs tried:
 *
 *   overlapping  27 of 100; deletes 20 of 40; batches deletes 4 of 40; hash deletes 0 of 20
 *   turns        0 of 100
 *   guarded      0 of 100; deletes 0 of 40; batches deletes 0 of 40
 */
#include <db.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_THREADS 64
#define FILE_NAME "records.db"

enum writers { OVERLAPPING, TURNS, GUARDED };

static enum writers writers;
static uint64_t threads = 16, puts_each = 6000, runs = 100, batch = 1, run;
static uint32_t page_bytes = 1024;
static int has_deletes, is_hash;
static DB_ENV *env;
static DB *db;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static uint64_t missed, deadlocks;

static void check(int code, const char *what) {
	if (code == 0)
		return;
	fprintf(stderr, "%s: %s\n", what, db_strerror(code));
	exit(2);
}

/* SplitMix64's finaliser (Steele, Lea and Flood, 2014): no two numbers have one key. */
static uint64_t key_of(uint64_t number) {
	uint64_t z = ((run << 40) + number) * 0x9E3779B97F4A7C15;
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
	return __builtin_bswap64(z ^ (z >> 31));
}

static DBT thing(void *data, uint32_t bytes) {
	DBT dbt;
	memset(&dbt, 0, sizeof dbt);
	dbt.data = data;
	dbt.size = dbt.ulen = bytes;
	dbt.flags = DB_DBT_USERMEM;
	return dbt;
}

static int get(DB_TXN *transaction, uint64_t number, uint64_t value[2]) {
	uint64_t key = key_of(number);
	DBT wanted = thing(&key, sizeof key), found = thing(value, 2 * sizeof *value);
	return db->get(db, transaction, &wanted, &found, 0);
}

static int guard(DB_TXN *transaction, DBT *key) {
	DBT nothing = thing(NULL, 0);
	nothing.flags |= DB_DBT_PARTIAL;
	int code = db->get(db, transaction, key, &nothing, DB_RMW);
	return code == DB_NOTFOUND ? 0 : code;
}

static int put(DB_TXN *transaction, uint64_t number) {
	uint64_t key = key_of(number), value[2] = {number, ~number};
	DBT where = thing(&key, sizeof key), what = thing(value, sizeof value);
	int code = writers == GUARDED ? guard(transaction, &where) : 0;
	return code != 0 ? code : db->put(db, transaction, &where, &what, 0);
}

static int delete(DB_TXN *transaction, uint64_t number) {
	uint64_t key = key_of(number);
	DBT where = thing(&key, sizeof key);
	return db->del(db, transaction, &where, 0);
}

/* Does `change` to `count` records of a thread in one transaction, until it is committed. */
static void commit(int change(DB_TXN *, uint64_t), uint64_t first, uint64_t count) {
	if (writers == TURNS)
		pthread_mutex_lock(&turn);
	for (;;) {
		DB_TXN *transaction;
		int code = 0;
		check(env->txn_begin(env, NULL, &transaction, 0), "txn_begin");
		for (uint64_t done = 0; code == 0 && done < count; done++)
			code = change(transaction, first + done * threads);
		if (code == DB_NOTFOUND) { /* of a delete */
			__sync_fetch_and_add(&missed, 1);
			code = 0;
		}
		if (code == 0) {
			check(transaction->commit(transaction, 0), "commit");
			break;
		}
		check(transaction->abort(transaction), "abort");
		if (code != DB_LOCK_DEADLOCK && code != DB_LOCK_NOTGRANTED)
			check(code, "put or delete");
		__sync_fetch_and_add(&deadlocks, 1);
	}
	if (writers == TURNS)
		pthread_mutex_unlock(&turn);
}

/* Every third record of a thread, once it has put the next one. */
static int is_deleted(uint64_t nth) {
	return has_deletes && nth % 3 == 0 && nth + batch < puts_each;
}

/* Looks up, in a transaction of its own, a record that this thread has committed. */
static void look(uint64_t number) {
	uint64_t value[2];
	int code;
	do
		code = get(NULL, number, value);
	while (code == DB_LOCK_DEADLOCK || code == DB_LOCK_NOTGRANTED);
	if (code == DB_NOTFOUND)
		__sync_fetch_and_add(&missed, 1);
	else
		check(code, "get");
}

static void *work(void *which) {
	uint64_t thread = (uint64_t)(uintptr_t)which, random = thread + 1;
	for (uint64_t nth = 0; nth < puts_each; nth += batch) {
		commit(put, nth * threads + thread, batch);
		for (uint64_t old = nth < batch ? nth : nth - batch; old < nth; old++)
			if (is_deleted(old))
				commit(delete, old * threads + thread, 1);
		random = random * 6364136223846793005 + 1442695040888963407;
		uint64_t earlier = (random >> 33) % (nth + 1);
		if (!is_deleted(earlier))
			look(earlier * threads + thread);
	}
	return NULL;
}

static void open_all(const char *folder) {
	check(db_env_create(&env, 0), "db_env_create");
	check(env->set_cachesize(env, 0, 64 << 20, 1), "set_cachesize");
	check(env->set_lk_detect(env, DB_LOCK_DEFAULT), "set_lk_detect");
	check(env->set_lk_max_locks(env, 100000), "set_lk_max_locks");
	check(env->set_lk_max_objects(env, 100000), "set_lk_max_objects");
	check(env->set_flags(env, DB_TXN_NOSYNC, 1), "DB_TXN_NOSYNC");
	check(env->open(env, folder, DB_CREATE | DB_THREAD | DB_PRIVATE | DB_INIT_TXN |
	    DB_INIT_LOCK | DB_INIT_LOG | DB_INIT_MPOOL, 0), "DB_ENV->open");
	check(db_create(&db, env, 0), "db_create");
	check(db->set_pagesize(db, page_bytes), "set_pagesize");
	check(db->open(db, NULL, FILE_NAME, NULL, is_hash ? DB_HASH : DB_BTREE,
	    DB_CREATE | DB_THREAD | DB_AUTO_COMMIT, 0), "DB->open");
}

/* Records that one cursor meets from the first to the last. */
static uint64_t walk(void) {
	uint64_t key, value[2], met = 0;
	DBT at = thing(&key, sizeof key), of = thing(value, sizeof value);
	DBC *cursor;
	int code;
	check(db->cursor(db, NULL, &cursor, 0), "cursor");
	while ((code = cursor->get(cursor, &at, &of, DB_NEXT)) == 0)
		met++;
	check(code == DB_NOTFOUND ? 0 : code, "cursor");
	check(cursor->close(cursor), "cursor");
	return met;
}

/* Whether a get finds every record, a cursor meets as many, and the library finds its tree whole. */
static int is_whole(const char *path) {
	uint64_t lost = 0, expected = 0, value[2];
	for (uint64_t number = 0; number < threads * puts_each; number++) {
		if (is_deleted(number / threads))
			continue;
		expected++;
		int code = get(NULL, number, value);
		if (code != DB_NOTFOUND)
			check(code, "get");
		if (code != 0 || value[0] != number || value[1] != ~number)
			lost++;
	}
	uint64_t met = walk();
	check(db->close(db, 0), "DB->close");
	check(env->close(env, 0), "DB_ENV->close");
	DB *file;
	check(db_create(&file, NULL, 0), "db_create");
	int verified = file->verify(file, path, NULL, NULL, 0);
	if (lost == 0 && met == expected && verified == 0)
		return 1;
	printf("run %lu: a get misses %lu of %lu records, a cursor meets %lu; DB->verify: %s\n",
	    run, lost, expected, met, verified == 0 ? "fine" : db_strerror(verified));
	return 0;
}

/* Removes what an earlier run left: the database and its logs. */
static void remove_files(const char *folder) {
	char path[4096];
	snprintf(path, sizeof path, "%s/" FILE_NAME, folder);
	unlink(path);
	for (int log = 1, is_there = 1; is_there; log++) {
		snprintf(path, sizeof path, "%s/log.%010d", folder, log);
		is_there = unlink(path) == 0;
	}
}

static int one_run(const char *folder) {
	pthread_t running[MAX_THREADS];
	char path[4096];
	remove_files(folder);
	open_all(folder);
	for (uintptr_t thread = 0; thread < threads; thread++)
		check(pthread_create(&running[thread], NULL, work, (void *)thread), "pthread_create");
	for (uint64_t thread = 0; thread < threads; thread++)
		pthread_join(running[thread], NULL);
	snprintf(path, sizeof path, "%s/" FILE_NAME, folder);
	return is_whole(path);
}

/* The settings after FOLDER; what is no number or option is refused. */
static int read_settings(int count, char **words) {
	uint64_t page = page_bytes, *const numbers[] = {&runs, &threads, &puts_each, &page};
	const char *const modes[] = {"overlapping", "turns", "guarded"};
	size_t known = 0;
	while (known < 3 && strcmp(words[0], modes[known]) != 0)
		known++;
	writers = (enum writers)known;
	for (int i = 1, nth = 0; i < count; i++) {
		char *rest;
		uint64_t number = strtoull(words[i], &rest, 10);
		if (*rest == '\0' && number > 0 && nth < 4)
			*numbers[nth++] = number;
		else if (strcmp(words[i], "deletes") == 0)
			has_deletes = 1;
		else if (strcmp(words[i], "batches") == 0)
			batch = 8;
		else if (strcmp(words[i], "hash") == 0)
			is_hash = 1;
		else
			return 0;
	}
	page_bytes = (uint32_t)page;
	puts_each -= puts_each % batch;
	return known < 3 && threads <= MAX_THREADS && puts_each > 0;
}

int main(int count, char **words) {
	uint64_t bad = 0;
	char folder[4000];
	if (count < 3 || !read_settings(count - 2, words + 2)) {
		fprintf(stderr, "usage: %s FOLDER overlapping|turns|guarded "
		    "[RUNS [THREADS [PUTS [PAGE_BYTES]]]] [deletes] [batches] [hash]\n", words[0]);
		return 2;
	}
	snprintf(folder, sizeof folder, "%s/run", words[1]);
	mkdir(folder, 0700);
	printf("%s\n", db_full_version(NULL, NULL, NULL, NULL, NULL));
	for (run = 1; run <= runs; run++) {
		bad += !one_run(folder);
		fflush(stdout);
	}
	remove_files(folder);
	rmdir(folder);
	printf("%s: %lu of %lu runs lost a record; a get or delete missed %lu while writers ran; "
	       "%lu transactions tried again\n", words[2], bad, runs, missed, deadlocks);
	return bad != 0;
}
