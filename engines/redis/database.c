/* Redis as a plug-in of trueput: a private server, with its append-only file in the database's
 * folder. session.c says how records and transactions are kept in it. */
#define _GNU_SOURCE
#include "engine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

TP_DESCRIPTION_FILE("description.json");

#define MANIFEST "appendonlydir/appendonly.aof.manifest"
#define LOCK_LIMIT_MS 3000 /* children of a killed server end within a second or so */
#define ANSWER_LIMIT_MS 60000
#define LOAD_LIMIT_MS (30 * 60000)
#define STOP_LIMIT_MS (5 * 60000)
#define CHECKPOINT_LIMIT_MS (5 * 60000)
#define SERIES "7.0." /* of the server that the description is about */

/* ---- The server's arguments. ---- */

typedef struct {
    char *list[64];
    size_t count;
    char text[8192];
    size_t size;
} arguments;

static void add_argument(arguments *to, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add_argument(arguments *to, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    char *argument = to->text + to->size;
    to->list[to->count++] = argument;
    to->size += (size_t)vsnprintf(argument, sizeof to->text - to->size, format, values) + 1;
    va_end(values);
}

/* A knob has the name of the option, with underscores. */
static void add_knob(arguments *to, const tp_value *knob)
{
    char *option = to->text + to->size;
    add_argument(to, "--%.*s", (int)knob->name.size, (const char *)knob->name.data);
    for (; *option != '\0'; option++) {
        *option = *option == '_' ? '-' : *option;
    }
    if (knob->kind == TP_BOOLEAN) {
        add_argument(to, "%s", knob->integer ? "yes" : "no");
    } else {
        add_argument(to, "%lld", (long long)knob->integer);
    }
}

/* The policy of flushes; NULL: there is no such level. */
static const char *policy_of(uint32_t durability)
{
    switch (durability) {
    case TP_SYNC:
        return "always";
    case TP_BUFFERED:
        return "everysec";
    case TP_PROCESS:
        return "no";
    default:
        return NULL;
    }
}

static void fill_arguments(arguments *to, const tp_open *open)
{
    static const char *const fixed[] = {
        "--port", "0", "--unixsocket", SOCKET_NAME, "--unixsocketperm", "700", "--save", "",
        "--appendonly", "yes", "--aof-load-truncated", "no", "--daemonize", "no",
        "--maxmemory-policy", "noeviction", "--databases", "1",
    };
    const tp_value *program = tp_knob(open, "server");
    size_t size = program->text.size < PATH_MAX ? program->text.size : PATH_MAX;
    add_argument(to, "%.*s", (int)size, (const char *)program->text.data);
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++) {
        add_argument(to, "%s", fixed[i]);
    }
    add_argument(to, "--appendfsync");
    add_argument(to, "%s", policy_of(open->durability));
    add_argument(to, "--maxclients");
    add_argument(to, "%u", open->sessions + 64); /* closed connections linger for a moment */
    for (uint32_t i = 0; i < open->knob_count; i++) {
        if (open->knobs[i]->kind != TP_TEXT) {
            add_knob(to, open->knobs[i]);
        }
    }
}

/* ---- The database. ---- */

static void pause_ms(long ms)
{
    struct timespec time = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&time, NULL);
}

/* Whether the time since then is more than the limit. */
static int is_over(const struct timespec *since, long limit_ms)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - since->tv_sec) * 1000 > limit_ms;
}

/* Opens and locks the folder. A killed server and its children keep the lock until they end. */
static tp_status lock_folder(int *folder, const tp_open *open_as, tp_error *error)
{
    char *path = strndup(open_as->directory.data, open_as->directory.size);
    *folder = path == NULL ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(path);
    if (*folder < 0) {
        return tp_fail(error, TP_ENGINE, errno, "cannot open the folder");
    }
    for (int waited = 0; flock(*folder, LOCK_EX | LOCK_NB) != 0; waited += 10) {
        if (errno != EWOULDBLOCK || waited >= LOCK_LIMIT_MS) {
            return tp_fail(error, TP_UNSUPPORTED, errno, "the database is open already");
        }
        pause_ms(10);
    }
    return TP_OK;
}

