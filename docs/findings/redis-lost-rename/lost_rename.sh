#!/bin/sh
# Redis at `appendfsync always`: which names of the append-only files does a flush cover?
#
# Usage: sh lost_rename.sh FOLDER. The folder must not exist. It needs strace, and redis-server and
# redis-cli 7 (apt-get install redis-server).
#
# A server makes 100 writes, rewrites its file, makes 20 more writes, and is killed. strace notes
# the renamings and the flushes of folders. The script makes copies in which names are missing, as
# after lost power, and starts a server with each. Another server is killed during a rewrite, when
# it is about to flush the folder of the append-only files.
set -eu
for tool in strace redis-server redis-cli; do
    command -v "$tool" > /dev/null || { echo "$tool is missing" >&2; exit 1; }
done
mkdir "$1"
folder=$(cd "$1" && pwd)

cli() { redis-cli -s "$folder/redis.sock" "$@"; }
start() { # in the folder $1, run by the command that follows it, if any
    data=$1
    shift
    "$@" redis-server --port 0 --unixsocket "$folder/redis.sock" --save "" --appendonly yes \
        --appendfsync always --dir "$folder/$data" --logfile "$folder/log.$data" &
    for _ in $(seq 50); do
        cli ping 2> "$folder/said" | grep -q PONG && return
        sleep 0.1
    done
    echo "    the server does not start:"
    sed -n 's/.* # \(.*\(AOF\|Fatal\).*\)/      \1/p' "$folder/log.$data"
    return 1
}
process() { cli info server | tr -d '\r' | sed -n 's/^process_id://p'; }
end() { # waits until the process $1 has ended
    for _ in $(seq 600); do
        kill -0 "$1" 2> "$folder/said" || return 0
        sleep 0.1
    done
    echo "the process $1 does not end" >&2
    exit 1
}
put() { # the numbers $1 to $2
    seq "$1" "$2" | sed 's/.*/set & &/' | cli | grep -c OK
}
attempt() { # the copy $1
    start "$1" || return 0
    echo "    $(cli dbsize) records"
    pid=$(process)
    cli shutdown nosave
    end "$pid"
}
trap 'cli shutdown nosave > "$folder/said" 2>&1 || true' EXIT # the server that a failure has left
trap 'exit 1' HUP INT TERM
shorten() { sed "s,$folder/,,g; s/^[0-9]* */    /; s/([0-9]*</(</; s/ *= 0//"; }

redis-server --version | cut -d ' ' -f 1-3
mkdir "$folder/data"
start data strace -f -y -qq -o "$folder/calls" \
    -e trace=mkdir,rename,fsync,fdatasync,unlink,sync,syncfs
echo "$(put 1 100) writes acknowledged"
cli bgrewriteaof
until cli info persistence | grep -q 'aof_rewrite_in_progress:0' &&
    [ -e "$folder/data/appendonlydir/appendonly.aof.2.base.rdb" ]; do sleep 0.1; done
echo "$(put 101 120) writes acknowledged"
pid=$(process)
kill -9 "$pid"
end "$pid"
echo "the calls that concern names:"
grep -E "mkdir\(|rename\(|unlink\(|sync\([0-9]*<($folder/data|[^>]*dir)>|sync\(\)" "$folder/calls" |
    grep -v ' = -1 ' | shorten

base=appendonly.aof.2.base.rdb
temporary=$(sed -n "s/.*rename(\"\(temp-rewriteaof-bg-[0-9]*.aof\)\".*$base.*/\1/p" "$folder/calls")
for copy in all both undone none; do cp -r "$folder/data" "$folder/$copy"; done
echo "everything is there:"
attempt all
echo "the new name of the base file is there, and the old one, too:"
cp "$folder/both/appendonlydir/$base" "$folder/both/$temporary"
attempt both
echo "the renaming of the base file is not there, as if it needed both folders' flushes:"
mv "$folder/undone/appendonlydir/$base" "$folder/undone/$temporary"
attempt undone
echo "the same, renamed by hand:"
mv "$folder/undone/$temporary" "$folder/undone/appendonlydir/$base"
attempt undone
echo "the name appendonlydir is not there:"
rm -r "$folder/none/appendonlydir"
attempt none

echo "a rewrite, killed (SIGKILL) as it is about to flush appendonlydir:"
mkdir "$folder/cut"
start cut
echo "    $(put 1 100) writes acknowledged"
pid=$(process)
cli shutdown nosave
end "$pid"
# The first flush of the folder is that of the new log, at the start of the rewrite.
start cut strace -f -y -qq -P "$folder/cut/appendonlydir" -o "$folder/calls.cut" \
    -e trace=fdatasync -e inject=fdatasync:signal=KILL:when=2
pid=$(process)
cli bgrewriteaof | sed 's/^/    /'
end "$pid"
for copy in kept early; do cp -r "$folder/cut" "$folder/$copy"; done
echo "both renamings are there:"
attempt kept
echo "that of the manifest is there, and that of the base file is not:"
mv "$folder/early/appendonlydir/$base" "$folder/early/temp-rewriteaof-bg.aof"
attempt early
