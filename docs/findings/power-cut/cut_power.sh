#!/bin/sh
# A program commits to a database on a file system of its own. The power is cut. What is there?
#
# Usage, as root: sh cut_power.sh FOLDER ext4|xfs|btrfs PROGRAM [ARGUMENT]. FOLDER must not exist.
# It needs the tools of the file system (e2fsprogs, xfsprogs, btrfs-progs). It mounts two file
# systems that are files in FOLDER.
#
# `PROGRAM write DATABASE [ARGUMENT]` commits records and ends without closing the database. Then
# the file that is its disk is copied. The copy has each write that had reached the disk, flushed or
# not. It is mounted, and `PROGRAM read DATABASE` prints what is there.
set -eu
program=$(realpath -e "$3")
command -v "mkfs.$2" > /dev/null || { echo "mkfs.$2 is missing" >&2; exit 1; }
mkdir "$1"
folder=$(cd "$1" && pwd)
device=
cleanup() { # what a failure has left
    for mounted in "$folder/disk" "$folder/after"; do
        if mountpoint -q "$mounted"; then umount "$mounted" || true; fi
    done
    if [ -n "$device" ]; then losetup -d "$device" || true; fi
}
trap cleanup EXIT
trap 'exit 1' HUP INT TERM
mkdir "$folder/disk" "$folder/after"
truncate -s 2G "$folder/image"
"mkfs.$2" -q "$folder/image" > "$folder/said" 2>&1 || { cat "$folder/said" >&2; exit 1; }
device=$(losetup -f --show "$folder/image")
mount "$device" "$folder/disk"
"$program" write "$folder/disk/db" ${4+"$4"}
cp --sparse=always "$folder/image" "$folder/copy" # the power is cut
umount "$folder/disk"
# btrfs takes the copy for the same device otherwise.
[ "$2" != btrfs ] || btrfs device scan --forget "$device"
losetup -d "$device"
device=
mount -o loop "$folder/copy" "$folder/after"
echo "after the power cut, on $2:"
"$program" read "$folder/after/db" | sed "s,$folder/,,; s/^/    /"
umount "$folder/after"
