/* A connection to a server of Redis: RESP2 over a Unix socket. Replies are read in place. */
#ifndef CLIENT_H
#define CLIENT_H

#include "process.h"
#include "trueput_engine.h"

#include <stddef.h>

typedef struct {
    char *bytes;
    size_t size;
    size_t capacity;
} buffer;

void buffer_append(buffer *to, const void *bytes, size_t size);

typedef struct {
    int socket;
    int is_broken; /* no further call succeeds */
    process *server;
    tp_error *error; /* of its calls; the first error of several stays */
    buffer out;      /* commands that are not sent yet */
    buffer in;       /* replies since client_begin */
    size_t at;       /* the next byte of `in` */
} connection;

/* The first line of a reply. */
typedef struct {
    char type;     /* '+', ':', '$' or '*' */
    int64_t value; /* of ':', the size of '$' or '*'; -1: nil */
} reply;

/* The server's socket, in its folder. */
#define SOCKET_NAME "redis.sock"

/* Connects to the server whose folder is open as `folder`, so that its path can have any length. */
tp_status client_open(connection *one, process *of, int folder, tp_error *error);
void client_close(connection *one);

/* Forgets the replies: what was returned is no longer valid. */
void client_begin(connection *one);
/* Adds a command of so many words; client_word or client_words adds each further one. */
void client_command(connection *one, size_t count, const char *name);
void client_word(connection *one, const void *bytes, size_t size);
/* Adds one word: a byte, and more. */
void client_prefixed(connection *one, char prefix, const void *bytes, size_t size);
tp_status client_send(connection *one);

/* Reads the first line of a reply. An error of the server is one of the call. */
tp_status client_read(connection *one, reply *read);
/* Reads the bytes of a '$' of that size, and returns where they begin in `in`. */
tp_status client_read_bytes(connection *one, size_t size, size_t *at);
/* Reads a whole reply, and returns the first error in it. */
tp_status client_skip(connection *one);

#endif
