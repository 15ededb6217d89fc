#!/bin/sh
# canopydb: a process is killed as it is about to grow the data file at the end of a checkpoint. Does
# the database open?
#
# Usage: sh kill_checkpoint.sh FOLDER [PROGRAM]. The folder must not exist. It needs strace.
# PROGRAM is what `cargo build --release` made.
set -eu
mkdir "$1"
folder=$(cd "$1" && pwd)
program=$(realpath "${2:-target/release/canopydb-short-file}")
"$program" create "$folder/db"
cp -r "$folder/db" "$folder/copy"
echo "a checkpoint that is not killed, and its calls on the data file:"
strace -f -qq -o "$folder/calls" -P "$folder"/copy/*/DATA \
    -e trace=fallocate,ftruncate,pwrite64,pwritev,fdatasync "$program" change "$folder/copy"
sed 's/^[0-9]* */    /; s/"[^"]*"\.*/…/' "$folder/calls"
"$program" open "$folder/copy"
echo "the same, killed (SIGKILL) at the fallocate, before the call is made:"
strace -f -qq -o "$folder/calls" -P "$folder"/db/*/DATA -e trace=fallocate \
    -e inject=fallocate:signal=KILL "$program" change "$folder/db" || true
"$program" open "$folder/db"
