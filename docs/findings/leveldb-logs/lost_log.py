"""LevelDB without sync: the older of two logs does not reach the disk before power is lost.

Usage: python3 lost_log.py FOLDER [LIBRARY]. The folder must not exist.
"""

import ctypes
import shutil
import sys
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_ubyte, c_void_p
from pathlib import Path

folder = Path(sys.argv[1])
leveldb = ctypes.CDLL(sys.argv[2] if len(sys.argv) > 2 else "libleveldb.so.1d")
for name in ["options_create", "open", "writeoptions_create", "readoptions_create",
             "writebatch_create", "get"]:
    getattr(leveldb, f"leveldb_{name}").restype = c_void_p
leveldb.leveldb_options_set_write_buffer_size.argtypes = [c_void_p, c_size_t]
leveldb.leveldb_writebatch_put.argtypes = [c_void_p, c_char_p, c_size_t, c_char_p, c_size_t]
leveldb.leveldb_write.argtypes = [c_void_p, c_void_p, c_void_p, POINTER(c_char_p)]
leveldb.leveldb_get.argtypes = [c_void_p, c_void_p, c_char_p, c_size_t, POINTER(c_size_t),
                                POINTER(c_char_p)]
PAGE = 4096


def call(function, *arguments):
    error = c_char_p()
    result = function(*arguments, byref(error))
    if error.value:
        raise RuntimeError(error.value.decode())
    return result


def open_database(path):
    options = c_void_p(leveldb.leveldb_options_create())
    leveldb.leveldb_options_set_create_if_missing(options, c_ubyte(1))
    leveldb.leveldb_options_set_paranoid_checks(options, c_ubyte(int("--paranoid" in sys.argv)))
    leveldb.leveldb_options_set_write_buffer_size(options, 64 << 10)
    return c_void_p(call(leveldb.leveldb_open, options, bytes(path)))


def commit(database, number):
    """One batch, without sync: a record of its own, and the number under the key 'last'."""
    batch = c_void_p(leveldb.leveldb_writebatch_create())
    key, value = b"%06d" % number, b"v" * 500
    leveldb.leveldb_writebatch_put(batch, key, len(key), value, len(value))
    leveldb.leveldb_writebatch_put(batch, b"last", 4, key, len(key))
    call(leveldb.leveldb_write, database, c_void_p(leveldb.leveldb_writeoptions_create()), batch)


def get(database, key):
    length = c_size_t()
    options = c_void_p(leveldb.leveldb_readoptions_create())
    value = call(leveldb.leveldb_get, database, options, key, len(key), byref(length))
    return None if value is None else ctypes.string_at(value, length.value)


def describe(path):
    database = open_database(path)
    last = int(get(database, b"last") or b"0")
    missing = [n for n in range(1, last + 1) if get(database, b"%06d" % n) is None]
    leveldb.leveldb_close(database)
    holes = f"{missing[0]} to {missing[-1]} ({len(missing)})" if missing else "none"
    return f"opens; the last commit is {last}, missing before it: {holes}"


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
        # The copy takes time: use it only if both logs are still there, and no table of the first.
        kept = logs if len(logs) > 1 and logs[0].stat().st_size > 2 * PAGE else None
print(f"{number} commits acknowledged; logs {[(log.name, log.stat().st_size) for log in kept]}")

for name, start in [("every page is there", None), ("the older log has no page", 0),
                    ("the older log lacks one page", 2 * PAGE)]:
    state = folder / name.replace(" ", "-")
    shutil.copytree(copy, state)
    older = state / kept[0].name
    content = bytearray(older.read_bytes())
    if start is not None:
        end = len(content) if start == 0 else start + PAGE
        content[start:end] = bytes(end - start)
        older.write_bytes(content)
    try:
        print(f"{name}: {describe(state)}")
    except RuntimeError as error:
        print(f"{name}: {error}")
