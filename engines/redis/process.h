/* A program as a child of this process, and what it last wrote: a server, or a tool of it. */
#ifndef PROCESS_H
#define PROCESS_H

#include "trueput_engine.h"

typedef struct process process;

/* Starts `program` with `arguments`, which end with NULL, in a folder, with `input` to read. It and
 * its own children inherit `folder`, and with it the lock that this process holds on it. It is
 * killed when this process ends, however that happens. NULL: it could not be tried. */
process *process_start(const char *program, char **arguments, const char *input, int folder);

/* Waits up to `limit_ms` until it has ended; returns whether it has. */
int process_has_ended(process *one, int limit_ms);

/* Waits up to `limit_ms` until it has ended by itself, kills it otherwise, and frees it. An error
 * says that it was killed, that it failed, or that it could not write the append-only file. */
tp_status process_end(process *one, int limit_ms, tp_error *error);

/* Fills an error with `what` and the last lines that it wrote. */
tp_status process_fail(process *one, tp_error *error, const char *what);

/* Whether it wrote that the disk is full. */
int process_is_full(process *one);

/* Whether it wrote that the append-only file must be repaired by redis-check-aof. */
int process_asks_for_repair(process *one);

#endif
