# Fills the disk of a GT.M database, commits, and loses the power. Root only: it mounts a file
# system. Usage: sh full_disk.sh FOLDER; the folder must not exist.

. "$(dirname "$0")/database.sh"
mkdir "$1" && cd "$1" && mkdir disk || exit
truncate -s 64M image && mkfs.ext4 -q image && mount -o loop image disk || exit
trap 'cd / && umount "$1/disk"' EXIT
make_database disk/database
printf 'dd if=/dev/zero of=../ballast bs=4096 2>/dev/null; df --output=avail . | tail -1\n' >fill
chmod +x fill
$gtm_dist/mumps -run commits 1 24 fill 25 60 | cut -c1-70
rm ../ballast
recover
