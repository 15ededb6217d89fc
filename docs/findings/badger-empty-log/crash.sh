#!/bin/sh
# Badger: a process is killed between the creation of a log and its first extension. Does the
# database open?
#
# Usage: sh crash.sh FOLDER [COUNT]. The folder must not exist. It needs Go and strace.
#
# Round N starts main.go, which commits with SyncWrites. strace kills it (SIGKILL) at the Nth
# ftruncate of a thread, before the call is made. Then the database is opened twice.
set -eu
mkdir "$1"
folder=$(cd "$1" && pwd)
cd "$(dirname "$0")"
go build -o "$folder/program" .
for round in $(seq "${2:-6}"); do
    db=$folder/$round
    strace -f -qq -e trace=ftruncate -e "inject=ftruncate:signal=KILL:when=$round" \
        -o "$folder/calls" "$folder/program" write "$db" > "$folder/log" 2>&1 || true
    empty=$(find "$db" -size 0 \( -name '*.mem' -o -name '*.vlog' \) -exec basename {} \;)
    echo "killed at ftruncate $round, after $(grep -c committed "$folder/log" || true) commits;" \
        "empty:" ${empty:-none}
    "$folder/program" read "$db" | sed "s,$folder/,,; s/^/    first:  /"
    "$folder/program" read "$db" | sed "s,$folder/,,; s/^/    second: /"
done
