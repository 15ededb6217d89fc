/* What the two halves of the plug-in share: database.c and session.c. */
#ifndef ENGINE_H
#define ENGINE_H

#include "client.h"
#include "process.h"
#include "trueput_engine.h"

#include <pthread.h>

struct tp_database {
    int folder; /* open and locked; the server has it, too */
    process *server;
    connection control; /* for all but sessions */
    pthread_mutex_t control_lock;
    const char *policy; /* of flushes */
};

/* Opens a session; its other functions are in the table. */
tp_status session_open(tp_database *database, tp_error *error, tp_session **opened);
extern const tp_session_api SESSION;

static inline tp_status keep_first(tp_status first, tp_status next)
{
    return first != TP_OK ? first : next;
}

#endif
