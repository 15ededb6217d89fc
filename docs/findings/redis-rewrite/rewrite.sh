#!/bin/sh
# Redis at `appendfsync everysec`: lost power at the start of a rewrite of the append-only file.
#
# Usage: sh rewrite.sh FOLDER. The folder must not exist. It needs a C compiler, redis-server and
# redis-cli 7 (apt-get install redis-server).
#
# flushes.c, preloaded, notes what the flushes of each file have covered, and makes the flush of the
# old file slow. The script makes two writes within a second, starts a rewrite, makes a third write,
# and kills the server as soon as the new file has this one. Then it takes from a copy of the old
# file what no flush had covered, as lost power can, and starts the server with it. In a second copy
# it leaves 10 bytes of that.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir "$1"
folder=$(cd "$1" && pwd)
cc -shared -fPIC -o "$folder/flushes.so" "$here/flushes.c" -ldl
old=appendonlydir/appendonly.aof.1.incr.aof
new=appendonlydir/appendonly.aof.2.incr.aof

cli() { redis-cli -s "$folder/redis.sock" "$@"; }
start() { # in the folder $1
    redis-server --port 0 --unixsocket "$folder/redis.sock" --save "" --appendonly yes \
        --appendfsync everysec --dir "$folder/$1" --logfile "$folder/log.$1" \
        --daemonize yes > "$folder/said"
    for _ in $(seq 50); do
        cli ping 2> "$folder/said" | grep -q PONG && return
        sleep 0.1
    done
    echo "  the server does not start:"
    sed -n 's/.* # \(.*\(AOF\|Fatal\).*\)/  \1/p' "$folder/log.$1"
    return 1
}
process() { cli info server | tr -d '\r' | sed -n 's/^process_id://p'; }
end() { # the process $1
    while kill -0 "$1" 2> "$folder/said"; do sleep 0.1; done
}
try() { # the state $1 with $2 bytes of the old file
    cp -r "$folder/data" "$folder/$1"
    truncate -s "$2" "$folder/$1/$old"
    start "$1" || return 0
    echo "  old=$(cli get old) lost=$(cli get lost) newer=$(cli get newer)"
    pid=$(process)
    cli shutdown nosave
    end "$pid"
}

mkdir "$folder/data"
export FLUSHES="$folder/flushes"
LD_PRELOAD="$folder/flushes.so"; export LD_PRELOAD
start data
unset LD_PRELOAD
pid=$(process)
sleep 2
cli set old 1 > "$folder/said" # flushed at once; what comes in the same second is not
cli set lost 1 > "$folder/said"
cli bgrewriteaof > "$folder/said"
cli set newer 1 > "$folder/said"
until [ -s "$folder/data/$new" ]; do sleep 0.01; done
kill -9 "$pid"
end "$pid"

redis-server --version | cut -d ' ' -f 1-3
echo "the manifest:"
sed 's/^/  /' "$folder/data/appendonlydir/appendonly.aof.manifest"
flushed=$(grep "$old" "$FLUSHES" | tail -n 1 | sed 's/.* //')
flushed=${flushed:-0}
echo "$old: $(stat -c %s "$folder/data/$old") bytes, $flushed of them flushed"
echo "the old file ends where it is flushed:"
try clean "$flushed"
echo "it has 10 bytes more:"
try torn $((flushed + 10))
