#!/bin/sh
# Keeps Badger's value log on a disk that fills up: a sparse file in a small tmpfs, with ext4.
# Usage: failed_flush.sh FOLDER PROGRAM, as root. FOLDER must not exist; PROGRAM is main.go's.
set -eu
folder=$1 program=$2
mkdir -p "$folder/index" "$folder/memory" "$folder/disk"
mount -t tmpfs -o size=6m none "$folder/memory"
image=$folder/memory/image
trap 'umount "$folder/disk" 2>/dev/null; umount "$folder/memory"' EXIT
mount_disk() { mount -o loop "$image" "$folder/disk"; }
run() { "$program" "$1" "$folder/index" "$folder/disk/values" >"$folder/$1" 2>&1 || true; }

truncate -s 64M "$image"
mkfs.ext4 -q -E lazy_itable_init=0 "$image"
mount_disk
mkdir "$folder/disk/values"
sync
left=$(df -k --output=avail "$folder/memory" | tail -1)
dd if=/dev/zero of="$folder/memory/other" bs=1k count=$((left - 200)) status=none
run write
grep 'Error while' "$folder/write" | sed 's/.*ERROR: /    logged: /' | uniq -c
grep -v ' ERROR: ' "$folder/write"
echo "the disk has room again, and is mounted again:"
rm "$folder/memory/other"
umount "$folder/disk"
mount_disk
run read
grep -v ' ERROR: ' "$folder/read"
