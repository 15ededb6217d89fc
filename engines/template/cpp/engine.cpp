// @NAME@: a storage engine as a plug-in of trueput (trueput_engine.h describes each function).
//
// Records are in a treap in memory, whose nodes never change: a write copies the path to the root,
// so that readers keep the tree of their beginning. A commit appends its changes to a log, and an
// open reads the log. Replace the store by yours, and keep what is around it.
#include "trueput_engine.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

TP_DESCRIPTION_FILE("description.json");

namespace {

// ---- The store: a treap whose nodes never change. ----

struct Node;
using Tree = std::shared_ptr<const Node>;

struct Node {
    std::string key;
    std::string value;
    uint32_t priority; // of the heap: higher ones are nearer to the root
    Tree left;
    Tree right;
};

// A hash of the key (FNV-1a), so that the tree's form depends on its keys alone.
uint32_t priority_of(const std::string &key)
{
    uint32_t hash = 2166136261u;
    for (unsigned char byte : key) {
        hash = (hash ^ byte) * 16777619u;
    }
    return hash * 2654435761u;
}

// Compares bytes as unsigned numbers; a prefix comes first.
int compare(const void *key, size_t size, const std::string &other)
{
    size_t common = size < other.size() ? size : other.size();
    int order = common > 0 ? std::memcmp(key, other.data(), common) : 0;
    if (order != 0) {
        return order;
    }
    return size < other.size() ? -1 : size > other.size();
}

Tree with_children(const Tree &node, Tree left, Tree right)
{
    return std::make_shared<const Node>(
        Node{node->key, node->value, node->priority, std::move(left), std::move(right)});
}

Tree insert(const Tree &root, const Tree &added)
{
    if (!root) {
        return added;
    }
    int order = compare(added->key.data(), added->key.size(), root->key);
    if (order == 0) {
        return with_children(added, root->left, root->right);
    }
    if (order < 0) {
        Tree left = insert(root->left, added);
        if (left->priority > root->priority) {
            return with_children(left, left->left, with_children(root, left->right, root->right));
        }
        return with_children(root, left, root->right);
    }
    Tree right = insert(root->right, added);
    if (right->priority > root->priority) {
        return with_children(right, with_children(root, root->left, right->left), right->right);
    }
    return with_children(root, root->left, right);
}

// Joins two trees, of which the first has the lower keys.
Tree join(const Tree &low, const Tree &high)
{
    if (!low || !high) {
        return low ? low : high;
    }
    if (low->priority > high->priority) {
        return with_children(low, low->left, join(low->right, high));
    }
    return with_children(high, join(low, high->left), high->right);
}

// Removes a key that is there.
Tree remove(const Tree &root, const std::string &key)
{
    int order = compare(key.data(), key.size(), root->key);
    if (order == 0) {
        return join(root->left, root->right);
    }
    if (order < 0) {
        return with_children(root, remove(root->left, key), root->right);
    }
    return with_children(root, root->left, remove(root->right, key));
}

const Node *find(const Node *root, const void *key, size_t size)
{
    while (root != nullptr) {
        int order = compare(key, size, root->key);
        if (order == 0) {
            return root;
        }
        root = (order < 0 ? root->left : root->right).get();
    }
    return nullptr;
}

// The nearest node above (or below) the key, or at it if `or_equal`.
const Node *beside(const Node *root, const void *key, size_t size, bool is_above, bool or_equal)
{
    const Node *best = nullptr;
    while (root != nullptr) {
        int order = compare(key, size, root->key);
        bool is_candidate = (is_above ? order < 0 : order > 0) || (order == 0 && or_equal);
        if (is_candidate) {
            best = root;
        }
        root = (is_candidate == is_above ? root->left : root->right).get();
    }
    return best;
}

const Node *outermost(const Node *root, bool is_last)
{
    while (root != nullptr && (is_last ? root->right : root->left) != nullptr) {
        root = (is_last ? root->right : root->left).get();
    }
    return root;
}

// ---- Errors: an exception within, a status outside. ----

struct Failure {
    tp_status status;
    int64_t code;
    std::string text;
};

[[noreturn]] void fail_with_errno(const char *what)
{
    int code = errno;
    bool is_full = code == ENOSPC || code == EDQUOT || code == EFBIG;
    throw Failure{is_full ? TP_FULL : TP_ENGINE, code, std::string(what) + ": " + strerror(code)};
}

// Calls what may throw, and returns its status. No exception leaves a plug-in.
template <typename Call> tp_status guarded(tp_error *error, Call call)
{
    try {
        return call();
    } catch (const Failure &failure) {
        return tp_fail(error, failure.status, failure.code, failure.text.c_str());
    } catch (const std::bad_alloc &) {
        return tp_fail(error, TP_FULL, 0, "no memory");
    } catch (const std::exception &exception) {
        return tp_fail(error, TP_ENGINE, 0, exception.what());
    } catch (...) {
        return tp_fail(error, TP_ENGINE, 0, "an exception of an unknown type");
    }
}

// ---- The log: for each commit its size and its checksum, 4 bytes each, and its changes. A change
// is 'P' or 'D', the sizes of key and value, 4 bytes each, the key, the value. ----

constexpr size_t HEADER_SIZE = 8;
constexpr size_t CHANGE_SIZE = 9;

// CRC-32 (IEEE 802.3), without a table: the log is short.
uint32_t checksum(const char *bytes, size_t size)
{
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < size; i++) {
        crc ^= static_cast<unsigned char>(bytes[i]);
        for (int bit = 0; bit < 8; bit++) {
            crc = (crc >> 1) ^ (0xedb88320u & (0u - (crc & 1u)));
        }
    }
    return ~crc;
}

