/*
 * WiredTiger hands out structs of function pointers whose layout changes from version to version.
 * This file turns them into plain functions. It is compiled against the header of one version by
 * trueput engines install; the driver refuses it for a library of another.
 *
 * It calls nothing of the library by name: the driver passes wiredtiger_open in.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wiredtiger.h>

#define EXPORT __attribute__((visibility("default")))

/* Raised with every change of the functions below, so that the driver can refuse an older shim. */
#define INTERFACE 3

typedef int (*open_function)(const char *, WT_EVENT_HANDLER *, const char *, WT_CONNECTION **);

typedef struct {
	WT_EVENT_HANDLER events; /* First: the library hands back a pointer to it. */
	WT_CONNECTION *connection;
	volatile int no_space; /* Whether the engine has ever said that the disk is full. */
	volatile int panicked; /* Whether it has said that the database must be opened again. */
} database;

typedef struct {
	WT_SESSION *session;
	WT_CURSOR *cursor;
	const database *database;
} session;

typedef void (*number_visitor)(void *, const char *, int64_t);
typedef void (*text_visitor)(void *, const char *);

/* What the engine last said about an error on this thread. */
static __thread char message[512];

static int
on_error(WT_EVENT_HANDLER *events, WT_SESSION *from, int code, const char *text)
{
	(void)from;
	if (code == ENOSPC || code == EDQUOT || code == EFBIG)
		((database *)events)->no_space = 1;
	if (code == WT_PANIC)
		((database *)events)->panicked = 1;
	/* The first message names the cause; those after it are of its consequences. */
	if (message[0] == '\0')
		snprintf(message, sizeof(message), "%s", text);
	return (0);
}

static int
on_message(WT_EVENT_HANDLER *events, WT_SESSION *from, const char *text)
{
	(void)events;
	(void)from;
	(void)text;
	return (0);
}

EXPORT int
trueput_wt_interface(void)
{
	return (INTERFACE);
}

/* The version of the header that this was compiled against. */
EXPORT void
trueput_wt_header(int *major, int *minor, int *patch)
{
	*major = WIREDTIGER_VERSION_MAJOR;
	*minor = WIREDTIGER_VERSION_MINOR;
	*patch = WIREDTIGER_VERSION_PATCH;
}

/* Copies the message of the last error on this thread and forgets it. */
EXPORT void
trueput_wt_message(char *buffer, size_t size)
{
	snprintf(buffer, size, "%s", message);
	message[0] = '\0';
}

EXPORT int
trueput_wt_open(open_function open, const char *home, const char *config, database **opened)
{
	database *new;
	int code;

	if ((new = calloc(1, sizeof(*new))) == NULL)
		return (ENOMEM);
	new->events.handle_error = on_error;
	new->events.handle_message = on_message;
	message[0] = '\0';
	if ((code = open(home, &new->events, config, &new->connection)) != 0) {
		free(new);
		return (code);
	}
	*opened = new;
	return (0);
}

EXPORT int
trueput_wt_close(database *database)
{
	int code = database->connection->close(database->connection, NULL);

	free(database);
	return (code);
}

EXPORT int
trueput_wt_no_space(const database *database)
{
	return (database->no_space);
}

EXPORT int
trueput_wt_create(database *database, const char *uri, const char *config)
{
	WT_CONNECTION *connection = database->connection;
	WT_SESSION *session;
	int code, closed;

	if ((code = connection->open_session(connection, NULL, NULL, &session)) != 0)
		return (code);
	code = session->create(session, uri, config);
	closed = session->close(session, NULL);
	return (code != 0 ? code : closed);
}

/* Flushes the log where there is one, then writes a checkpoint. */
EXPORT int
trueput_wt_checkpoint(database *database, int has_log)
{
	WT_CONNECTION *connection = database->connection;
	WT_SESSION *session;
	int code, closed;

	if ((code = connection->open_session(connection, NULL, NULL, &session)) != 0)
		return (code);
	if (has_log)
		code = session->log_flush(session, "sync=on");
	if (code == 0)
		code = session->checkpoint(session, NULL);
	closed = session->close(session, NULL);
	return (code != 0 ? code : closed);
}

/* Moves a table's blocks to the front of its file and shortens it, however long that takes. */
EXPORT int
trueput_wt_compact(database *database, const char *uri)
{
	WT_CONNECTION *connection = database->connection;
	WT_SESSION *session;
	int code, closed;

	if ((code = connection->open_session(connection, NULL, NULL, &session)) != 0)
		return (code);
	code = session->compact(session, uri, "timeout=0");
	closed = session->close(session, NULL);
	return (code != 0 ? code : closed);
}

/* Checks the structure of a table that no session uses. */
EXPORT int
trueput_wt_verify(database *database, const char *uri)
{
	WT_CONNECTION *connection = database->connection;
	WT_SESSION *session;
	int code, closed;

	if ((code = connection->open_session(connection, NULL, NULL, &session)) != 0)
		return (code);
	code = session->verify(session, uri, NULL);
	closed = session->close(session, NULL);
	return (code != 0 ? code : closed);
}

static int
open_cursor(database *database, const char *uri, WT_SESSION **session, WT_CURSOR **cursor)
{
	WT_CONNECTION *connection = database->connection;
	int code;

	if ((code = connection->open_session(connection, NULL, NULL, session)) != 0)
		return (code);
	if ((code = (*session)->open_cursor(*session, uri, NULL, NULL, cursor)) != 0)
		(*session)->close(*session, NULL);
	return (code);
}

