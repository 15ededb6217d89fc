# Functions for the scripts beside it: a GT.M database with before-image journaling, as its
# documentation recommends for recovery.

here=$(cd "$(dirname "$0")" && pwd)
export gtm_dist=${gtm_dist:-$(echo /usr/lib/*/fis-gtm/V*)}

# Makes the database in a folder that does not exist, and goes there.
make_database() { # FOLDER
    mkdir "$1" && cp "$here/commits.m" "$1" && cd "$1" || exit
    export gtmgbldir=$PWD/database.gld gtmroutines="$PWD $gtm_dist/libgtmutil.so $gtm_dist"
    $gtm_dist/mumps -run GDE >log 2>&1 <<GDE
change -segment DEFAULT -file=$PWD/database.dat
change -region DEFAULT -record_size=30000
exit
GDE
    $gtm_dist/mupip create >>log 2>&1
    $gtm_dist/mupip set -journal=enable,on,before,file=database.mjl -region DEFAULT >>log 2>&1
}

# As after a start of the machine: the database's shared memory is gone; then recovers.
recover() {
    ipcrm -m "$($gtm_dist/mupip dumpfhead -region DEFAULT 2>/dev/null |
        sed -n 's/.*"sgmnt_data.shmid")=//p')"
    $gtm_dist/mupip journal -recover -backward database.mjl >>log 2>&1
    grep -o 'Recover successful' log
    $gtm_dist/mumps -run records^commits
}
