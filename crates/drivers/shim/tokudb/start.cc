// MariaDB starts the library itself, and took out of it what did so when it was loaded. This is that.

int toku_ydb_init(void);

static void __attribute__((constructor)) start() {
    if (toku_ydb_init() != 0)
        __builtin_trap();
}
