"""MariaDB: tears the first page of a table of which the doublewrite buffer has a whole copy.

Usage: python3 torn_page.py FOLDER ROUNDS [OPTION...]. The folder must not exist; the options are
the server's. Needs mariadbd, mariadb-install-db and mariadb.

Each round kills a busy server. If the doublewrite buffer has the first page of the table as it is
in the table's file, the round puts zeros into the page's last 512 bytes in the file, as a write
that lost power in the middle would leave it, and starts the server again.
"""

import random
import shutil
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

PAGE = 16384
OPTIONS = ["--innodb_buffer_pool_size=6M", "--innodb_log_file_size=16M",
           "--innodb_max_dirty_pages_pct=0", *sys.argv[3:]]
TABLE = "CREATE TABLE t (k INT PRIMARY KEY, v LONGBLOB NOT NULL) ENGINE=InnoDB;"


def start(data):
    with open(data / "server.log", "a") as log:
        server = subprocess.Popen(
            ["mariadbd", "--no-defaults", f"--datadir={data}", f"--socket={data}/s",
             "--skip-networking", "--skip-grant-tables", "--user=root", *OPTIONS],
            stdout=log, stderr=log)
    while server.poll() is None and sql(data, "SELECT 1")[0]:
        time.sleep(0.05)
    return server


def sql(data, text):
    ended = subprocess.run(["mariadb", "--no-defaults", f"--socket={data}/s", "-N", "test"],
                           input=text, text=True, capture_output=True)
    return ended.returncode, ended.stdout.strip(), ended.stderr.strip().split("\n")[-1]


def lsn(page):
    return struct.unpack(">Q", page[16:24])[0]


def doublewrite_copy(data, first):
    """The copy of the table's first page in the doublewrite buffer, of the same LSN."""
    space = first[34:38]
    with open(data / "ibdata1", "rb") as file:
        file.seek(64 * PAGE)
        for _ in range(128):
            page = file.read(PAGE)
            if page[34:38] == space and page[4:8] == bytes(4) and lsn(page) == lsn(first):
                return page
    return None


def checkpoint(data):
    with open(data / "ib_logfile0", "rb") as log:
        log.seek(4096)
        first = struct.unpack(">Q", log.read(8))[0]
        log.seek(8192)
        return max(first, struct.unpack(">Q", log.read(8))[0])


def run_round(folder, number):
    data = folder / str(number)
    shutil.copytree(folder / "new", data)
    server = start(data)
    sql(data, TABLE)
    sizes = (100, 20000)
    rows = (f"REPLACE INTO t VALUES ({n % 400}, REPEAT('{n % 10}', {random.choice(sizes)}));\n"
            for n in range(20_000))
    client = subprocess.Popen(["mariadb", "--no-defaults", f"--socket={data}/s", "test"], text=True,
                              stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    until = time.monotonic() + random.uniform(0.2, 1.5)
    while time.monotonic() < until:
        client.stdin.write(next(rows))
    server.kill()
    server.wait()
    client.kill()
    client.wait()
    with open(data / "test" / "t.ibd", "r+b") as table:
        first = table.read(PAGE)
        copy = doublewrite_copy(data, first)
        if copy != first or lsn(first) <= checkpoint(data):
            return None
        table.seek(PAGE - 512)
        table.write(bytes(512))
    after = lsn(first) - checkpoint(data)
    server = start(data)
    code, count, error = sql(data, "SELECT COUNT(*) FROM t")
    server.send_signal(signal.SIGTERM)
    server.wait()
    return after, error if code else f"{count} records"


def main():
    folder, rounds = Path(sys.argv[1]), int(sys.argv[2])
    folder.mkdir()
    subprocess.run(["mariadb-install-db", "--no-defaults", f"--datadir={folder}/new", "--user=root",
                    *OPTIONS, "--auth-root-authentication-method=normal"], check=True,
                   stdout=subprocess.DEVNULL)
    (folder / "new" / "test").mkdir(exist_ok=True)
    for number in range(rounds):
        if result := run_round(folder, number):
            after, outcome = result
            print(f"round {number}: the page's LSN is {after} after the checkpoint: {outcome}",
                  flush=True)
        shutil.rmtree(folder / str(number))


main()
