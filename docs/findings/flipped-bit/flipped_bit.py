"""Flips one bit of a value in a closed database, opens it again, and reads the value.

Usage: python3 flipped_bit.py lmdb|mdbx|sqlite|turso|leveldb FOLDER [LIBRARY]. The folder must not
exist. SQLite is that of Python, Turso its package pyturso; LIBRARY names that of another engine.
"""

import ctypes
import importlib.metadata
import shutil
import sqlite3
import sys
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_ubyte, c_uint, c_void_p
from pathlib import Path

KEY, VALUE = b"key", b"value " * 100


class Lmdb:
    """One record in the main database of an environment."""

    class Value(ctypes.Structure):
        _fields_ = [("size", c_size_t), ("data", c_void_p)]

    variants = [()]

    def __init__(self, library):
        self.library = ctypes.CDLL(library or "liblmdb.so.0")
        self.library.mdb_version.restype = self.library.mdb_strerror.restype = c_char_p
        self.version = self.library.mdb_version(None, None, None).decode()

    def call(self, name, *arguments):
        code = getattr(self.library, name)(*arguments)
        if code:
            raise RuntimeError(self.library.mdb_strerror(code).decode())

    def use(self, folder, work):
        environment, transaction, database = c_void_p(), c_void_p(), c_uint()
        self.call("mdb_env_create", byref(environment))
        self.call("mdb_env_open", environment, bytes(folder), 0, 0o644)
        self.call("mdb_txn_begin", environment, None, 0, byref(transaction))
        self.call("mdb_dbi_open", transaction, None, 0, byref(database))
        result = work(transaction, database)
        self.call("mdb_txn_commit", transaction)
        self.library.mdb_env_close(environment)
        return result

    def write(self, folder):
        key, value = (self.Value(len(bytes_), ctypes.cast(c_char_p(bytes_), c_void_p))
                      for bytes_ in (KEY, VALUE))
        self.use(folder, lambda transaction, database: self.call(
            "mdb_put", transaction, database, byref(key), byref(value), 0))

    def read(self, folder):
        key, value = self.Value(len(KEY), ctypes.cast(c_char_p(KEY), c_void_p)), self.Value()

        def get(transaction, database):
            self.call("mdb_get", transaction, database, byref(key), byref(value))
            return ctypes.string_at(value.data, value.size)

        return self.use(folder, get)


class Mdbx:
    """One record in the main database of an environment, which is a file."""

    class Value(ctypes.Structure):
        _fields_ = [("data", c_void_p), ("size", c_size_t)]

    variants = [()]
    one_file = 0x4000  # MDBX_NOSUBDIR

    def __init__(self, library):
        self.library = ctypes.CDLL(library or "libmdbx.so")
        self.library.mdbx_strerror.restype = c_char_p
        major, minor, patch = (ctypes.c_uint16 * 3).in_dll(self.library, "mdbx_version")
        self.version = f"libmdbx {major}.{minor}.{patch}"

    def call(self, name, *arguments):
        code = getattr(self.library, name)(*arguments)
        if code:
            raise RuntimeError(self.library.mdbx_strerror(code).decode())

    def use(self, folder, work):
        environment, transaction, database = c_void_p(), c_void_p(), c_uint()
        self.call("mdbx_env_create", byref(environment))
        path = bytes(folder / "database")
        self.call("mdbx_env_open", environment, path, self.one_file, 0o644)
        self.call("mdbx_txn_begin_ex", environment, None, 0, byref(transaction), None)
        self.call("mdbx_dbi_open", transaction, None, 0, byref(database))
        result = work(transaction, database)
        self.call("mdbx_txn_commit_ex", transaction, None)
        self.call("mdbx_env_close_ex", environment, False)
        return result

    def write(self, folder):
        key, value = (self.Value(ctypes.cast(c_char_p(bytes_), c_void_p), len(bytes_))
                      for bytes_ in (KEY, VALUE))
        self.use(folder, lambda transaction, database: self.call(
            "mdbx_put", transaction, database, byref(key), byref(value), 0))

    def read(self, folder):
        key, value = self.Value(ctypes.cast(c_char_p(KEY), c_void_p), len(KEY)), self.Value()

        def get(transaction, database):
            self.call("mdbx_get", transaction, database, byref(key), byref(value))
            return ctypes.string_at(value.data, value.size)

        return self.use(folder, get)


