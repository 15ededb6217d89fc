"""Basho's LevelDB: the renaming of a table does not reach the disk before power is lost.

Usage: python3 renamed_table.py FOLDER LIBRARY. The folder must not exist.
"""

import ctypes
import shutil
import sys
from ctypes import POINTER, byref, c_char_p, c_size_t, c_ubyte, c_void_p
from pathlib import Path

folder = Path(sys.argv[1])
leveldb = ctypes.CDLL(sys.argv[2])
for name in ["options_create", "open", "writeoptions_create", "readoptions_create", "get"]:
    getattr(leveldb, f"leveldb_{name}").restype = c_void_p
leveldb.leveldb_options_set_write_buffer_size.argtypes = [c_void_p, c_size_t]
leveldb.leveldb_writeoptions_set_sync.argtypes = [c_void_p, c_ubyte]
leveldb.leveldb_put.argtypes = [c_void_p, c_void_p, c_char_p, c_size_t, c_char_p, c_size_t,
                                POINTER(c_char_p)]
leveldb.leveldb_get.argtypes = [c_void_p, c_void_p, c_char_p, c_size_t, POINTER(c_size_t),
                                POINTER(c_char_p)]


def call(function, *arguments):
    error = c_char_p()
    result = function(*arguments, byref(error))
    if error.value:
        raise RuntimeError(error.value.decode())
    return result


def open_database(path):
    options = c_void_p(leveldb.leveldb_options_create())
    leveldb.leveldb_options_set_create_if_missing(options, c_ubyte(1))
    leveldb.leveldb_options_set_write_buffer_size(options, 64 << 10)
    return c_void_p(call(leveldb.leveldb_open, options, bytes(path)))


synchronous = c_void_p(leveldb.leveldb_writeoptions_create())
leveldb.leveldb_writeoptions_set_sync(synchronous, 1)


def commit(database, number):
    key, value = b"%06d" % number, b"v" * 500
    call(leveldb.leveldb_put, database, synchronous, key, len(key), value, len(value))


def is_there(database, key):
    length = c_size_t()
    options = c_void_p(leveldb.leveldb_readoptions_create())
    return call(leveldb.leveldb_get, database, options, key, len(key), byref(length)) is not None


def describe(path, count):
    database = open_database(path)
    missing = [n for n in range(1, count + 1) if not is_there(database, b"%06d" % n)]
    leveldb.leveldb_close(database)
    holes = f"{missing[0]} to {missing[-1]} ({len(missing)})" if missing else "none"
    return f"opens; of {count} synchronous writes are missing: {holes}"


def tables(path):
    """The level of each table, from the folder in which it lies."""
    return {file.name: file.parent.name for file in path.glob("sst_*/*.sst")}


written, copy = folder / "written", folder / "copy"
folder.mkdir(parents=True)
database = open_database(written)
number, seen, renamed = 0, {}, None
while renamed is None:
    number += 1
    commit(database, number)
    now = tables(written)
    moved = [name for name in now if seen.get(name, now[name]) != now[name]]
    if moved:
        renamed = moved[0]
        shutil.copytree(written, copy)
    else:
        seen = now
before, after = seen[renamed], tables(copy)[renamed]
print(f"{number} synchronous writes; {renamed} was renamed from {before} to {after}")

late = folder / "late"
shutil.copytree(copy, late)
(late / after / renamed).rename(late / before / renamed)
for name, state in [("the renaming is there", copy), ("the renaming is not there", late)]:
    try:
        print(f"{name}: {describe(state, number)}")
    except RuntimeError as error:
        print(f"{name}: {error}")