/* Asks the server once: TP_OK if it is ready, TP_CONFLICT if it reads its file, else an error. */
static tp_status ping(const tp_database *database)
{
    struct timeval second = {1, 0};
    tp_error error = {0};
    connection one;
    reply pong;
    tp_status status = client_open(&one, database->server, database->folder, &error);
    if (status != TP_OK) {
        return status;
    }
    setsockopt(one.socket, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second);
    client_command(&one, 1, "PING");
    status = client_send(&one);
    status = status == TP_OK ? client_read(&one, &pong) : status;
    client_close(&one);
    int is_loading = error.text_size > 7 && memcmp(error.text, "LOADING", 7) == 0;
    return is_loading ? TP_CONFLICT : status;
}

static tp_status wait_until_ready(tp_database *database, tp_error *error)
{
    struct timespec began;
    int is_loading = 0;
    clock_gettime(CLOCK_MONOTONIC, &began);
    for (;;) {
        tp_status status = ping(database);
        if (status == TP_OK) {
            return TP_OK;
        }
        is_loading |= status == TP_CONFLICT;
        if (process_has_ended(database->server, 2)) {
            return process_fail(database->server, error, "the server ended as it started");
        }
        if (is_over(&began, is_loading ? LOAD_LIMIT_MS : ANSWER_LIMIT_MS)) {
            return process_fail(database->server, error, "the server does not get ready");
        }
    }
}

/* Runs redis-check-aof on the file: the server's program has it, too. With --fix it cuts the file
 * after the last whole command or transaction. */
static tp_status check_aof(const char *program, int folder, int is_repair, tp_error *error)
{
    char *to_check[] = {"redis-check-aof", MANIFEST, NULL};
    char *to_repair[] = {"redis-check-aof", "--fix", MANIFEST, NULL};
    if (faccessat(folder, MANIFEST, F_OK, 0) != 0) {
        return TP_OK;
    }
    process *check = process_start(program, is_repair ? to_repair : to_check, "y\n", folder);
    if (check == NULL) {
        return tp_fail(error, TP_ENGINE, errno, "cannot start redis-check-aof");
    }
    return process_end(check, LOAD_LIMIT_MS, error);
}

/* Starts the server and waits until it is ready. `*asks_for_repair`: its file is damaged. */
static tp_status start_once(tp_database *database, arguments *given, int *asks_for_repair,
                            tp_error *error)
{
    tp_error ignored = {0};
    database->server = process_start(given->list[0], given->list, "", database->folder);
    if (database->server == NULL) {
        return tp_fail(error, TP_ENGINE, errno, "cannot start a thread for the server");
    }
    tp_status status = wait_until_ready(database, error);
    if (status != TP_OK) {
        *asks_for_repair = process_asks_for_repair(database->server);
        process_end(database->server, 0, &ignored);
    }
    return status;
}

/* Starts the server. A crash can leave a part of a write at the end of its file. The server refuses
 * that (aof-load-truncated=no) until redis-check-aof has removed it, as redis.conf says. It would
 * also cut the file itself, but after any command, and so leaves a MULTI without its EXEC. */
static tp_status start(tp_database *database, const tp_open *open, tp_error *error)
{
    arguments given = {0};
    int asks_for_repair = 0;
    fill_arguments(&given, open);
    tp_status status = start_once(database, &given, &asks_for_repair, error);
    if (status != TP_OK && asks_for_repair) {
        error->text_size = 0;
        status = check_aof(given.list[0], database->folder, 1, error);
        status = status == TP_OK ? start_once(database, &given, &asks_for_repair, error) : status;
    }
    return status;
}

/* Asks for a section of INFO; the answer's text is at `*text`. */
static tp_status ask_info(connection *control, const char *section, const char **text)
{
    reply head = {0};
    size_t at = 0;
    client_begin(control);
    client_command(control, 2, "INFO");
    client_word(control, section, strlen(section));
    tp_status status = client_send(control);
    status = status == TP_OK ? client_read(control, &head) : status;
    status = status == TP_OK ? client_read_bytes(control, (size_t)head.value, &at) : status;
    if (status == TP_OK) {
        control->in.bytes[at + (size_t)head.value] = '\0';
        *text = control->in.bytes + at;
    }
    return status;
}

/* The value of a line `name:value`; NULL if there is none. */
static const char *line_of(const char *text, const char *name)
{
    size_t size = strlen(name);
    for (const char *at = strstr(text, name); at != NULL; at = strstr(at + 1, name)) {
        if ((at == text || at[-1] == '\n') && at[size] == ':') {
            return at + size + 1;
        }
    }
    return NULL;
}

