/* Lets one system call on a file fail once, as on a disk that fails for a moment.
 *
 * Build: cc -O2 -shared -fPIC -o /var/tmp/libfailing.so failing.c -lpthread
 * Usage: FAIL=CALL FAIL_FILE=NAME FAIL_AT=N [FAIL_PAGES=kept] LD_PRELOAD=/var/tmp/libfailing.so …
 *
 * CALL is `flush` (fsync, fdatasync, and a write through O_DSYNC or O_SYNC), `write` or `read`. The
 * Nth such call on files whose names begin with NAME fails with EIO; a read that fails returns with
 * one flipped bit instead.
 *
 * After a failed flush the kernel (ext4, XFS) has the written pages as clean: it reads them from
 * its memory, and does not write them again. That is what the program sees here, too. When it ends,
 * these pages get the content back that the storage has: that before the writes which no flush
 * covered. A page that was written once more after the failure is dirty again, and the next flush
 * stores it. With FAIL_PAGES=kept they all stay dirty, and nothing is taken back.
 *
 * The program must end by exit(), or by a SIGKILL to itself, and need not close its database. Writes through mappings are not
 * seen. Names, and sizes that ftruncate or fallocate set, are stored at once.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PAGE = 4096, MAX_FILES = 64 };

struct page {
    struct page *next;
    off_t start;
    int is_lost;           /* its flush failed, and it was not written again */
    char stored[PAGE];     /* what the storage has; zeros follow its end */
};

struct file {
    ino_t inode;
    char path[512];
    off_t stored_size;
    int is_flushed_later;  /* by a flush that succeeded, after the one that failed */
    struct page *pages;    /* written, and not stored */
};

static struct file files[MAX_FILES];
static int known_files;
static int calls;
static pthread_mutex_t notes = PTHREAD_MUTEX_INITIALIZER;

/* Returns what is known of a file; NULL if it is not one that is to fail. */
static struct file *file_of(int descriptor) {
    const char *wanted = getenv("FAIL_FILE");
    char link[64], path[512] = {0};
    struct stat status;
    if (!wanted || fstat(descriptor, &status) || !S_ISREG(status.st_mode))
        return NULL;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    if (readlink(link, path, sizeof path - 1) < 0 || !strrchr(path, '/') ||
        strncmp(strrchr(path, '/') + 1, wanted, strlen(wanted)))
        return NULL;
    for (int index = 0; index < known_files; index++)
        if (files[index].inode == status.st_ino)
            return &files[index];
    if (known_files == MAX_FILES) {
        fprintf(stderr, "failing: more than %d files\n", MAX_FILES);
        _exit(1);
    }
    struct file *file = &files[known_files++];
    file->inode = status.st_ino;
    file->stored_size = status.st_size;
    strcpy(file->path, path);
    return file;
}

/* Counts a call, and returns whether it fails. */
static int fails(struct file *file, const char *call) {
    const char *wanted = getenv("FAIL"), *at = getenv("FAIL_AT");
    if (!file || !wanted || !at || strcmp(call, wanted) || ++calls != atoi(at))
        return 0;
    fprintf(stderr, "failing: %s %d of %s\n", call, calls, strrchr(file->path, '/') + 1);
    return 1;
}

/* Keeps what the storage has of pages that are about to be written. */
static void before_write(struct file *file, int descriptor, off_t offset, size_t length) {
    off_t end = offset + (off_t)length;
    for (off_t start = offset / PAGE * PAGE; start < end; start += PAGE) {
        struct page *page = file->pages;
        while (page && page->start != start)
            page = page->next;
        if (!page) {
            page = calloc(1, sizeof *page);
            page->start = start;
            page->next = file->pages;
            file->pages = page;
            int readable = open(file->path, O_RDONLY);
            if (syscall(SYS_pread64, readable < 0 ? descriptor : readable, page->stored, PAGE,
                        start) < 0)
                perror(file->path);
            close(readable);
        }
        page->is_lost = 0;
    }
}

static void after_flush(struct file *file, int descriptor) {
    struct stat status;
    if (!fstat(descriptor, &status))
        file->stored_size = status.st_size;
    file->is_flushed_later = 1;
    struct page **link = &file->pages;
    while (*link) {
        struct page *page = *link;
        if (page->is_lost) {
            link = &page->next;
        } else {
            *link = page->next;
            free(page);
        }
    }
}

static void after_failed_flush(struct file *file) {
    const char *pages = getenv("FAIL_PAGES");
    if (pages && !strcmp(pages, "kept"))
        return;
    file->is_flushed_later = 0;
    for (struct page *page = file->pages; page; page = page->next)
        page->is_lost = 1;
}

static int fail(void) {
    errno = EIO;
    return -1;
}

