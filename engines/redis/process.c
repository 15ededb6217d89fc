/* A thread of its own starts the process, reads what it writes, and waits for its end: Linux sends
 * the signal of PR_SET_PDEATHSIG when the thread that forked ends, not when its process does. */
#define _GNU_SOURCE
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LINES 3

struct process {
    const char *program; /* these are read until it is started */
    char **arguments;
    int folder;
    int input[2]; /* a pipe */
    int log[2]; /* a pipe: the log takes no space of the disk, and can be read when that is full */
    pthread_t keeper;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t changed;
    pid_t pid;
    int is_started;
    int has_ended;
    int status;
    int is_full;
    int has_lost_writes;
    int asks_for_repair;
    unsigned line_count;
    char lines[LINES][160]; /* the last ones */
};

/* The child, between fork and exec. */
static void run(const process *one, pid_t parent)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(1); /* the parent ended before the signal was asked for */
    }
    if (dup2(one->input[0], 0) < 0 || dup2(one->log[1], 1) < 0 || dup2(one->log[1], 2) < 0 ||
        fcntl(one->folder, F_SETFD, 0) != 0 || fchdir(one->folder) != 0) {
        _exit(1);
    }
    execvp(one->program, one->arguments);
    dprintf(2, "cannot run %s: %s\n", one->program, strerror(errno));
    _exit(127);
}

/* The text of a line without what the server puts before it: `PID:M DATE TIME # text`. */
static const char *text_of(const char *line)
{
    const char *mark = strpbrk(line, "#*");
    return mark != NULL && mark - line < 48 && mark[1] == ' ' ? mark + 2 : line;
}

static void note(process *one, const char *line)
{
    if (strstr(line, "WARNING") != NULL) {
        return; /* advice on the kernel's settings, at each start */
    }
    pthread_mutex_lock(&one->lock);
    char *kept = one->lines[one->line_count++ % LINES];
    const char *text = text_of(line);
    snprintf(kept, sizeof one->lines[0], "%.*s", (int)strcspn(text, "\n"), text);
    if (strstr(line, "No space left on device") != NULL || strstr(line, "Short write") != NULL) {
        one->is_full = 1;
    }
    if (strstr(line, "writing to the AOF file") != NULL ||
        strstr(line, "Fail to fsync the AOF file") != NULL) {
        one->has_lost_writes = 1;
    } else if (strstr(line, "AOF write error looks solved") != NULL) {
        one->has_lost_writes = 0;
    } else if (strstr(line, "redis-check-aof --fix") != NULL) {
        one->asks_for_repair = 1;
    }
    pthread_mutex_unlock(&one->lock);
}

static void read_log(process *one)
{
    char line[512];
    FILE *log = fdopen(one->log[0], "r");
    while (log != NULL && fgets(line, sizeof line, log) != NULL) {
        note(one, line);
    }
    if (log != NULL) {
        fclose(log);
    }
}

static void *keep(void *of)
{
    process *one = of;
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        run(one, parent);
    }
    if (pid < 0) {
        note(one, "cannot fork");
    }
    close(one->log[1]);
    close(one->input[0]);
    pthread_mutex_lock(&one->lock);
    one->pid = pid;
    one->is_started = 1;
    pthread_cond_broadcast(&one->changed);
    pthread_mutex_unlock(&one->lock);
    read_log(one);
    siginfo_t ignored;
    while (pid > 0 && waitid(P_PID, (id_t)pid, &ignored, WEXITED | WNOWAIT) != 0 &&
           errno == EINTR) {
    }
    /* It is reaped under the lock, so that nobody kills another process with its number. */
    pthread_mutex_lock(&one->lock);
    if (pid < 0 || waitpid(pid, &one->status, 0) != pid) {
        one->status = -1;
    }
    one->has_ended = 1;
    pthread_cond_broadcast(&one->changed);
    pthread_mutex_unlock(&one->lock);
    return NULL;
}

static void free_process(process *one)
{
    pthread_mutex_destroy(&one->lock);
    pthread_cond_destroy(&one->changed);
    free(one);
}

