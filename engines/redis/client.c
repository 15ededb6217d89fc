#define _GNU_SOURCE
#include "client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define PIECE 65536

static void reserve(buffer *of, size_t size)
{
    if (of->capacity - of->size >= size) {
        return;
    }
    size_t capacity = of->capacity == 0 ? 4096 : of->capacity;
    while (capacity - of->size < size) {
        capacity *= 2;
    }
    char *bytes = realloc(of->bytes, capacity);
    if (bytes == NULL) {
        fprintf(stderr, "redis: no memory for %zu bytes\n", capacity);
        abort();
    }
    of->bytes = bytes;
    of->capacity = capacity;
}

void buffer_append(buffer *to, const void *bytes, size_t size)
{
    reserve(to, size);
    if (size > 0) {
        memcpy(to->bytes + to->size, bytes, size);
        to->size += size;
    }
}

/* The connection ended. If the server did, too, its log says why, which may take a moment. */
static tp_status fail(connection *one, const char *what)
{
    one->is_broken = 1;
    if (one->error->text_size > 0) {
        return TP_ENGINE;
    }
    process_has_ended(one->server, 2000);
    return process_fail(one->server, one->error, what);
}

tp_status client_open(connection *one, process *of, int folder, tp_error *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/" SOCKET_NAME, folder);
    memset(one, 0, sizeof *one);
    one->server = of;
    one->error = error;
    one->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (one->socket < 0) {
        return tp_fail(error, TP_ENGINE, errno, "cannot make a socket");
    }
    if (connect(one->socket, (struct sockaddr *)&address, sizeof address) != 0) {
        int code = errno;
        close(one->socket);
        return tp_fail(error, TP_ENGINE, code, "cannot connect to the server");
    }
    return TP_OK;
}

void client_close(connection *one)
{
    close(one->socket);
    free(one->out.bytes);
    free(one->in.bytes);
}

void client_begin(connection *one)
{
    one->in.size = 0;
    one->at = 0;
}

/* Appends `*3` or `$3` and the end of the line. */
static void append_size(buffer *to, char type, size_t size)
{
    char text[24];
    char *at = text + sizeof text;
    *--at = '\n';
    *--at = '\r';
    do {
        *--at = (char)('0' + size % 10);
        size /= 10;
    } while (size > 0);
    *--at = type;
    buffer_append(to, at, (size_t)(text + sizeof text - at));
}

void client_command(connection *one, size_t count, const char *name)
{
    append_size(&one->out, '*', count);
    client_word(one, name, strlen(name));
}

void client_word(connection *one, const void *bytes, size_t size)
{
    append_size(&one->out, '$', size);
    buffer_append(&one->out, bytes, size);
    buffer_append(&one->out, "\r\n", 2);
}

void client_prefixed(connection *one, char prefix, const void *bytes, size_t size)
{
    append_size(&one->out, '$', size + 1);
    buffer_append(&one->out, &prefix, 1);
    buffer_append(&one->out, bytes, size);
    buffer_append(&one->out, "\r\n", 2);
}

tp_status client_send(connection *one)
{
    const char *bytes = one->out.bytes;
    size_t size = one->out.size;
    one->out.size = 0;
    while (size > 0 && !one->is_broken) {
        ssize_t sent = send(one->socket, bytes, size, MSG_NOSIGNAL);
        if (sent > 0) {
            bytes += sent;
            size -= (size_t)sent;
        } else if (errno != EINTR) {
            break;
        }
    }
    return size == 0 && !one->is_broken ? TP_OK : fail(one, "the server's connection is lost");
}

/* Receives at least a byte, and has room for `wanted`. */
static tp_status receive(connection *one, size_t wanted)
{
    reserve(&one->in, wanted > PIECE ? wanted : PIECE);
    for (;;) {
        buffer *in = &one->in;
        ssize_t received = recv(one->socket, in->bytes + in->size, in->capacity - in->size, 0);
        if (received > 0) {
            in->size += (size_t)received;
            return TP_OK;
        }
        if (received == 0 || errno != EINTR) {
            return fail(one, "the server's connection is lost");
        }
    }
}

/* Turns `-ERR text` into an error. */
static tp_status fail_by_reply(connection *one, const char *line, size_t size)
{
    char text[sizeof one->error->text];
    snprintf(text, sizeof text, "%.*s", (int)(size < sizeof text ? size : sizeof text), line);
    int is_full = strncmp(text, "OOM", 3) == 0 || strstr(text, "No space left") != NULL ||
                  (strncmp(text, "MISCONF", 7) == 0 && process_is_full(one->server));
    tp_status status = is_full ? TP_FULL : TP_ENGINE;
    return one->error->text_size > 0 ? status : tp_fail(one->error, status, 0, text);
}

tp_status client_read(connection *one, reply *read)
{
    size_t searched = one->at;
    const char *end = NULL;
    while (one->in.size == searched ||
           (end = memchr(one->in.bytes + searched, '\n', one->in.size - searched)) == NULL) {
        searched = one->in.size;
        tp_status status = receive(one, 1);
        if (status != TP_OK) {
            return status;
        }
    }
    const char *line = one->in.bytes + one->at;
    one->at = (size_t)(end - one->in.bytes) + 1;
    read->type = line[0];
    read->value = strchr(":$*", line[0]) != NULL ? strtoll(line + 1, NULL, 10) : 0;
    return line[0] == '-' ? fail_by_reply(one, line + 1, (size_t)(end - line) - 2) : TP_OK;
}

tp_status client_read_bytes(connection *one, size_t size, size_t *at)
{
    while (one->in.size - one->at < size + 2) {
        tp_status status = receive(one, size + 2 - (one->in.size - one->at));
        if (status != TP_OK) {
            return status;
        }
    }
    *at = one->at;
    one->at += size + 2;
    return TP_OK;
}

tp_status client_skip(connection *one)
{
    reply head;
    size_t at;
    tp_status first = client_read(one, &head);
    if (first != TP_OK || head.value < 0 || (head.type != '$' && head.type != '*')) {
        return first;
    }
    if (head.type == '$') {
        return client_read_bytes(one, (size_t)head.value, &at);
    }
    for (int64_t i = 0; i < head.value && !one->is_broken; i++) {
        tp_status status = client_skip(one);
        first = first == TP_OK ? status : first;
    }
    return first;
}
