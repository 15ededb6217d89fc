/* Opens a WiredTiger database of which a page of a log was lost, and nothing after it.
 *
 * Build: cc -O2 -o lost_page lost_page.c -lwiredtiger
 * Usage: lost_page FOLDER TRANSACTION_SYNC. The folder must not exist.
 *
 * Commits without flushes until a new log begins, and copies the database. In a copy it puts zeros
 * where a page of a log had not reached the disk, and opens it.
 * The log keeps its header and its length: WiredTiger flushes both before it gives a log its name.
 * It flushes the records of the log before later, in a thread of its own.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wiredtiger.h>

enum { HEADER_BYTES = 128, PAGE_BYTES = 4096, VALUE_BYTES = 5000, LOGS = 4 };

static const char *transaction_sync;

static void check(int code, const char *what) {
    if (code) {
        fprintf(stderr, "%s: %s\n", what, wiredtiger_strerror(code));
        exit(1);
    }
}

static int ignore_error(WT_EVENT_HANDLER *handler, WT_SESSION *session, int code,
                        const char *text) {
    (void)handler, (void)session, (void)code, (void)text;
    return 0;
}

static int ignore(WT_EVENT_HANDLER *handler, WT_SESSION *session, const char *text) {
    (void)handler, (void)session, (void)text;
    return 0;
}

static WT_EVENT_HANDLER events = {.handle_error = ignore_error, .handle_message = ignore};

static WT_CONNECTION *open_database(const char *folder, const char *more, int *code) {
    char configuration[256];
    snprintf(configuration, sizeof configuration,
             "create,log=(enabled,file_max=100KB),transaction_sync=(%s)%s", transaction_sync, more);
    WT_CONNECTION *connection = NULL;
    *code = wiredtiger_open(folder, &events, configuration, &connection);
    return connection;
}

/* Writes the name of the newest log, and returns its number. */
static int newest_log(const char *folder, char *name) {
    int newest = 0, number;
    DIR *opened = opendir(folder);
    for (struct dirent *entry; (entry = readdir(opened));)
        if (sscanf(entry->d_name, "WiredTigerLog.%d", &number) == 1 && number > newest)
            newest = number;
    closedir(opened);
    sprintf(name, "WiredTigerLog.%010d", newest);
    return newest;
}

static int commit_until_new_log(const char *folder, WT_SESSION *session) {
    char key[32], value[VALUE_BYTES], name[64];
    check(session->create(session, "table:record", "key_format=S,value_format=u"), "create");
    WT_CURSOR *cursor;
    check(session->open_cursor(session, "table:record", NULL, NULL, &cursor), "cursor");
    for (int commits = 0;; commits++) {
        if (newest_log(folder, name) == LOGS)
            return commits;
        snprintf(key, sizeof key, "%08d", commits);
        cursor->set_key(cursor, key);
        for (int byte = 0; byte < VALUE_BYTES; byte++)
            value[byte] = (char)rand();
        WT_ITEM item = {.data = value, .size = VALUE_BYTES};
        cursor->set_value(cursor, &item);
        check(cursor->insert(cursor), "insert");
    }
}

static void open_copy(const char *words, const char *folder, const char *more, int commits) {
    printf("%s:\n", words);
    int code, found = 0;
    WT_CONNECTION *connection = open_database(folder, more, &code);
    if (code) {
        printf("    does not open: %s\n", wiredtiger_strerror(code));
        return;
    }
    WT_SESSION *session;
    WT_CURSOR *cursor;
    check(connection->open_session(connection, NULL, NULL, &session), "session");
    check(session->open_cursor(session, "table:record", NULL, NULL, &cursor), "cursor");
    while (cursor->next(cursor) == 0)
        found++;
    printf("    opens with %d of %d commits\n", found, commits);
    check(connection->close(connection, NULL), "close");
}

/* Puts zeros into a file from one offset to another. */
static void lose(const char *folder, const char *name, long from, long to) {
    static const char zeros[PAGE_BYTES];
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *log = fopen(path, "r+");
    check(!log || fseek(log, from, SEEK_SET), path);
    check(fwrite(zeros, (size_t)(to - from), 1, log) != 1 || fclose(log), path);
}

int main(int count, char **arguments) {
    if (count != 3 || mkdir(arguments[1], 0755) || chdir(arguments[1]) || mkdir("live", 0755)) {
        fprintf(stderr, "usage: lost_page FOLDER TRANSACTION_SYNC; FOLDER must not exist\n");
        return 2;
    }
    transaction_sync = arguments[2];
    int code, major, minor, patch;
    wiredtiger_version(&major, &minor, &patch);
    WT_CONNECTION *connection = open_database("live", "", &code);
    check(code, "open");
    WT_SESSION *session;
    check(connection->open_session(connection, NULL, NULL, &session), "session");
    int commits = commit_until_new_log("live", session);
    char name[64], before[64];
    int number = newest_log("live", name);
    // WiredTiger renames logs meanwhile that it makes in advance; they do not matter here.
    check(system("cp -r live whole 2> errors;"
                 "for copy in first inner salvaged; do cp -r whole $copy; done"),
          "cp");
    snprintf(before, sizeof before, "WiredTigerLog.%010d", number - 1);
    printf("WiredTiger %d.%d.%d: %d commits, %d logs\n", major, minor, patch, commits, number);
    fflush(stdout);
    open_copy("everything is there", "whole", "", commits);
    lose("first", before, HEADER_BYTES, PAGE_BYTES);
    open_copy("the first page of the log before lacks its records", "first", "", commits);
    lose("inner", before, 2 * PAGE_BYTES, 3 * PAGE_BYTES);
    open_copy("the third page of the log before is lost", "inner", "", commits);
    lose("salvaged", before, HEADER_BYTES, PAGE_BYTES);
    open_copy("the first page again, opened with salvage=true", "salvaged", ",salvage=true",
              commits);
    return 0;
}
