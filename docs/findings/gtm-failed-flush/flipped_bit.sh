# Flips one bit of a value in a closed GT.M database. Usage: sh flipped_bit.sh FOLDER; the folder
# must not exist.

. "$(dirname "$0")/database.sh"
make_database "$1"
$gtm_dist/mumps -run commits 1 3
recover
python3 - <<PYTHON
from pathlib import Path
path = Path("database.dat")
content = bytearray(path.read_bytes())
content[content.index(b" " * 3000) + 1500] ^= 1
path.write_bytes(content)
PYTHON
$gtm_dist/mupip integ -region DEFAULT 2>&1 | grep -i 'errors'
$gtm_dist/mumps -run records^commits