static process *new_process(void)
{
    process *one = calloc(1, sizeof *one);
    pthread_condattr_t clock;
    if (one != NULL) {
        pthread_condattr_init(&clock);
        pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
        pthread_mutex_init(&one->lock, NULL);
        pthread_cond_init(&one->changed, &clock);
        pthread_condattr_destroy(&clock);
    }
    return one;
}

static void close_pipe(int *ends)
{
    close(ends[0]);
    close(ends[1]);
}

/* Makes the pipes, of which the first has its input already, and starts the thread. */
static int start_keeper(process *one, const char *input)
{
    if (pipe2(one->log, O_CLOEXEC) != 0) {
        return 0;
    }
    if (pipe2(one->input, O_CLOEXEC) != 0) {
        close_pipe(one->log);
        return 0;
    }
    size_t size = strlen(input);
    if (write(one->input[1], input, size) != (ssize_t)size ||
        pthread_create(&one->keeper, NULL, keep, one) != 0) {
        close_pipe(one->log);
        close_pipe(one->input);
        return 0;
    }
    close(one->input[1]);
    return 1;
}

process *process_start(const char *program, char **arguments, const char *input, int folder)
{
    process *one = new_process();
    if (one == NULL) {
        return NULL;
    }
    one->program = program;
    one->arguments = arguments;
    one->folder = folder;
    if (!start_keeper(one, input)) {
        free_process(one);
        return NULL;
    }
    pthread_mutex_lock(&one->lock);
    while (!one->is_started) {
        pthread_cond_wait(&one->changed, &one->lock);
    }
    pthread_mutex_unlock(&one->lock);
    return one;
}

int process_has_ended(process *one, int limit_ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    long ns = until.tv_nsec + limit_ms % 1000 * 1000000L;
    until.tv_sec += limit_ms / 1000 + ns / 1000000000L;
    until.tv_nsec = ns % 1000000000L;
    pthread_mutex_lock(&one->lock);
    while (!one->has_ended &&
           pthread_cond_timedwait(&one->changed, &one->lock, &until) != ETIMEDOUT) {
    }
    int has_ended = one->has_ended;
    pthread_mutex_unlock(&one->lock);
    return has_ended;
}

int process_is_full(process *one)
{
    pthread_mutex_lock(&one->lock);
    int is_full = one->is_full;
    pthread_mutex_unlock(&one->lock);
    return is_full;
}

int process_asks_for_repair(process *one)
{
    pthread_mutex_lock(&one->lock);
    int asks_for_repair = one->asks_for_repair;
    pthread_mutex_unlock(&one->lock);
    return asks_for_repair;
}

tp_status process_fail(process *one, tp_error *error, const char *what)
{
    char text[sizeof error->text + 1];
    int size = snprintf(text, sizeof text, "%s", what);
    pthread_mutex_lock(&one->lock);
    unsigned first = one->line_count > LINES ? one->line_count - LINES : 0;
    for (unsigned i = first; i < one->line_count && size < (int)sizeof text; i++) {
        size += snprintf(text + size, sizeof text - (size_t)size, "%s%s",
                         i == first ? "; its log: " : " | ", one->lines[i % LINES]);
    }
    tp_status status = one->is_full ? TP_FULL : TP_ENGINE;
    pthread_mutex_unlock(&one->lock);
    return tp_fail(error, status, 0, text);
}

tp_status process_end(process *one, int limit_ms, tp_error *error)
{
    tp_status status = TP_OK;
    if (!process_has_ended(one, limit_ms)) {
        status = process_fail(one, error, "the program did not stop, and was killed");
        pthread_mutex_lock(&one->lock);
        if (!one->has_ended) {
            kill(one->pid, SIGKILL);
        }
        pthread_mutex_unlock(&one->lock);
    }
    pthread_join(one->keeper, NULL);
    if (status == TP_OK && one->status != 0) {
        status = process_fail(one, error, "the program ended with an error");
    }
    if (status == TP_OK && one->has_lost_writes) {
        status = process_fail(one, error, "the server could not write its append-only file");
    }
    free_process(one);
    return status;
}
