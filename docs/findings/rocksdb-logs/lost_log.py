"""RocksDB without sync: the older of two logs does not reach the disk before power is lost.

Usage: python3 lost_log.py FOLDER LIBRARY [OPTIONS], as in 'track_and_verify_wals=true'. The folder
must not exist. It uses a TransactionDB.
"""

import ctypes
import shutil
import sys
from ctypes import POINTER, byref, c_char_p, c_size_t, c_void_p
from pathlib import Path

folder = Path(sys.argv[1])
more_options = sys.argv[3] if len(sys.argv) > 3 else ""
rocksdb = ctypes.CDLL(sys.argv[2])
for name in ["options_create", "open", "writeoptions_create", "readoptions_create",
             "writebatch_create", "transactiondb_get", "transactiondb_options_create", "transactiondb_open",
             "transactiondb_write"]:
    getattr(rocksdb, f"rocksdb_{name}").restype = c_void_p
rocksdb.rocksdb_writebatch_put.argtypes = [c_void_p, c_char_p, c_size_t, c_char_p, c_size_t]
rocksdb.rocksdb_write.argtypes = [c_void_p, c_void_p, c_void_p, POINTER(c_char_p)]
rocksdb.rocksdb_get.argtypes = [c_void_p, c_void_p, c_char_p, c_size_t, POINTER(c_size_t),
                                POINTER(c_char_p)]


def call(function, *arguments):
    error = c_char_p()
    result = function(*arguments, byref(error))
    if error.value:
        raise RuntimeError(error.value.decode())
    return result


def open_database(path):
    text = f"create_if_missing=true;write_buffer_size=65536;{more_options}".encode()
    options = c_void_p(rocksdb.rocksdb_options_create())
    base = c_void_p(rocksdb.rocksdb_options_create())
    call(rocksdb.rocksdb_get_options_from_string, base, text, options)
    locks = c_void_p(rocksdb.rocksdb_transactiondb_options_create())
    return c_void_p(call(rocksdb.rocksdb_transactiondb_open, options, locks, bytes(path)))


def commit(database, number):
    """One batch, without sync: a record of its own, and the number under the key 'last'."""
    batch = c_void_p(rocksdb.rocksdb_writebatch_create())
    key, value = b"%06d" % number, b"v" * 500
    rocksdb.rocksdb_writebatch_put(batch, key, len(key), value, len(value))
    rocksdb.rocksdb_writebatch_put(batch, b"last", 4, key, len(key))
    call(rocksdb.rocksdb_transactiondb_write, database, c_void_p(rocksdb.rocksdb_writeoptions_create()), batch)


def get(database, key):
    length = c_size_t()
    options = c_void_p(rocksdb.rocksdb_readoptions_create())
    value = call(rocksdb.rocksdb_transactiondb_get, database, options, key, len(key), byref(length))
    return None if value is None else ctypes.string_at(value, length.value)


def describe(database):
    last = int(get(database, b"last") or b"0")
    missing = [n for n in range(1, last + 1) if get(database, b"%06d" % n) is None]
    holes = f"{missing[0]} to {missing[-1]} ({len(missing)})" if missing else "none"
    return f"the last commit is {last}, missing before it: {holes}"


def attempt(name, path, commits=0):
    try:
        database = open_database(path)
        found = describe(database)
        last = int(get(database, b"last") or b"0")
        for number in range(last + 1, last + commits + 1):
            commit(database, number)
        rocksdb.rocksdb_transactiondb_close(database)
        print(f"{name}: opens; {found}")
    except RuntimeError as error:
        print(f"{name}: {error}")


written, copy = folder / "written", folder / "copy"
folder.mkdir(parents=True)
database = open_database(written)
number, kept = 0, None
# Until there are two logs with records at once: the table of the first is not written yet.
while kept is None:
    number += 1
    commit(database, number)
    logs = sorted(written.glob("*.log"))
    if len(logs) > 1 and logs[-1].stat().st_size > 0:
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(written, copy)
        logs = sorted(copy.glob("*.log"))
        # The copy takes time: use it only if both logs are in it.
        kept = logs if len(logs) > 1 and logs[0].stat().st_size > 0 else None
print(f"{number} commits acknowledged; logs {[(log.name, log.stat().st_size) for log in kept]}")

for name, start in [("every page is there", None), ("the older log has no page", 0),
                    ("the older log lacks its last page", 1)]:
    state = folder / name.replace(" ", "-")
    shutil.copytree(copy, state)
    older = state / kept[0].name
    content = bytearray(older.read_bytes())
    if start is not None:
        first = 0 if start == 0 else len(content) // 4096 * 4096
        content[first:] = bytes(len(content) - first)
        older.write_bytes(content)
    attempt(name, state, commits=1)
    attempt(f"{name}, one more commit, a close", state)
