#!/bin/sh
# Which names of new files did no flush of their folder cover, and what is there without one?
#
# Usage: sh lost_name.sh FOLDER PROGRAM. FOLDER must not exist. It needs strace.
#
# `PROGRAM write DATABASE` creates a database, flushes its folder, commits records, and ends without
# closing it. `PROGRAM read DATABASE` opens it and prints what is missing. `PROGRAM more DATABASE`
# opens it, commits more records, closes it, and prints the same.
#
# strace notes which files are created, and the flushes. Linux documents that the flush of a file
# need not cover its name: "For that an explicit fsync() on a file descriptor for the directory is
# also needed" (fsync(2)). So for each file that was created after the last such flush had ended,
# the script removes the file from a copy of the database, and opens the copy.
set -eu
program=$(realpath -e "$2")
command -v strace > /dev/null || { echo "strace is missing" >&2; exit 1; }
mkdir "$1"
folder=$(cd "$1" && pwd)
db=$folder/db
strace -f -y -qq -e trace=openat,fsync,fdatasync,syncfs,sync -o "$folder/calls" \
    "$program" write "$db"

# Prints the names, and before them how often the folder was flushed. The flush of a folder that
# other calls interrupt in the list counts from its end.
awk -v db="$db" '
    /O_CREAT/ && match($0, /"[^"]*"/) {
        name = substr($0, RSTART + 1, RLENGTH - 2)
        if (index(name, db "/") == 1 && !(name in made)) made[name] = NR
    }
    / (sync|syncfs)\(/ { flushes++; flushed = NR }
    / (fsync|fdatasync)\(/ && index($0, "<" db ">") {
        flushes++
        if (/unfinished/) begun[$1] = 1; else flushed = NR
    }
    / (fsync|fdatasync) resumed/ && begun[$1] { flushed = NR; delete begun[$1] }
    END {
        print flushes + 0
        fflush()
        for (name in made) if (made[name] > flushed) print substr(name, length(db) + 2) | "sort"
    }' "$folder/calls" > "$folder/names"

attempt() { # PROGRAM's command $1, with a copy of the database in which the file $2 is missing
    cp -r --sparse=always "$db" "$folder/copy"
    [ -z "$2" ] || rm "$folder/copy/$2"
    "$program" "$1" "$folder/copy" | sed "s,$folder/,,; s/^/    /"
    rm -r "$folder/copy"
}
echo "the folder was flushed $(head -n 1 "$folder/names") times, and not after these were made:"
for name in $(sed 1d "$folder/names"); do
    [ ! -e "$db/$name" ] || echo "    $name"
done
echo "everything is there:"
attempt read ""
for name in $(sed 1d "$folder/names"); do
    [ -e "$db/$name" ] || continue
    echo "$name is not there:"
    attempt read "$name" > "$folder/said"
    cat "$folder/said"
    if grep -q opens "$folder/said"; then attempt more "$name"; fi
done