static int is_line(const char *text, const char *name, const char *value)
{
    const char *found = line_of(text, name);
    return found != NULL && strncmp(found, value, strlen(value)) == 0;
}

/* Says so if the server is not of the series that the description is about. */
static tp_status check_series(connection *control)
{
    const char *text = NULL;
    tp_status status = ask_info(control, "server", &text);
    if (status == TP_OK && !is_line(text, "redis_version", SERIES)) {
        const char *version = line_of(text, "redis_version");
        version = version != NULL ? version : "unknown";
        fprintf(stderr,
                "redis: the server's redis_version is %.*s; the description's levels, and what "
                "audits found, are those of Redis " SERIES "x\n",
                (int)strcspn(version, "\r\n"), version);
    }
    return status;
}

/* Opens the database's own connection, and makes the entries of its folder durable: the server
 * flushes the folder of its file, but not the one above. */
static tp_status connect_control(tp_database *database, tp_error *error)
{
    tp_error ignored = {0};
    tp_status status = client_open(&database->control, database->server, database->folder, error);
    if (status == TP_OK) {
        status = check_series(&database->control);
        if (status == TP_OK && fsync(database->folder) != 0) {
            status = tp_fail(error, TP_ENGINE, errno, "cannot flush the folder");
        }
        if (status != TP_OK) {
            client_close(&database->control);
        }
    }
    if (status != TP_OK) {
        process_end(database->server, 0, &ignored);
    }
    return status;
}

static tp_status database_open(const tp_open *open, tp_database **opened, tp_error *error)
{
    if (policy_of(open->durability) == NULL) {
        return tp_fail(error, TP_UNSUPPORTED, 0, "no such level of durability");
    }
    tp_database *database = calloc(1, sizeof *database);
    if (database == NULL) {
        return tp_fail(error, TP_ENGINE, errno, "no memory");
    }
    database->policy = policy_of(open->durability);
    pthread_mutex_init(&database->control_lock, NULL);
    tp_status status = lock_folder(&database->folder, open, error);
    status = status == TP_OK ? start(database, open, error) : status;
    status = status == TP_OK ? connect_control(database, error) : status;
    if (status != TP_OK) {
        if (database->folder >= 0) {
            close(database->folder);
        }
        pthread_mutex_destroy(&database->control_lock);
        free(database);
        return status;
    }
    *opened = database;
    return TP_OK;
}

static tp_status database_check_files(const tp_open *open, tp_error *error)
{
    arguments given = {0};
    int folder;
    fill_arguments(&given, open);
    tp_status status = lock_folder(&folder, open, error);
    status = status == TP_OK ? check_aof(given.list[0], folder, 0, error) : status;
    if (folder >= 0) {
        close(folder);
    }
    return status;
}

/* Begins a call on the control connection; its lock is held until it ends. */
static connection *begin_control(tp_database *database, tp_error *error)
{
    pthread_mutex_lock(&database->control_lock);
    connection *control = &database->control;
    control->error = error;
    client_begin(control);
    return control;
}

static void end_control(tp_database *database)
{
    pthread_mutex_unlock(&database->control_lock);
}

static tp_status database_close(tp_database *database, tp_error *error)
{
    tp_error lost = {0}; /* the connection, if all goes well */
    connection *control = begin_control(database, &lost);
    client_command(control, 2, "SHUTDOWN");
    client_word(control, "NOSAVE", 6);
    tp_status status = client_send(control);
    int has_refused = status == TP_OK && client_skip(control) != TP_OK && !control->is_broken;
    end_control(database);
    client_close(control);
    if (has_refused) {
        *error = lost;
        tp_error ignored = {0};
        process_end(database->server, 0, &ignored);
        status = TP_ENGINE;
    } else {
        status = process_end(database->server, STOP_LIMIT_MS, error);
    }
    close(database->folder);
    pthread_mutex_destroy(&database->control_lock);
    free(database);
    return status;
}

static tp_status set_policy(connection *control, const char *policy)
{
    client_begin(control);
    client_command(control, 4, "CONFIG");
    client_word(control, "SET", 3);
    client_word(control, "appendfsync", 11);
    client_word(control, policy, strlen(policy));
    tp_status status = client_send(control);
    return status == TP_OK ? client_skip(control) : status;
}

/* The server flushes what it has written when its policy becomes `always`, before it replies. It
 * does not while a flush in the background is under way, nor, with no-appendfsync-on-rewrite, while
 * a rewrite is, which also flushes older files in the background: both are awaited. After them it
 * flushes before its next reply, that to INFO. */