void append_number(std::string &to, size_t number)
{
    auto small = static_cast<uint32_t>(number);
    to.append(reinterpret_cast<const char *>(&small), sizeof small);
}

uint32_t number_at(const std::string &text, size_t at)
{
    uint32_t number;
    std::memcpy(&number, text.data() + at, sizeof number);
    return number;
}

void append_change(std::string &log, char kind, const std::string &key, const std::string &value)
{
    log.push_back(kind);
    append_number(log, key.size());
    append_number(log, value.size());
    log += key;
    log += value;
}

class Log {
public:
    Log(const std::string &folder, bool is_sync, uint64_t step) : is_sync_(is_sync), step_(step)
    {
        file_ = ::open((folder + "/log").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (file_ < 0) {
            fail_with_errno("cannot open the log");
        }
        // The entry of the log in its folder is durable, too.
        int directory = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        bool is_synced = directory >= 0 && fsync(directory) == 0;
        if (directory >= 0) {
            ::close(directory);
        }
        if (!is_synced) {
            close_after_failure("cannot flush the folder");
        }
        if (flock(file_, LOCK_EX | LOCK_NB) != 0) {
            ::close(file_);
            throw Failure{TP_UNSUPPORTED, EBUSY, "the database is open already"};
        }
    }

    Log(const Log &) = delete;
    Log &operator=(const Log &) = delete;

    ~Log()
    {
        ::close(file_);
    }

    // The commits up to the first that is not whole; the rest is cut off.
    Tree recover()
    {
        struct stat status;
        if (fstat(file_, &status) != 0) {
            fail_with_errno("cannot read the log");
        }
        std::string text(static_cast<size_t>(status.st_size), '\0');
        for (size_t at = 0; at < text.size();) {
            ssize_t got = pread(file_, &text[at], text.size() - at, static_cast<off_t>(at));
            if (got <= 0) {
                fail_with_errno("cannot read the log");
            }
            at += static_cast<size_t>(got);
        }
        Tree root;
        while (text.size() - end_ >= HEADER_SIZE) {
            size_t size = number_at(text, end_);
            size_t from = end_ + HEADER_SIZE;
            bool is_whole = size > 0 && size <= text.size() - from &&
                            checksum(text.data() + from, size) == number_at(text, end_ + 4);
            if (!is_whole || !replay(root, text, from, from + size)) {
                break;
            }
            end_ = from + size;
        }
        if (end_ < text.size() && ftruncate(file_, static_cast<off_t>(end_)) != 0) {
            fail_with_errno("cannot cut off the log");
        }
        reserved_ = end_;
        return root;
    }

    // Appends a commit, which begins with room for its header, and flushes it at `sync`.
    void append(std::string &commit)
    {
        if (is_broken_) {
            throw Failure{TP_ENGINE, 0, "a flush failed: open the database again"};
        }
        size_t size = commit.size() - HEADER_SIZE;
        if (size > UINT32_MAX) {
            throw Failure{TP_UNSUPPORTED, 0, "a transaction of 4 GiB or more"};
        }
        uint32_t header[2] = {static_cast<uint32_t>(size),
                              checksum(commit.data() + HEADER_SIZE, size)};
        std::memcpy(&commit[0], header, sizeof header);
        reserve(end_ + commit.size());
        write(commit);
        if (is_sync_ && fdatasync(file_) != 0) {
            is_broken_ = true;
            fail_with_errno("cannot flush the log");
        }
        end_ += commit.size();
    }

    void flush() const
    {
        if (fdatasync(file_) != 0) {
            fail_with_errno("cannot flush the log");
        }
    }

    uint64_t size() const
    {
        return end_;
    }

    bool is_sync() const
    {
        return is_sync_;
    }

    uint64_t step() const
    {
        return step_;
    }

private:
    [[noreturn]] void close_after_failure(const char *what) const
    {
        int code = errno;
        ::close(file_);
        errno = code;
        fail_with_errno(what);
    }

    // Applies a commit of the log; false if it is damaged, and then nothing.
    static bool replay(Tree &root, const std::string &text, size_t at, size_t end)
    {
        Tree changed = root;
        while (at < end) {
            if (end - at < CHANGE_SIZE) {
                return false;
            }
            size_t key_size = number_at(text, at + 1);
            size_t value_size = number_at(text, at + 5);
            char kind = text[at];
            at += CHANGE_SIZE;
            if (end - at < key_size + value_size || (kind != 'P' && kind != 'D')) {
                return false;
            }
            std::string key = text.substr(at, key_size);
            if (kind == 'P') {
                uint32_t priority = priority_of(key);
                std::string value = text.substr(at + key_size, value_size);
                changed = insert(changed, std::make_shared<const Node>(
                                              Node{key, value, priority, nullptr, nullptr}));
            } else if (find(changed.get(), key.data(), key.size()) != nullptr) {
                changed = remove(changed, key);
            }
            at += key_size + value_size;
        }
        root = changed;
        return true;
    }

    void reserve(uint64_t end)
    {
        if (step_ == 0 || end <= reserved_) {
            return;
        }
        uint64_t steps = (end - reserved_ + step_ - 1) / step_;
        auto length = static_cast<off_t>(steps * step_);
        errno = posix_fallocate(file_, static_cast<off_t>(reserved_), length);
        if (errno != 0) {
            fail_with_errno("cannot reserve the log");
        }
        reserved_ += static_cast<uint64_t>(length);
    }

    void write(const std::string &commit)
    {
        for (size_t done = 0; done < commit.size();) {
            ssize_t written = pwrite(file_, commit.data() + done, commit.size() - done,
                                     static_cast<off_t>(end_ + done));
            if (written < 0 && errno != EINTR) {
                int code = errno;
                // Part of it may be there; it is written over or cut off.
                is_broken_ = ftruncate(file_, static_cast<off_t>(end_)) != 0;
                reserved_ = end_;
                errno = code;
                fail_with_errno("cannot write the log");
            }
            done += written > 0 ? static_cast<size_t>(written) : 0;
        }
    }

    int file_;
    bool is_sync_;
    uint64_t step_;
    uint64_t end_ = 0;
    uint64_t reserved_ = 0;
    bool is_broken_ = false; // a flush failed: what the log has is unknown
};

} // namespace

