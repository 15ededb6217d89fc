/* The read test of LMDB's own benchmark, bare: uniform look-ups by one thread, a fresh read
 * transaction each, the first byte of the value touched.
 *
 *   lmdb_readrandom FOLDER RECORDS READS [timed]
 *
 * It fills the folder as that benchmark does (in order, a thousand records to a transaction,
 * MDB_APPEND, nothing flushed) and prints CPU nanoseconds per look-up. With `timed` it also does what
 * that benchmark does with --histogram=1: it reads the clock after each look-up and counts the time
 * in a histogram.
 */
#include <lmdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { KEY_BYTES = 16, VALUE_BYTES = 100, BATCH = 1000 };

static void check(int code, const char *what) {
  if (code != 0) {
    fprintf(stderr, "%s: %s\n", what, mdb_strerror(code));
    exit(1);
  }
}

static double cpu_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec * 1e9 + now.tv_nsec;
}

/* xorshift64*, by Marsaglia and Vigna. */
static uint64_t random_next(uint64_t *state) {
  *state ^= *state >> 12;
  *state ^= *state << 25;
  *state ^= *state >> 27;
  return *state * 0x2545F4914F6CDD1Dull;
}

static void write_key(char *key, uint64_t number) {
  static const char digits[] = "0123456789abcdef";
  for (int place = KEY_BYTES - 1; place >= 0; place--) {
    key[place] = digits[number & 15];
    number >>= 4;
  }
}

static void fill(MDB_env *env, MDB_dbi dbi, uint64_t records) {
  char key_bytes[KEY_BYTES], value_bytes[VALUE_BYTES];
  memset(value_bytes, 'x', sizeof value_bytes);
  for (uint64_t first = 0; first < records; first += BATCH) {
    MDB_txn *txn;
    check(mdb_txn_begin(env, NULL, 0, &txn), "begin");
    for (uint64_t record = first; record < first + BATCH && record < records; record++) {
      write_key(key_bytes, record);
      MDB_val key = {sizeof key_bytes, key_bytes}, value = {sizeof value_bytes, value_bytes};
      check(mdb_put(txn, dbi, &key, &value, MDB_APPEND), "put");
    }
    check(mdb_txn_commit(txn), "commit");
  }
}

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000ull + now.tv_nsec;
}

int main(int count, char **arguments) {
  int timed = count == 5 && strcmp(arguments[4], "timed") == 0;
  if (count != 4 && !timed) {
    fprintf(stderr, "usage: lmdb_readrandom FOLDER RECORDS READS [timed]\n");
    return 2;
  }
  uint64_t records = strtoull(arguments[2], NULL, 10), reads = strtoull(arguments[3], NULL, 10);
  MDB_env *env;
  MDB_txn *txn;
  MDB_dbi dbi;
  check(mdb_env_create(&env), "create");
  check(mdb_env_set_mapsize(env, (size_t)64 << 30), "map size");
  check(mdb_env_open(env, arguments[1], MDB_NOSYNC | MDB_WRITEMAP, 0644), "open");
  check(mdb_txn_begin(env, NULL, 0, &txn), "begin");
  check(mdb_dbi_open(txn, NULL, 0, &dbi), "table");
  check(mdb_txn_commit(txn), "commit");
  fill(env, dbi, records);
  uint64_t state = 88172645463325252ull, touched = 0;
  char key_bytes[KEY_BYTES];
  static uint64_t histogram[64 * 16];
  double before = cpu_ns();
  uint64_t last = now_ns();
  check(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn), "begin");
  for (uint64_t read = 0; read < reads; read++) {
    write_key(key_bytes, (uint64_t)(((unsigned __int128)random_next(&state) * records) >> 64));
    MDB_val key = {sizeof key_bytes, key_bytes}, value;
    check(mdb_get(txn, dbi, &key, &value), "get");
    touched += *(unsigned char *)value.mv_data;
    mdb_txn_reset(txn);
    check(mdb_txn_renew(txn), "renew");
    if (timed) {
      uint64_t now = now_ns(), took = now - last | 16;
      int top = 63 - __builtin_clzll(took);
      histogram[top * 16 + (took >> (top - 4) & 15)]++;
      last = now;
    }
  }
  mdb_txn_abort(txn);
  printf("%.1f\n", (cpu_ns() - before) / reads);
  mdb_env_close(env);
  return touched == 0;
}
