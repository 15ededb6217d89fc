#!/bin/sh
# Redis: a crash cuts the append-only file inside a transaction. What is lost after that?
#
# Usage: sh cut_transaction.sh FOLDER [half|rewrite]. The folder must not exist. It needs
# redis-server and redis-cli 7 (apt-get install redis-server); PROGRAM names another server.
#
# The server writes a transaction of two commands at `appendfsync always`. Then the script shortens
# the file to a place inside the second command, as lost power can, and starts the server again. It
# makes a write (`half`: another transaction; `rewrite`: a write and BGREWRITEAOF), stops the server
# in good order, starts it once more, and prints what is there.
set -eu
mkdir "$1"
folder=$(cd "$1" && pwd)
kind=${2:-write}
log=$folder/appendonlydir/appendonly.aof.1.incr.aof

cli() { redis-cli -s "$folder/redis.sock" "$@"; }
start() {
    "${PROGRAM:-redis-server}" --port 0 --unixsocket "$folder/redis.sock" --save "" \
        --appendonly yes --appendfsync always --dir "$folder" --logfile "$folder/log.$1" \
        --daemonize yes > "$folder/said"
    for _ in $(seq 50); do
        cli ping 2> "$folder/said" | grep -q PONG && return
        sleep 0.1
    done
    echo "the server does not start:"
    sed -n 's/.* # \(.*\(AOF\|Fatal\).*\)/  \1/p' "$folder/log.$1"
    exit 1
}
stop() {
    pid=$(cli info server | tr -d '\r' | sed -n 's/^process_id://p')
    cli shutdown nosave
    while kill -0 "$pid" 2> "$folder/said"; do sleep 0.1; done
}

start 1
redis-server --version | cut -d ' ' -f 1-3
printf 'multi\nset first 1\nset second 2\nexec\n' | cli > "$folder/said"
stop
truncate -s "$(grep -abo second "$log" | head -n 1 | cut -d : -f 1)" "$log"

start 2
echo "after the cut: first=$(cli get first) second=$(cli get second)"
if [ "$kind" = half ]; then
    printf 'multi\nset third 3\nset fourth 4\nexec\n' | cli > "$folder/said"
else
    echo "set third 3: $(cli set third 3)"
fi
if [ "$kind" = rewrite ]; then
    # A crash while the rewrite is in progress: its process waits 10 s before each key.
    cli config set rdb-key-save-delay 10000000 > "$folder/said"
    cli bgrewriteaof
    pid=$(cli info server | tr -d '\r' | sed -n 's/^process_id://p')
    sleep 1
    kill -9 "$pid" $(ps -o pid= --ppid "$pid")
    while kill -0 "$pid" 2> "$folder/said"; do sleep 0.1; done
else
    stop
fi

start 3
echo "after a restart: first=$(cli get first) second=$(cli get second) third=$(cli get third)" \
    "fourth=$(cli get fourth)"
sed -n 's/.* # \(.*AOF.*\)/  \1/p' "$folder/log.2" "$folder/log.3"
stop
