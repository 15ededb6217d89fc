#!/bin/sh
# sled: a process is killed while it opens a database. Does the database open after that?
#
# Usage: sh kill_open.sh FOLDER PROGRAM. The folder must not exist. It needs strace. PROGRAM is
# what `cargo build --release` makes in the folder sled-flush.
#
# Round N kills a process that has written to a database and flushed it. Then strace kills (SIGKILL)
# a process that opens it at the Nth write of a thread, before the call is made.
set -eu
mkdir "$1"
folder=$(cd "$1" && pwd)
program=$(realpath "$2")
for round in 1 2 3 4 5; do
    db=$folder/$round
    : > "$folder/said"
    "$program" write "$db" small > "$folder/said" &
    writer=$!
    until [ -s "$folder/said" ]; do sleep 0.01; done
    kill -KILL $writer
    wait $writer 2> "$folder/log" || true
    strace -f -qq -o "$folder/calls" -e trace=write -e "inject=write:signal=KILL:when=$round" \
        "$program" read "$db" > "$folder/log" 2>&1 || true
    echo "killed at write $round of the open; the folder has" \
        $(find "$db" -mindepth 1 -maxdepth 1 -exec basename {} \; | sort)
    "$program" read "$db" | sed 's/^/    /'
    find "$db" -name '*.generating' | while read -r file; do
        rm "$file"
        "$program" read "$db" | sed 's/^/    without the unfinished file: /'
    done
done
