#!/bin/sh
# Lets the flush of Berkeley DB's log fail once, in several places, and opens the database again.
# Usage: failed_flush.sh FOLDER PROGRAM LIBRARY, with failed_flush and ../failing-flush's library.
set -u
folder=$1 program=$2 library=$3
try() { # TITLE MODE FILE N [dropped|kept]
    rm -rf "$folder" && mkdir -p "$folder" || exit 1
    echo "$1:"
    FAIL=flush FAIL_FILE=$3 FAIL_AT=$4 FAIL_PAGES=${5:-dropped} LD_PRELOAD=$library \
        "$program" "$folder" "$2" 2>&1 | sed 's/^/    /'
    "$program" "$folder" look | sed 's/^/    /'
}
try "the first flush of the last log" commit log.0000000005 1
try "the fourth flush of the last log" commit log.0000000005 4
try "the first flush of a log before" commit log.0000000003 1
try "the third flush of a log before" commit log.0000000003 3
try "the same, and the pages stay dirty" commit log.0000000003 3 kept
try "the first flush of the last log, and the program exits" exit-at-error log.0000000005 1
try "the third flush of a log before, and the program exits" exit-at-error log.0000000003 3
