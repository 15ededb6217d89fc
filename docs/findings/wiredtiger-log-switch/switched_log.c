/* Counts commits that WiredTiger acknowledges although no flush covers their log records.
 *
 * Build: cc -O2 -pthread -rdynamic -o switched_log switched_log.c -lwiredtiger
 * Usage: switched_log FOLDER THREADS METHOD. The folder must exist and be empty; METHOD is fsync or
 * dsync.
 *
 * The database is opened with transaction_sync=(enabled,method=METHOD). The program's own pwrite
 * notes in which file the record of a commit is, and its own fsync and fdatasync note how far each
 * file is flushed. What goes through O_DSYNC is flushed when its write returns. At the first commit
 * that is not flushed when it returns, all writes and flushes wait, and the program copies the
 * database. In the copy it puts zeros where this file was written and not flushed, opens the copy,
 * and looks for the commit.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <wiredtiger.h>

enum { COMMITS = 3000, FILES = 4096, MAX_THREADS = 16, WRITES = 256, VALUE_BYTES = 600 };

/* What was written to a file and not flushed. */
struct file {
    ino_t inode;
    long flushed; /* the number of the last write that a flush covers */
    int count;
    struct { long number; off_t offset; size_t length; } writes[WRITES];
};

static struct file files[FILES];
static int known_files;
static long last_write;
static struct { struct file *file; long number; } records[MAX_THREADS][COMMITS];
/* Guards what is above. */
static pthread_mutex_t notes = PTHREAD_MUTEX_INITIALIZER;
/* Writes and flushes hold it for reading, the copy for writing. */
static pthread_rwlock_t storage = PTHREAD_RWLOCK_INITIALIZER;

static WT_CONNECTION *connection;
static const char *folder;
static atomic_long unflushed;
static atomic_bool is_copied;

static struct file *file_of(int descriptor) {
    struct stat status;
    if (fstat(descriptor, &status) || !S_ISREG(status.st_mode))
        return NULL;
    for (int index = 0; index < known_files; index++)
        if (files[index].inode == status.st_ino)
            return &files[index];
    if (known_files == FILES) {
        fprintf(stderr, "more than %d files\n", FILES);
        _exit(1);
    }
    files[known_files].inode = status.st_ino;
    return &files[known_files++];
}

/* Notes the records that a write has in it: each ends with "<THREAD.NUMBER>". */
static void note_records(struct file *file, const char *data, size_t length) {
    int thread, number;
    const char *end = data + length, *at = data;
    while ((at = memmem(at, (size_t)(end - at), "<commit ", 8))) {
        char text[32] = {0};
        size_t left = (size_t)(end - at);
        memcpy(text, at, left < 31 ? left : 31);
        if (sscanf(text, "<commit %2d.%6d>", &thread, &number) == 2 && thread < MAX_THREADS &&
            number < COMMITS) {
            records[thread][number].file = file;
            records[thread][number].number = last_write;
        }
        at += 8;
    }
}

static void note_flush(struct file *file, long until) {
    pthread_mutex_lock(&notes);
    if (file->flushed < until)
        file->flushed = until;
    pthread_mutex_unlock(&notes);
}

ssize_t pwrite(int descriptor, const void *data, size_t length, off_t offset) {
    pthread_rwlock_rdlock(&storage);
    pthread_mutex_lock(&notes);
    struct file *file = file_of(descriptor);
    last_write++;
    if (file) {
        if (file->count == WRITES)
            memmove(file->writes, file->writes + 1, sizeof file->writes[0] * --file->count);
        file->writes[file->count].number = last_write;
        file->writes[file->count].offset = offset;
        file->writes[file->count++].length = length;
        note_records(file, data, length);
    }
    long number = last_write;
    pthread_mutex_unlock(&notes);
    ssize_t result = syscall(SYS_pwrite64, descriptor, data, length, offset);
    if (file && fcntl(descriptor, F_GETFL) & O_DSYNC)
        note_flush(file, number);
    pthread_rwlock_unlock(&storage);
    return result;
}
ssize_t pwrite64(int descriptor, const void *data, size_t length, off_t offset) {
    return pwrite(descriptor, data, length, offset);
}

static int flush(long call, int descriptor) {
    pthread_rwlock_rdlock(&storage);
    pthread_mutex_lock(&notes);
    struct file *file = file_of(descriptor);
    long until = last_write;
    pthread_mutex_unlock(&notes);
    int result = (int)syscall(call, descriptor);
    if (file && result == 0)
        note_flush(file, until);
    pthread_rwlock_unlock(&storage);
    return result;
}
int fsync(int descriptor) { return flush(SYS_fsync, descriptor); }
int fdatasync(int descriptor) { return flush(SYS_fdatasync, descriptor); }

static void check(int code, const char *what) {
    if (code) {
        fprintf(stderr, "%s: %s\n", what, wiredtiger_strerror(code));
        _exit(1);
    }
}

static void run(const char *command) {
    if (system(command)) {
        fprintf(stderr, "%s\n", command);
        _exit(1);
    }
}

