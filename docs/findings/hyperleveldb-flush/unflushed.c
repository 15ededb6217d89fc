/* Counts synchronous writes that return although no flush ended while they ran.
 *
 * Build: cc -O2 -pthread -rdynamic -o unflushed unflushed.c -ldl
 * Usage: unflushed FOLDER LIBRARY THREADS. The folder must not exist.
 *
 * The program's own fdatasync, fsync and msync count flushes as they end. A write with `sync` that
 * begins and returns between two of them was acknowledged before its data were flushed.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WRITES = 2000, VALUE_BYTES = 500 };

static atomic_long flushes;

static int counted(long result) {
    flushes++;
    return (int)result;
}
int fdatasync(int file) { return counted(syscall(SYS_fdatasync, file)); }
int fsync(int file) { return counted(syscall(SYS_fsync, file)); }
int msync(void *start, size_t length, int flags) {
    return counted(syscall(SYS_msync, start, length, flags));
}

static void *library, *database, *write_options;
static void (*put)(void *, void *, const char *, size_t, const char *, size_t, char **);
static atomic_long unflushed;

static void *function(const char *name) {
    void *found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return found;
}

static void stop_at(char *error) {
    if (error) {
        fprintf(stderr, "%s\n", error);
        exit(1);
    }
}

static void *write_records(void *argument) {
    char key[32], value[VALUE_BYTES], *error = NULL;
    memset(value, 'v', sizeof value);
    for (int number = 0; number < WRITES; number++) {
        int length = snprintf(key, sizeof key, "%ld-%06d", (long)argument, number);
        long before = flushes;
        put(database, write_options, key, (size_t)length, value, sizeof value, &error);
        unflushed += flushes == before;
        stop_at(error);
    }
    return NULL;
}

int main(int count, char **arguments) {
    if (count != 4) {
        fprintf(stderr, "usage: unflushed FOLDER LIBRARY THREADS\n");
        return 2;
    }
    long threads = atol(arguments[3]);
    pthread_t ids[64];
    if (threads < 1 || threads > 64) {
        fprintf(stderr, "THREADS is from 1 to 64\n");
        return 2;
    }
    library = dlopen(arguments[2], RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    put = (void (*)(void *, void *, const char *, size_t, const char *, size_t, char **))
        function("leveldb_put");
    void *options = ((void *(*)(void))function("leveldb_options_create"))();
    ((void (*)(void *, unsigned char))function("leveldb_options_set_create_if_missing"))(options, 1);
    write_options = ((void *(*)(void))function("leveldb_writeoptions_create"))();
    ((void (*)(void *, unsigned char))function("leveldb_writeoptions_set_sync"))(write_options, 1);
    char *error = NULL;
    database = ((void *(*)(void *, const char *, char **))function("leveldb_open"))(
        options, arguments[1], &error);
    stop_at(error);
    for (long thread = 0; thread < threads; thread++)
        pthread_create(&ids[thread], NULL, write_records, (void *)thread);
    for (long thread = 0; thread < threads; thread++)
        pthread_join(ids[thread], NULL);
    printf("%ld of %ld synchronous writes returned, and no flush had ended while they ran\n",
           unflushed, threads * WRITES);
    fflush(stdout);
    _exit(0);
}