struct tp_database {
    Log log;
    std::mutex writer; // held by the one write transaction
    std::mutex root_lock;
    Tree root; // of the last commit
    uint64_t commits = 0;
};

struct tp_session {
    tp_session(tp_database *of, tp_error *errors) : database(of), error(errors)
    {
    }

    tp_database *database;
    tp_error *error;
    uint32_t mode = TP_READ;
    bool is_open = false;     // a transaction is
    bool has_changes = false;
    Tree root;                // of the open transaction
    std::string changes;      // of the open write transaction, after room for the header
    const Node *at = nullptr; // where a scan goes on
    tp_range range = {};
};

namespace {

tp_status database_open(const tp_open *open, tp_database **opened, tp_error *error)
{
    return guarded(error, [&] {
        if (open->durability != TP_SYNC && open->durability != TP_PROCESS) {
            throw Failure{TP_UNSUPPORTED, 0, "no such level of durability"};
        }
        std::string folder(static_cast<const char *>(open->directory.data), open->directory.size);
        const tp_value *step = tp_knob(open, "log_step");
        uint64_t step_bytes = step == nullptr ? 0 : static_cast<uint64_t>(step->integer);
        std::unique_ptr<tp_database> database(
            new tp_database{{folder, open->durability == TP_SYNC, step_bytes}, {}, {}, {}});
        database->root = database->log.recover();
        *opened = database.release();
        return TP_OK;
    });
}

tp_status database_close(tp_database *database, tp_error *)
{
    delete database;
    return TP_OK;
}

tp_status database_checkpoint(tp_database *database, tp_error *error)
{
    return guarded(error, [&] {
        database->log.flush();
        return TP_OK;
    });
}

tp_status database_settings(tp_database *database, const tp_values *values, tp_error *)
{
    tp_report_text(values, "fdatasync", database->log.is_sync() ? "each commit" : "none");
    tp_report_integer(values, "log_step", static_cast<int64_t>(database->log.step()));
    return TP_OK;
}

tp_status database_counters(tp_database *database, const tp_values *values, tp_error *error)
{
    return guarded(error, [&] {
        std::lock_guard<std::mutex> lock(database->writer);
        tp_report_integer(values, "commits", static_cast<int64_t>(database->commits));
        tp_report_integer(values, "log_bytes", static_cast<int64_t>(database->log.size()));
        return TP_OK;
    });
}

tp_status new_session(tp_database *database, tp_error *error, tp_session **made)
{
    return guarded(error, [&] {
        *made = new tp_session(database, error);
        return TP_OK;
    });
}

tp_status session_begin(tp_session *session, uint32_t mode)
{
    return guarded(session->error, [&] {
        tp_database *database = session->database;
        if (mode == TP_WRITE) {
            session->changes.assign(HEADER_SIZE, '\0');
            database->writer.lock();
        }
        std::lock_guard<std::mutex> lock(database->root_lock);
        session->root = database->root;
        session->mode = mode;
        session->is_open = true;
        session->has_changes = false;
        return TP_OK;
    });
}

tp_status session_abort(tp_session *session)
{
    session->root.reset();
    session->is_open = false;
    if (session->mode == TP_WRITE) {
        session->database->writer.unlock();
    }
    return TP_OK;
}

tp_status session_commit(tp_session *session)
{
    tp_status status = TP_OK;
    if (session->mode == TP_WRITE && session->has_changes) {
        tp_database *database = session->database;
        status = guarded(session->error, [&] {
            database->log.append(session->changes);
            std::lock_guard<std::mutex> lock(database->root_lock);
            database->root.swap(session->root);
            database->commits++;
            return TP_OK;
        });
    }
    session_abort(session);
    return status;
}

tp_status session_get(tp_session *session, const void *key, size_t key_size, tp_slice *value)
{
    const Node *found = find(session->root.get(), key, key_size);
    if (found == nullptr) {
        return TP_NOT_FOUND;
    }
    value->data = found->value.data();
    value->size = found->value.size();
    return TP_OK;
}

std::string text_of(const void *data, size_t size)
{
    return size == 0 ? std::string() : std::string(static_cast<const char *>(data), size);
}

tp_status session_put(tp_session *session, const void *key, size_t key_size, const void *value,
                      size_t value_size)
{
    return guarded(session->error, [&] {
        std::string key_text = text_of(key, key_size);
        std::string value_text = text_of(value, value_size);
        uint32_t priority = priority_of(key_text);
        append_change(session->changes, 'P', key_text, value_text);
        session->root = insert(session->root, std::make_shared<const Node>(
                                                  Node{std::move(key_text), std::move(value_text),
                                                       priority, nullptr, nullptr}));
        session->has_changes = true;
        return TP_OK;
    });
}

tp_status session_remove(tp_session *session, const void *key, size_t key_size)
{
    return guarded(session->error, [&] {
        if (find(session->root.get(), key, key_size) != nullptr) {
            std::string key_text = text_of(key, key_size);
            append_change(session->changes, 'D', key_text, std::string());
            session->root = remove(session->root, key_text);
            session->has_changes = true;
        }
        return TP_OK;
    });
}

// Whether a node is before the scan's other end.
bool is_in_range(const tp_range &range, const Node *node)
{
    uint32_t kind = range.backward ? range.lower_kind : range.upper_kind;
    const tp_slice &end = range.backward ? range.lower : range.upper;
    if (kind == TP_UNBOUNDED) {
        return true;
    }
    int order = compare(end.data, end.size, node->key);
    if (order == 0) {
        return kind == TP_INCLUDED;
    }
    return range.backward ? order < 0 : order > 0;
}

tp_status session_scan_next(tp_session *session, tp_record *records, uint32_t capacity,
                            uint32_t *count)
{
    const tp_range &range = session->range;
    uint32_t filled = 0;
    while (filled < capacity && session->at != nullptr) {
        const Node *node = session->at;
        records[filled].key = {node->key.data(), node->key.size()};
        records[filled].value = {node->value.data(), node->value.size()};
        filled++;
        const Node *next = beside(session->root.get(), node->key.data(), node->key.size(),
                                  !range.backward, false);
        session->at = next != nullptr && is_in_range(range, next) ? next : nullptr;
    }
    *count = filled;
    return TP_OK;
}

tp_status session_scan_begin(tp_session *session, const tp_range *range, tp_record *records,
                             uint32_t capacity, uint32_t *count)
{
    uint32_t kind = range->backward ? range->upper_kind : range->lower_kind;
    const tp_slice &from = range->backward ? range->upper : range->lower;
    const Node *first = kind == TP_UNBOUNDED
                            ? outermost(session->root.get(), range->backward != 0)
                            : beside(session->root.get(), from.data, from.size, !range->backward,
                                     kind == TP_INCLUDED);
    session->range = *range;
    session->at = first != nullptr && is_in_range(*range, first) ? first : nullptr;
    return session_scan_next(session, records, capacity, count);
}

void session_scan_end(tp_session *session)
{
    session->at = nullptr;
}

void session_close(tp_session *session)
{
    if (session->is_open) {
        session_abort(session);
    }
    delete session;
}

// ---- The tables. ----

const tp_database_api DATABASE = {
    sizeof DATABASE,     0,
    database_open,       database_close,
    new_session,         database_checkpoint,
    database_settings,   database_counters,
    nullptr, // check_files
    nullptr, // prepare_after_power_loss
};

const tp_session_api SESSION = {
    sizeof SESSION,     0,
    session_begin,      session_commit,
    session_abort,      session_get,
    session_put,        session_remove,
    session_scan_begin, session_scan_next,
    session_scan_end,   session_close,
    nullptr, // point_get
    nullptr, // flush_counters
};

const tp_engine ENGINE = {
    TP_MAGIC, sizeof ENGINE, TP_MAJOR, TP_MINOR, &DATABASE, &SESSION,
};

} // namespace

const tp_engine *trueput_engine_v1(const tp_host *)
{
    return &ENGINE;
}
