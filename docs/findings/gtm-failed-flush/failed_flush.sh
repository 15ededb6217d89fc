# Lets one flush of GT.M's journal fail, goes on, and loses the power. Needs the library of
# ../failing-flush. Usage: sh failed_flush.sh FOLDER LIBRARY; the folder must not exist.

. "$(dirname "$0")/database.sh"
make_database "$1"
FAIL=${FAIL:-flush} FAIL_FILE=database.mjl FAIL_AT=5 LD_PRELOAD=$2 $gtm_dist/mumps -run commits 1 20
recover
