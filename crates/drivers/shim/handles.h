/*
 * The functions that Berkeley DB and TokuDB's library share. Their handles are structs of function
 * pointers; this turns them into plain functions, so that a program that was built without their
 * headers can call them. `trueput engines install` compiles each shim against the db.h of its
 * library. A shim keeps no state and links with no library: the handles come from the library that the caller loaded,
 * which must be of the header's version, see header_version.
 *
 * Before it is included: PREFIX begins each function's name, ABSENT and NO_ROOM are the `case` labels
 * of the codes of those classes, DELETE_FLAGS are those of a delete, and CURSOR_CLOSE and CURSOR_GET
 * name the functions of a cursor.
 *
 * Every function that returns int returns the library's own code, 0 for success.
 */
#include <db.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JOIN_NAMES(prefix, name) prefix##name
#define JOIN(prefix, name) JOIN_NAMES(prefix, name)
#define FUNCTION(name) JOIN(PREFIX, name)

/* How the driver reacts to a code. berkeleydb/shim.rs has the same numbers. */
enum class {
	CLASS_OTHER, CLASS_ABSENT, CLASS_CONFLICT, CLASS_NO_ROOM, CLASS_BUFFER_SMALL, CLASS_NEEDS_RECOVERY
};

/* The last message that the library had for an error, for the thread that met it. */
static _Thread_local char message[512];

static void keep_message(const DB_ENV *env, const char *prefix, const char *text) {
	(void)env;
	(void)prefix;
	snprintf(message, sizeof message, "%s", text);
	message[strcspn(message, "\n")] = '\0';
}

/* The message of the calling thread's last error, empty where there was none; it is forgotten then,
 * but for the text that is returned, which lasts until the thread's next call. */
const char *FUNCTION(take_message)(void) {
	static _Thread_local char taken[sizeof message];
	memcpy(taken, message, sizeof taken);
	message[0] = '\0';
	return taken;
}

void FUNCTION(header_version)(int *major, int *minor) {
	*major = DB_VERSION_MAJOR;
	*minor = DB_VERSION_MINOR;
}

int FUNCTION(class)(int code) {
	switch (code) {
	ABSENT:
		return CLASS_ABSENT;
	case DB_LOCK_DEADLOCK:
	case DB_LOCK_NOTGRANTED:
		return CLASS_CONFLICT;
	NO_ROOM:
		return CLASS_NO_ROOM;
	case DB_BUFFER_SMALL:
		return CLASS_BUFFER_SMALL;
	case DB_RUNRECOVERY:
		return CLASS_NEEDS_RECOVERY;
	default:
		return CLASS_OTHER;
	}
}

/* Does `call` unless one before it failed. */
#define STEP(call) \
	do { \
		if (code == 0) \
			code = (call); \
	} while (0)

int FUNCTION(env_close)(DB_ENV *env) {
	return env->close(env, 0);
}

int FUNCTION(close)(DB *db) {
	return db->close(db, 0);
}

int FUNCTION(commit)(DB_TXN *transaction) {
	return transaction->commit(transaction, 0);
}

int FUNCTION(abort)(DB_TXN *transaction) {
	return transaction->abort(transaction);
}

static DBT borrowed(const void *data, uint32_t size) {
	DBT thing;
	memset(&thing, 0, sizeof thing);
	thing.data = (void *)data;
	thing.size = size;
	return thing;
}

/* A buffer of the caller's that receives a key or value. berkeleydb/shim.rs has the same struct. */
struct buffer {
	void *data;
	uint32_t capacity;
	uint32_t size; /* what is in it, or what it would have to hold */
};

static DBT receiving(const struct buffer *buffer) {
	DBT thing;
	memset(&thing, 0, sizeof thing);
	thing.data = buffer->data;
	thing.ulen = buffer->capacity;
	thing.size = buffer->size;
	thing.flags = DB_DBT_USERMEM;
	return thing;
}

int FUNCTION(put)(DB *db, DB_TXN *transaction, const void *key, uint32_t key_size,
    const void *value, uint32_t value_size) {
	DBT where = borrowed(key, key_size), what = borrowed(value, value_size);
	return db->put(db, transaction, &where, &what, 0);
}

int FUNCTION(delete)(DB *db, DB_TXN *transaction, const void *key, uint32_t key_size) {
	DBT where = borrowed(key, key_size);
	return db->del(db, transaction, &where, DELETE_FLAGS);
}

int FUNCTION(cursor_open)(DB *db, DB_TXN *transaction, DBC **cursor) {
	return db->cursor(db, transaction, cursor, 0);
}

int FUNCTION(cursor_close)(DBC *cursor) {
	return cursor->CURSOR_CLOSE(cursor);
}

/* Moves and shows; `move` is one of berkeleydb/shim.rs's `Move`; a seek takes `key`. */
int FUNCTION(cursor_get)(DBC *cursor, struct buffer *key, struct buffer *value, int move) {
	static const uint32_t MOVES[] = {DB_FIRST, DB_LAST, DB_NEXT, DB_PREV, DB_SET_RANGE};
	DBT found_key = receiving(key), found_value = receiving(value);
	int code = cursor->CURSOR_GET(cursor, &found_key, &found_value, MOVES[move]);
	key->size = found_key.size;
	value->size = found_value.size;
	return code;
}

typedef void visit(void *context, const char *name, uint64_t number);

/* Shows a number that `call` returns. */
#define SHOW_NUMBER(name, number, call) \
	STEP(call); \
	if (code == 0) \
	show(context, name, number)
