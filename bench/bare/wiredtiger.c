/* WiredTiger at 'process': a B-tree, one session with one cursor, snapshot isolation. */
#include "bare.h"
#include <wiredtiger.h>

static WT_CONNECTION *connection;
static WT_SESSION *session;
static WT_CURSOR *cursor;

static const char CONNECTION[] =
    "create,config_base=false,use_environment=false,log=(enabled=true,file_max=104857600),"
    "transaction_sync=(enabled=true,method=none),checkpoint_sync=false,"
    "session_max=65,cache_size=104857600,"
    "checkpoint=(wait=60,log_size=0),eviction=(threads_min=1,threads_max=8),"
    "lsm_manager=(worker_thread_max=4),statistics=(fast)";
static const char TABLE[] = "key_format=u,value_format=u,block_compressor=none,"
                            "leaf_page_max=32768,internal_page_max=4096,memory_page_max=5242880";

static void check(int code) {
	if (code != 0)
		fail("WiredTiger", wiredtiger_strerror(code));
}

static void database_open(const char *folder) {
	int major, minor, patch;
	wiredtiger_version(&major, &minor, &patch);
	if (major != WIREDTIGER_VERSION_MAJOR || minor != WIREDTIGER_VERSION_MINOR)
		fail("WiredTiger", "the header is of another version than the library");
	check(wiredtiger_open(folder, NULL, CONNECTION, &connection));
	check(connection->open_session(connection, NULL, "isolation=snapshot", &session));
	check(session->create(session, "table:record", TABLE));
	check(session->open_cursor(session, "table:record", NULL, NULL, &cursor));
}

static void database_close(void) {
	check(connection->close(connection, NULL));
}

static void read_begin(void) {
	check(session->begin_transaction(session, NULL));
}

static void read_end(void) {
	check(session->commit_transaction(session, NULL));
}

static void get(const uint8_t *key) {
	WT_ITEM item = {.data = key, .size = KEY_BYTES};
	cursor->set_key(cursor, &item);
	check(cursor->search(cursor));
	check(cursor->get_value(cursor, &item));
	take(item.data, item.size);
}

static void write_begin(void) {
	read_begin();
}

static void put(const uint8_t *key, const uint8_t *value) {
	WT_ITEM key_item = {.data = key, .size = KEY_BYTES};
	WT_ITEM value_item = {.data = value, .size = VALUE_BYTES};
	cursor->set_key(cursor, &key_item);
	cursor->set_value(cursor, &value_item);
	check(cursor->insert(cursor));
}

static void write_commit(void) {
	read_end();
}
