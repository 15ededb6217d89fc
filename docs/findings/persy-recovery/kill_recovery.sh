#!/bin/sh
# persy: a writer is killed, and the open that recovers its file is killed, too. Can the next one
# read the file?
#
# Usage: sh kill_recovery.sh FOLDER [ROUNDS [PROGRAM]]. The folder must not exist. It needs strace.
# PROGRAM is what `cargo build --release` made.
#
# Each round kills a writer after some commits (SIGKILL). Then, for each N from 1 on, strace kills a
# process that only opens a copy of the file, at its Nth pwrite64 or ftruncate, before the call is
# made, and the program checks the copy. The round ends when the opening has no Nth one.
set -eu
mkdir "$1"
folder=$(cd "$1" && pwd)
program=$(realpath "${3:-target/release/persy-recovery}")
unreadable=0
copies=0
for round in $(seq "${2:-12}"); do
    rm -f "$folder/file"
    : > "$folder/said"
    "$program" write "$folder/file" > "$folder/said" &
    writer=$!
    until [ "$(wc -l < "$folder/said")" -ge $((60 + round * 7)) ]; do sleep 0.01; done
    kill -KILL $writer
    wait $writer 2> "$folder/log" || true
    cp "$folder/file" "$folder/copy"
    "$program" check "$folder/copy" 2> "$folder/log" || echo "round $round, not killed again: fails"
    kill=0
    while true; do
        kill=$((kill + 1))
        cp "$folder/file" "$folder/copy"
        strace -f -qq -o "$folder/calls" -e trace=pwrite64,ftruncate \
            -e "inject=pwrite64,ftruncate:signal=KILL:when=$kill" \
            "$program" open "$folder/copy" > "$folder/log" 2>&1 && break
        copies=$((copies + 1))
        "$program" check "$folder/copy" 2> "$folder/log" && continue
        unreadable=$((unreadable + 1))
        echo "round $round, killed at write $kill of the recovery:" \
            "$(grep -v '^$\|^thread' "$folder/log" | head -n 1)"
    done
done
echo "$unreadable of $copies copies cannot be read"