/* Shows every statistic of the connection. */
EXPORT int
trueput_wt_statistics(database *database, number_visitor visit, void *context)
{
	WT_SESSION *session;
	WT_CURSOR *cursor;
	const char *name, *text;
	int64_t value;
	int code, closed;

	if ((code = open_cursor(database, "statistics:", &session, &cursor)) != 0)
		return (code);
	while ((code = cursor->next(cursor)) == 0 &&
	    (code = cursor->get_value(cursor, &name, &text, &value)) == 0)
		visit(context, name, value);
	closed = session->close(session, NULL);
	return (code != WT_NOTFOUND ? code : closed);
}

/* Shows what the metadata say of an object; WT_NOTFOUND where there is none of that name. */
EXPORT int
trueput_wt_metadata(database *database, const char *object, text_visitor visit, void *context)
{
	WT_SESSION *session;
	WT_CURSOR *cursor;
	const char *text;
	int code, closed;

	if ((code = open_cursor(database, "metadata:", &session, &cursor)) != 0)
		return (code);
	cursor->set_key(cursor, object);
	if ((code = cursor->search(cursor)) == 0 && (code = cursor->get_value(cursor, &text)) == 0)
		visit(context, text);
	closed = session->close(session, NULL);
	return (code != 0 ? code : closed);
}

/* A session with one cursor on the table, kept for all that it does. */
EXPORT int
trueput_wt_session_open(database *database, const char *config, const char *uri, session **opened)
{
	WT_CONNECTION *connection = database->connection;
	session *new;
	int code;

	if ((new = calloc(1, sizeof(*new))) == NULL)
		return (ENOMEM);
	if ((code = connection->open_session(connection, NULL, config, &new->session)) == 0 &&
	    (code = new->session->open_cursor(new->session, uri, NULL, NULL, &new->cursor)) != 0)
		new->session->close(new->session, NULL);
	new->database = database;
	if (code == 0)
		*opened = new;
	else
		free(new);
	return (code);
}

/* Rolls back what is open. */
EXPORT void
trueput_wt_session_close(session *session)
{
	session->session->close(session->session, NULL);
	free(session);
}

EXPORT int
trueput_wt_begin(session *session)
{
	message[0] = '\0';
	return (session->session->begin_transaction(session->session, NULL));
}

/*
 * WiredTiger calls the error handler at a panic, and "cannot guarantee applications will see an
 * application thread return WT_PANIC" (src/docs/message-handling.dox): a commit can return 0 whose
 * log record was not written (docs/findings).
 */
EXPORT int
trueput_wt_commit(session *session)
{
	int code = session->session->commit_transaction(session->session, NULL);

	return (code == 0 && session->database->panicked ? WT_PANIC : code);
}

EXPORT int
trueput_wt_rollback(session *session)
{
	return (session->session->rollback_transaction(session->session, NULL));
}

static void
set_key(WT_CURSOR *cursor, const void *key, size_t length)
{
	WT_ITEM item;

	memset(&item, 0, sizeof(item));
	item.data = key;
	item.size = length;
	cursor->set_key(cursor, &item);
}

/* The value stays where it is until the cursor moves or the transaction ends. */
EXPORT int
trueput_wt_get(session *session, const void *key, size_t length, const void **value, size_t *size)
{
	WT_CURSOR *cursor = session->cursor;
	WT_ITEM item;
	int code;

	set_key(cursor, key, length);
	if ((code = cursor->search(cursor)) != 0 || (code = cursor->get_value(cursor, &item)) != 0)
		return (code);
	*value = item.data;
	*size = item.size;
	return (0);
}

EXPORT int
trueput_wt_put(session *session, const void *key, size_t length, const void *value, size_t size)
{
	WT_CURSOR *cursor = session->cursor;
	WT_ITEM item;

	memset(&item, 0, sizeof(item));
	item.data = value;
	item.size = size;
	set_key(cursor, key, length);
	cursor->set_value(cursor, &item);
	return (cursor->insert(cursor));
}

EXPORT int
trueput_wt_remove(session *session, const void *key, size_t length)
{
	set_key(session->cursor, key, length);
	return (session->cursor->remove(session->cursor));
}

/* Goes to the key or to a neighbor; `side` is below, at or above 0 as what it found is. */
EXPORT int
trueput_wt_seek(session *session, const void *key, size_t length, int *side)
{
	set_key(session->cursor, key, length);
	return (session->cursor->search_near(session->cursor, side));
}

EXPORT int
trueput_wt_next(session *session)
{
	return (session->cursor->next(session->cursor));
}

EXPORT int
trueput_wt_previous(session *session)
{
	return (session->cursor->prev(session->cursor));
}

/* The record that the cursor stands on. */
EXPORT int
trueput_wt_record(
    session *session, const void **key, size_t *length, const void **value, size_t *size)
{
	WT_CURSOR *cursor = session->cursor;
	WT_ITEM key_item, value_item;
	int code;

	if ((code = cursor->get_key(cursor, &key_item)) != 0 ||
	    (code = cursor->get_value(cursor, &value_item)) != 0)
		return (code);
	*key = key_item.data;
	*length = key_item.size;
	*value = value_item.data;
	*size = value_item.size;
	return (0);
}

EXPORT int
trueput_wt_reset(session *session)
{
	return (session->cursor->reset(session->cursor));
}
