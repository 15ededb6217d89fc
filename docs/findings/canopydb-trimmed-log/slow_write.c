/* Lets pwritev take WRITE_S seconds once SLOW_WRITES is in the environment, as on a slow disk.
 *
 * Build: cc -O2 -shared -fPIC -o /var/tmp/libslow.so slow_write.c
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { WRITE_S = 3 };

ssize_t pwritev(int descriptor, const struct iovec *parts, int count, off_t offset) {
    if (getenv("SLOW_WRITES"))
        sleep(WRITE_S);
    return syscall(SYS_pwritev, descriptor, parts, count, offset, 0);
}