/* Looks for a commit in a copy of the database without what was not flushed of a file. */
static void look_for(struct file *file, const char *key) {
    char copy[512], command[2048], path[1024], name[256] = {0}, self[512] = {0};
    snprintf(copy, sizeof copy, "%.500s.copy", folder);
    snprintf(command, sizeof command, "rm -rf '%s' && cp -a '%.500s' '%s'", copy, folder, copy);
    run(command);
    snprintf(command, sizeof command, "find '%.500s' -inum %lu -printf %%f", folder,
             (unsigned long)file->inode);
    FILE *found = popen(command, "r");
    if (!found || !fgets(name, sizeof name, found)) {
        fprintf(stderr, "no file with inode %lu\n", (unsigned long)file->inode);
        _exit(1);
    }
    pclose(found);
    snprintf(path, sizeof path, "%s/%s", copy, name);
    int opened = open(path, O_WRONLY);
    size_t lost = 0;
    for (int index = 0; index < file->count; index++) {
        if (file->writes[index].number <= file->flushed)
            continue;
        size_t length = file->writes[index].length;
        char *zeros = calloc(1, length);
        off_t offset = file->writes[index].offset;
        if (syscall(SYS_pwrite64, opened, zeros, length, offset) < 0)
            perror(path);
        free(zeros);
        lost += length;
    }
    close(opened);
    printf("commit %s returned; its record is in %s\n", key, name);
    printf("%zu bytes of this file are not flushed\n", lost);
    fflush(stdout);
    /* The copy is opened by a process of its own: one process opens a database once. */
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
        perror("/proc/self/exe");
    snprintf(command, sizeof command, "'%s' --open '%s' '%s'", self, copy, key);
    run(command);
}

static int open_copy(const char *copy, const char *key) {
    WT_SESSION *session;
    WT_CURSOR *cursor;
    check(wiredtiger_open(copy, NULL, "log=(enabled)", &connection), "the copy");
    check(connection->open_session(connection, NULL, NULL, &session), "session");
    check(session->open_cursor(session, "table:record", NULL, NULL, &cursor), "cursor");
    cursor->set_key(cursor, key);
    int code = cursor->search(cursor);
    printf("a copy without these bytes opens; the commit is %s\n",
           code == 0 ? "there" : code == WT_NOTFOUND ? "missing" : wiredtiger_strerror(code));
    fflush(stdout);
    _exit(0);
}

static void judge(int thread, int number, const char *key) {
    pthread_mutex_lock(&notes);
    struct file *file = records[thread][number].file;
    bool is_lost = file && file->flushed < records[thread][number].number;
    pthread_mutex_unlock(&notes);
    if (!is_lost)
        return;
    unflushed++;
    pthread_rwlock_wrlock(&storage);
    /* A flush may have ended meanwhile. */
    if (file->flushed < records[thread][number].number && !atomic_exchange(&is_copied, true))
        look_for(file, key);
    pthread_rwlock_unlock(&storage);
}

static void *commit_records(void *argument) {
    int thread = (int)(long)argument;
    char key[32], value[VALUE_BYTES];
    WT_SESSION *session;
    WT_CURSOR *cursor;
    check(connection->open_session(connection, NULL, NULL, &session), "session");
    check(session->open_cursor(session, "table:record", NULL, NULL, &cursor), "cursor");
    for (int number = 0; number < COMMITS; number++) {
        snprintf(key, sizeof key, "%02d.%06d", thread, number);
        memset(value, 'v', sizeof value);
        snprintf(value + sizeof value - 24, 24, "<commit %02d.%06d>", thread, number);
        check(session->begin_transaction(session, NULL), "begin");
        cursor->set_key(cursor, key);
        cursor->set_value(cursor, value);
        check(cursor->insert(cursor), "insert");
        check(session->commit_transaction(session, NULL), "commit");
        judge(thread, number, key);
    }
    return NULL;
}

int main(int count, char **arguments) {
    if (count == 4 && !strcmp(arguments[1], "--open"))
        return open_copy(arguments[2], arguments[3]);
    int threads = count == 4 ? atoi(arguments[2]) : 0;
    if (threads < 1 || threads > MAX_THREADS) {
        fprintf(stderr, "usage: switched_log FOLDER THREADS METHOD (1 to %d threads)\n",
                MAX_THREADS);
        return 2;
    }
    folder = arguments[1];
    int major, minor, patch;
    printf("%s\n", wiredtiger_version(&major, &minor, &patch));
    char configuration[256];
    snprintf(configuration, sizeof configuration,
             "create,log=(enabled,file_max=100KB),transaction_sync=(enabled,method=%s)",
             arguments[3]);
    check(wiredtiger_open(folder, NULL, configuration, &connection), "open");
    WT_SESSION *session;
    check(connection->open_session(connection, NULL, NULL, &session), "session");
    check(session->create(session, "table:record", "key_format=S,value_format=S"), "create");
    pthread_t ids[MAX_THREADS];
    for (long thread = 0; thread < threads; thread++)
        pthread_create(&ids[thread], NULL, commit_records, (void *)thread);
    for (long thread = 0; thread < threads; thread++)
        pthread_join(ids[thread], NULL);
    printf("%ld of %d commits returned before their log records were flushed\n", unflushed,
           threads * COMMITS);
    fflush(stdout);
    _exit(0);
}