static ssize_t write_at(long call, int descriptor, const void *data, size_t length, off_t offset) {
    pthread_mutex_lock(&notes);
    struct file *file = file_of(descriptor);
    int flushes = file && fcntl(descriptor, F_GETFL) & (O_DSYNC | O_SYNC);
    ssize_t written = -1;
    if (fails(file, "write")) {
        fail();
    } else {
        if (file)
            before_write(file, descriptor, offset, length);
        written = call == SYS_write ? syscall(call, descriptor, data, length)
                                    : syscall(call, descriptor, data, length, offset);
        if (flushes && fails(file, "flush")) {
            after_failed_flush(file);
            written = fail();
        } else if (flushes && written >= 0) {
            after_flush(file, descriptor);
        }
    }
    int reason = errno;
    pthread_mutex_unlock(&notes);
    errno = reason;
    return written;
}

ssize_t pwrite(int descriptor, const void *data, size_t length, off_t offset) {
    return write_at(SYS_pwrite64, descriptor, data, length, offset);
}
ssize_t pwrite64(int descriptor, const void *data, size_t length, off_t offset) {
    return write_at(SYS_pwrite64, descriptor, data, length, offset);
}
ssize_t write(int descriptor, const void *data, size_t length) {
    int appends = fcntl(descriptor, F_GETFL) & O_APPEND;
    struct stat status = {0};
    off_t offset = appends && !fstat(descriptor, &status) ? status.st_size
                                                          : lseek(descriptor, 0, SEEK_CUR);
    return write_at(SYS_write, descriptor, data, length, offset < 0 ? 0 : offset);
}

/* Each part counts as a write. */
ssize_t pwritev(int descriptor, const struct iovec *parts, int count, off_t offset) {
    ssize_t total = 0;
    for (int part = 0; part < count; part++) {
        ssize_t written = write_at(SYS_pwrite64, descriptor, parts[part].iov_base,
                                   parts[part].iov_len, offset + total);
        if (written < 0)
            return total ? total : written;
        total += written;
        if ((size_t)written < parts[part].iov_len)
            break;
    }
    return total;
}

static int flush(long call, int descriptor) {
    pthread_mutex_lock(&notes);
    struct file *file = file_of(descriptor);
    int result;
    if (fails(file, "flush")) {
        after_failed_flush(file);
        result = fail();
    } else {
        result = (int)syscall(call, descriptor);
        if (file && result == 0)
            after_flush(file, descriptor);
    }
    int reason = errno;
    pthread_mutex_unlock(&notes);
    errno = reason;
    return result;
}
int fsync(int descriptor) { return flush(SYS_fsync, descriptor); }
int fdatasync(int descriptor) { return flush(SYS_fdatasync, descriptor); }

static ssize_t after_read(int descriptor, char *data, ssize_t length) {
    int reason = errno;
    pthread_mutex_lock(&notes);
    if (length > 0 && fails(file_of(descriptor), "read"))
        data[length / 2] ^= 1;
    pthread_mutex_unlock(&notes);
    errno = reason;
    return length;
}
ssize_t read(int descriptor, void *data, size_t length) {
    return after_read(descriptor, data, syscall(SYS_read, descriptor, data, length));
}
ssize_t pread(int descriptor, void *data, size_t length, off_t offset) {
    return after_read(descriptor, data, syscall(SYS_pread64, descriptor, data, length, offset));
}
ssize_t pread64(int descriptor, void *data, size_t length, off_t offset) {
    return pread(descriptor, data, length, offset);
}

/* Takes back what the storage does not have. No other thread writes any more: the lock stays. */
__attribute__((destructor)) static void lose_pages(void) {
    pthread_mutex_lock(&notes);
    for (int index = 0; index < known_files; index++) {
        struct file *file = &files[index];
        int lost = 0, opened = -1;
        struct stat status;
        for (struct page *page = file->pages; page; page = page->next) {
            if (!page->is_lost)
                continue;
            if (opened < 0)
                opened = open(file->path, O_WRONLY);
            if (opened < 0 || fstat(opened, &status)) {
                perror(file->path);
                break;
            }
            off_t end = status.st_size < page->start + PAGE ? status.st_size : page->start + PAGE;
            if (end > page->start &&
                syscall(SYS_pwrite64, opened, page->stored, end - page->start, page->start) < 0)
                perror(file->path);
            lost++;
        }
        if (!lost)
            continue;
        if (!file->is_flushed_later && ftruncate(opened, file->stored_size))
            perror(file->path);
        close(opened);
        fprintf(stderr, "failing: %s lacks %d pages of the failed flush\n",
                strrchr(file->path, '/') + 1, lost);
    }
}

/* A program that kills itself ends as one whose machine fails. */
int kill(pid_t process, int number) {
    if (process == getpid() && number == SIGKILL)
        lose_pages();
    return syscall(SYS_kill, process, number);
}
