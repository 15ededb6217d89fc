#!/bin/sh
# sled on Linux: flush() has returned, then the power is cut. What is there?
#
# Usage, as root: sh cut_power.sh FOLDER small|large [PROGRAM]. The folder must not exist. PROGRAM
# is what `cargo build --release` made. It mounts two ext4 file systems that are files in FOLDER.
#
# When the program says that its last flush() has returned, it is stopped, and the file that is its
# disk is copied. The copy has each write that had reached the disk, flushed or not. It is mounted,
# and the database in it is opened.
set -eu
mkdir "$1"
folder=$(cd "$1" && pwd)
program=$(realpath "${3:-target/release/sled-flush}")
mkdir "$folder/disk" "$folder/after"
truncate -s 64M "$folder/image"
mkfs.ext4 -q "$folder/image"
mount -o loop "$folder/image" "$folder/disk"
"$program" read "$folder/disk/db" > "$folder/said" # creates the database
sync
: > "$folder/said"
"$program" write "$folder/disk/db" "$2" > "$folder/said" &
writer=$!
until [ -s "$folder/said" ]; do sleep 0.01; done
kill -STOP $writer
cp "$folder/image" "$folder/copy" # the power is cut
kill -KILL $writer
wait $writer 2> "$folder/log" || true
cat "$folder/said"
mount -o loop "$folder/copy" "$folder/after"
echo "after the power cut:"
(cd "$folder/after/db" && find db blobs -type f -exec stat -c '    %n: %s bytes' {} +)
"$program" read "$folder/after/db" | sed 's/^/    /'
umount "$folder/after" "$folder/disk"