static tp_status database_checkpoint(tp_database *database, tp_error *error)
{
    const char *text = NULL;
    struct timespec began;
    connection *control = begin_control(database, error);
    tp_status status = set_policy(control, "always");
    clock_gettime(CLOCK_MONOTONIC, &began);
    while (status == TP_OK && (status = ask_info(control, "persistence", &text)) == TP_OK &&
           !(is_line(text, "aof_pending_bio_fsync", "0") &&
             is_line(text, "aof_rewrite_in_progress", "0"))) {
        if (is_over(&began, CHECKPOINT_LIMIT_MS)) {
            status = process_fail(database->server, error, "a flush or a rewrite does not end");
        } else {
            pause_ms(1);
        }
    }
    if (status == TP_OK && !is_line(text, "aof_last_write_status", "ok")) {
        status = process_fail(database->server, error, "the server cannot write its file");
    }
    if (!control->is_broken) {
        status = keep_first(status, set_policy(control, database->policy));
    }
    end_control(database);
    return status;
}

/* Reports a setting as the server has it. */
static tp_status report_setting(connection *control, const tp_values *values, const char *name)
{
    reply head = {0};
    size_t at = 0;
    client_begin(control);
    client_command(control, 3, "CONFIG");
    client_word(control, "GET", 3);
    client_word(control, name, strlen(name));
    tp_status status = client_send(control);
    status = status == TP_OK ? client_read(control, &head) : status;
    for (int64_t i = 0; i < head.value && status == TP_OK; i++) {
        reply part = {0};
        status = client_read(control, &part);
        status = status == TP_OK ? client_read_bytes(control, (size_t)part.value, &at) : status;
        if (status == TP_OK && i == 1) {
            control->in.bytes[at + (size_t)part.value] = '\0';
            tp_report_text(values, name, control->in.bytes + at);
        }
    }
    return status;
}

static tp_status database_settings(tp_database *database, const tp_values *values, tp_error *error)
{
    static const char *const names[] = {
        "appendonly", "appendfsync", "no-appendfsync-on-rewrite", "aof-load-truncated",
        "auto-aof-rewrite-percentage", "auto-aof-rewrite-min-size", "aof-use-rdb-preamble",
        "aof-rewrite-incremental-fsync", "save", "maxmemory", "maxmemory-policy", "io-threads",
        "io-threads-do-reads", "hz",
    };
    char version[32];
    const char *text = NULL;
    connection *control = begin_control(database, error);
    tp_status status = ask_info(control, "server", &text);
    const char *line = status == TP_OK ? line_of(text, "redis_version") : NULL;
    if (line != NULL) {
        snprintf(version, sizeof version, "%.*s", (int)strcspn(line, "\r"), line);
        tp_report_text(values, "redis_version", version);
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0] && status == TP_OK; i++) {
        status = report_setting(control, values, names[i]);
    }
    end_control(database);
    return status;
}

static tp_status database_counters(tp_database *database, const tp_values *values, tp_error *error)
{
    static const char *const names[] = {
        "used_memory", "used_memory_rss", "aof_current_size", "aof_base_size", "aof_delayed_fsync",
        "aof_rewrites", "total_commands_processed", "total_forks", "latest_fork_usec",
        "total_error_replies",
    };
    const char *text = NULL;
    connection *control = begin_control(database, error);
    tp_status status = ask_info(control, "all", &text);
    for (size_t i = 0; i < sizeof names / sizeof names[0] && status == TP_OK; i++) {
        const char *line = line_of(text, names[i]);
        if (line != NULL) {
            tp_report_integer(values, names[i], strtoll(line, NULL, 10));
        }
    }
    end_control(database);
    return status;
}

/* ---- The table. ---- */

static const tp_database_api DATABASE = {
    .size = sizeof DATABASE,
    .open = database_open,
    .close = database_close,
    .session = session_open,
    .checkpoint = database_checkpoint,
    .settings = database_settings,
    .counters = database_counters,
    .check_files = database_check_files,
};

static const tp_engine ENGINE = {
    .magic = TP_MAGIC,
    .size = sizeof ENGINE,
    .major = TP_MAJOR,
    .minor = TP_MINOR,
    .database = &DATABASE,
    .session = &SESSION,
};

const tp_engine *trueput_engine_v1(const tp_host *host)
{
    (void)host;
    return &ENGINE;
}
