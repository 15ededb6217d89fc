/*
 * The loops as a C programmer would write them over an engine's own API: no clock, no histogram, no
 * contract. An engine's file includes this and writes the functions declared below; the records,
 * the keys' order and the transactions are those of bench/harness/src/{keys,harness}.rs.
 *
 *   PROGRAM get|get-each|put|put-each FOLDER OPERATIONS
 *
 * prints the calling thread's CPU nanoseconds per operation.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define RECORDS 1000000
#define BATCH 1000
#define KEY_BYTES 8
#define VALUE_BYTES 100

/* With the settings of trueput's driver, at the level that bench/harness/src/engines.rs names. */
static void database_open(const char *folder);
static void database_close(void);
static void read_begin(void);
static void read_end(void);
/* Finds the value and shows it to `take`. */
static void get(const uint8_t *key);
static void write_begin(void);
static void put(const uint8_t *key, const uint8_t *value);
static void write_commit(void);

static void fail(const char *what, const char *why) {
	fprintf(stderr, "%s: %s\n", what, why);
	exit(1);
}

static void take(const void *value, size_t bytes) {
	if (bytes != VALUE_BYTES)
		fail("get", "a value of the wrong length");
	(void)*(const volatile uint8_t *)value;
}

/* SplitMix64's finaliser (Steele, Lea and Flood, 2014), big-endian. */
static void make_key(uint64_t index, uint8_t *key) {
	uint64_t z = index * 0x9E3779B97F4A7C15;
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
	z = __builtin_bswap64((z ^ (z >> 31)) % RECORDS);
	memcpy(key, &z, KEY_BYTES);
}

static void run(const char *what, uint64_t operations) {
	uint8_t key[KEY_BYTES], value[VALUE_BYTES];
	memset(value, 'v', sizeof value);
	if (strcmp(what, "get") == 0) {
		read_begin();
		for (uint64_t index = 0; index < operations; index++) {
			make_key(index, key);
			get(key);
		}
		read_end();
	} else if (strcmp(what, "get-each") == 0) {
		for (uint64_t index = 0; index < operations; index++) {
			make_key(index, key);
			read_begin();
			get(key);
			read_end();
		}
	} else if (strcmp(what, "put") == 0) {
		for (uint64_t batch = 0; batch < operations / BATCH; batch++) {
			write_begin();
			for (uint64_t index = batch * BATCH; index < (batch + 1) * BATCH; index++) {
				make_key(index, key);
				put(key, value);
			}
			write_commit();
		}
	} else if (strcmp(what, "put-each") == 0) {
		for (uint64_t index = 0; index < operations; index++) {
			make_key(index, key);
			write_begin();
			put(key, value);
			write_commit();
		}
	} else {
		fail("no loop of that name", what);
	}
}

static double cpu_ns(void) {
	struct rusage usage;
	if (getrusage(RUSAGE_THREAD, &usage) != 0)
		fail("getrusage", "failed");
	return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e9 +
	    (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e3;
}

int main(int count, char **arguments) {
	if (count != 4)
		fail("usage", "PROGRAM get|get-each|put|put-each FOLDER OPERATIONS");
	uint64_t operations = strtoull(arguments[3], NULL, 10);
	database_open(arguments[2]);
	double before = cpu_ns();
	run(arguments[1], operations);
	double after = cpu_ns();
	database_close();
	printf("%.3f\n", (after - before) / (double)operations);
	return 0;
}