class Sqlite:
    """One row of a table."""

    variants = [(), ("integrity_check",)]

    def __init__(self, library):
        self.version = f"SQLite {sqlite3.sqlite_version}"
        self.connect = sqlite3.connect

    def write(self, folder):
        connection = self.connect(str(folder / "database"))
        connection.execute("create table record (key blob primary key, value blob)")
        connection.execute("insert into record values (?, ?)", (KEY, VALUE))
        connection.commit()
        # What a log in a file of its own has moves into the database.
        connection.execute("pragma wal_checkpoint(truncate)").fetchall()
        connection.close()

    def read(self, folder, integrity_check=False):
        connection = self.connect(str(folder / "database"))
        if integrity_check:
            (result,), = connection.execute("pragma integrity_check").fetchall()
            print(f"    integrity_check: {result}")
        rows = connection.execute("select value from record where key = ?", (KEY,)).fetchall()
        (value,), = rows
        connection.close()
        return value


class Turso(Sqlite):
    """The same, written by Turso."""

    def __init__(self, library):
        import turso
        self.version = f"Turso {importlib.metadata.version('pyturso')}"
        self.connect = turso.connect


class Leveldb:
    """One record in a table without compression."""

    variants = [(), ("paranoid_checks",), ("verify_checksums",)]

    def __init__(self, library):
        self.library = ctypes.CDLL(library or "libleveldb.so.1d")
        for name in ["options_create", "open", "writeoptions_create", "readoptions_create", "get"]:
            getattr(self.library, f"leveldb_{name}").restype = c_void_p
        self.version = (f"LevelDB {self.library.leveldb_major_version()}."
                        f"{self.library.leveldb_minor_version()}")

    def function(self, name, *arguments):
        return getattr(self.library, f"leveldb_{name}")(*arguments)

    def call(self, name, *arguments):
        error = c_char_p()
        result = self.function(name, *arguments, byref(error))
        if error.value:
            raise RuntimeError(error.value.decode())
        return result

    def open(self, folder, paranoid_checks=False):
        options = c_void_p(self.function("options_create"))
        self.function("options_set_create_if_missing", options, c_ubyte(1))
        self.function("options_set_compression", options, 0)
        self.function("options_set_paranoid_checks", options, c_ubyte(paranoid_checks))
        return c_void_p(self.call("open", options, bytes(folder)))

    def write(self, folder):
        database = self.open(folder)
        self.call("put", database, c_void_p(self.function("writeoptions_create")), KEY,
                  c_size_t(len(KEY)), VALUE, c_size_t(len(VALUE)))
        self.function("compact_range", database, None, c_size_t(0), None, c_size_t(0))
        self.function("close", database)

    def read(self, folder, paranoid_checks=False, verify_checksums=False):
        database = self.open(folder, paranoid_checks)
        options, length = c_void_p(self.function("readoptions_create")), c_size_t()
        self.function("readoptions_set_verify_checksums", options, c_ubyte(verify_checksums))
        value = self.call("get", database, options, KEY, c_size_t(len(KEY)), byref(length))
        value = None if value is None else ctypes.string_at(value, length.value)
        self.function("close", database)
        return value


def flip_bit(folder):
    """In the middle of the one place where the value is."""
    found = [(path, path.read_bytes()) for path in sorted(folder.rglob("*")) if path.is_file()]
    (path, content), = [(path, content) for path, content in found if VALUE in content]
    content = bytearray(content)
    content[content.index(VALUE) + len(VALUE) // 2] ^= 1
    path.write_bytes(content)
    return path.name


def describe(engine, folder, variant):
    try:
        value = engine.read(folder, **{name: True for name in variant})
    except Exception as error:
        return f"error: {error}"
    return "the value" if value == VALUE else "another value, without an error"


engines = {"lmdb": Lmdb, "mdbx": Mdbx, "sqlite": Sqlite, "turso": Turso, "leveldb": Leveldb}
engine = engines[sys.argv[1]](*sys.argv[3:4] or [None])
folder = Path(sys.argv[2])
(folder / "whole").mkdir(parents=True)
print(engine.version)
engine.write(folder / "whole")
print(f"before: {describe(engine, folder / 'whole', ())}")
for variant in engine.variants:
    copy = folder / ("-".join(variant) or "default")
    shutil.copytree(folder / "whole", copy)
    name = flip_bit(copy)
    print(f"one bit of {name} flipped, {' '.join(variant) or 'defaults'}: "
          f"{describe(engine, copy, variant)}")
