#!/bin/sh
# Makes writes at `appendfsync always` to a Redis server, or counts them. ../power-cut/cut_power.sh
# runs it.
#
# Usage: records.sh write|read DATABASE. It needs redis-server and redis-cli 7. The socket and the
# log are in a temporary folder, which it removes, so that DATABASE has Redis's files only.
#
# write: 100 writes, a rewrite of the file, and 20 more writes; then the server is killed.
# read: starts a server, and prints how many records it has.
set -eu
for tool in redis-server redis-cli; do
    command -v "$tool" > /dev/null || { echo "$tool is missing" >&2; exit 1; }
done
temporary=$(mktemp -d)
server=
cleanup() { # ends the server that a failure has left
    [ -z "$server" ] || kill -9 "$server" 2> "$temporary/said" || true
    rm -r "$temporary"
}
trap cleanup EXIT
trap 'exit 1' HUP INT TERM

cli() { redis-cli -s "$temporary/redis.sock" "$@"; }
put() { # the numbers $1 to $2
    seq "$1" "$2" | sed 's/.*/set & &/' | cli | grep -c OK
}
is_ready() { cli ping 2> "$temporary/said" | grep -q PONG; }
mkdir -p "$2"
redis-server --port 0 --unixsocket "$temporary/redis.sock" --save "" --appendonly yes \
    --appendfsync always --dir "$2" --logfile "$temporary/log" &
server=$!
for _ in $(seq 50); do
    if is_ready; then break; fi
    sleep 0.1
done
is_ready || {
    echo "the server does not start:"
    sed -n 's/.* # \(.*\(AOF\|Fatal\).*\)/  \1/p' "$temporary/log"
    exit 1
}
if [ "$1" = write ]; then
    echo "$(put 1 100) writes acknowledged"
    cli bgrewriteaof
    until cli info persistence | grep -q 'aof_rewrite_in_progress:0' &&
        [ -e "$2/appendonlydir/appendonly.aof.2.base.rdb" ]; do sleep 0.1; done
    echo "$(put 101 120) writes acknowledged"
    kill -9 "$server"
else
    echo "$(cli dbsize) records"
    cli shutdown nosave
fi
wait "$server" 2> "$temporary/said" || true
server=
