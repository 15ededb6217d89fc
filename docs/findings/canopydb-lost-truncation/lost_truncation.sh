#!/bin/sh
# canopydb: the truncation of a log file does not reach the disk before power is lost.
#
# Usage: sh lost_truncation.sh FOLDER [PROGRAM]. The folder must not exist. It needs strace.
# PROGRAM is what `cargo build --release` made.
#
# strace notes the calls on the log files. The script gives the first log file of a copy the size
# that it had before the truncation; the part that is added reads as zeros, as it did.
set -eu
program=$(realpath -e "${2:-target/release/canopydb-lost-truncation}")
command -v strace > /dev/null || { echo "strace is missing" >&2; exit 1; }
mkdir "$1"
folder=$(cd "$1" && pwd)
log=WAL-0000000000
strace -f -y -qq -e trace=openat,fallocate,ftruncate,fsync,fdatasync,unlink,sync,syncfs \
    -o "$folder/calls" "$program" write "$folder/db"

echo "the calls on the log files and their folder, in order:"
# strace writes a call that others interrupt as two lines; the second one names no file.
grep -v 'resumed>' "$folder/calls" | grep -E "WAL-|<$folder/db>|sync\(\)" | grep -v O_DIRECTORY |
    sed "s,<[^>]*/,<,; s,\"[^\"]*/,\",; s/^[0-9]* *//; s/ <unfinished.*//; s/ *= .*//
         s/AT_FDCWD[^,]*, //; s/([0-9]*</(</" |
    uniq -c | sed 's/^ *\([0-9]*\) /    \1 × /'
before=$(sed -n "s/.*fallocate.*$log.*, 0, \([0-9]*\).*/\1/p" "$folder/calls" | tail -n 1)
after=$(stat -c %s "$folder/db/$log")

read_twice() { # the copy $1
    "$program" read "$1" | sed 's/^/    /'
    "$program" read "$1" | sed 's/^/    again: /'
}
cp -r "$folder/db" "$folder/copy"
echo "$log has $after bytes, as after the truncation:"
read_twice "$folder/copy"
cp -r "$folder/db" "$folder/late"
truncate -s "$before" "$folder/late/$log"
cp -r "$folder/late" "$folder/more"
echo "$log has $before bytes, as before it:"
read_twice "$folder/late"
echo "the same, and one more commit after it was opened first:"
"$program" more "$folder/more" | sed 's/^/    /'
