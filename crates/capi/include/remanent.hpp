// The native interface of Remanent for C++17: header-only, over remanent.h.
//
// Every object owns what it stands for and cannot be copied; a function that fails throws
// remanent::Error. A transaction that is not committed is rolled back. Rows, text and bytes are
// views into the database, good until their transaction ends.
#ifndef REMANENT_HPP
#define REMANENT_HPP

#include <remanent.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace remanent {

class Error : public std::runtime_error {
public:
    explicit Error(rem_status status)
        : std::runtime_error(text_of(status)), status_(status) {}

    rem_status status() const noexcept { return status_; }
    const char *name() const noexcept { return rem_status_name(status_); }
    const char *sqlstate() const noexcept { return rem_status_sqlstate(status_); }
    bool is_conflict() const noexcept { return status_ == REM_CONFLICT; }

private:
    static std::string text_of(rem_status status) {
        const bool of_engine = status < REM_BAD_HANDLE || status == REM_BAD_SCHEMA;
        std::string text = rem_status_name(status);
        if (of_engine && *rem_error_text() != '\0') {
            text.append(": ").append(rem_error_text());
        }
        return text;
    }

    rem_status status_;
};

inline void check(rem_status status) {
    if (status != REM_OK) {
        throw Error(status);
    }
}

// A part of a key.
class Value {
public:
    Value(std::int32_t number) : value_(rem_i32(number)) {}
    Value(std::int64_t number) : value_(rem_i64(number)) {}
    Value(std::uint32_t number) : value_(rem_u32(number)) {}
    Value(std::uint64_t number) : value_(rem_u64(number)) {}
    Value(double number) : value_(rem_f64(number)) {}
    Value(std::string_view text) : value_(rem_text(text.data(), text.size())) {}
    Value(const char *text) : Value(std::string_view(text)) {}
    Value(const std::string &text) : Value(std::string_view(text)) {}

    rem_value value() const noexcept { return value_; }

private:
    rem_value value_;
};

static_assert(sizeof(Value) == sizeof(rem_value), "an array of one is an array of the other");

using Key = std::initializer_list<Value>;

class Row {
public:
    explicit Row(const rem_row &row) : row_(row) {}

    std::uint32_t id() const noexcept { return row_.id; }
    const rem_row &handle() const noexcept { return row_; }

    // A column's value; nothing if it is null.
    template <typename T> std::optional<T> get(rem_column column) const {
        T value{};
        const rem_status status = read(column, value);
        if (status == REM_NULL_VALUE) {
            return std::nullopt;
        }
        check(status);
        return value;
    }

    std::string_view text(rem_column column) const {
        return get<std::string_view>(column).value_or(std::string_view());
    }

    // The bytes of a column as they lie in the row.
    std::string_view bytes(rem_column column) const {
        const void *data = nullptr;
        std::size_t length = 0;
        const rem_status status = rem_get_bytes(&row_, column, &data, &length);
        if (status != REM_NULL_VALUE) {
            check(status);
        }
        return {static_cast<const char *>(data), length};
    }

    bool is_null(rem_column column) const {
        bool null = false;
        check(rem_is_null(&row_, column, &null));
        return null;
    }

private:
    rem_status read(rem_column c, bool &v) const { return rem_get_bool(&row_, c, &v); }
    rem_status read(rem_column c, std::int8_t &v) const { return rem_get_i8(&row_, c, &v); }
    rem_status read(rem_column c, std::int16_t &v) const { return rem_get_i16(&row_, c, &v); }
    rem_status read(rem_column c, std::int32_t &v) const { return rem_get_i32(&row_, c, &v); }
    rem_status read(rem_column c, std::int64_t &v) const { return rem_get_i64(&row_, c, &v); }
    rem_status read(rem_column c, std::uint8_t &v) const { return rem_get_u8(&row_, c, &v); }
    rem_status read(rem_column c, std::uint16_t &v) const { return rem_get_u16(&row_, c, &v); }
    rem_status read(rem_column c, std::uint32_t &v) const { return rem_get_u32(&row_, c, &v); }
    rem_status read(rem_column c, std::uint64_t &v) const { return rem_get_u64(&row_, c, &v); }
    rem_status read(rem_column c, float &v) const { return rem_get_f32(&row_, c, &v); }
    rem_status read(rem_column c, double &v) const { return rem_get_f64(&row_, c, &v); }
    rem_status read(rem_column c, std::string_view &v) const {
        const char *data = nullptr;
        std::size_t length = 0;
        const rem_status status = rem_get_text(&row_, c, &data, &length);
        v = std::string_view(data, length);
        return status;
    }

    rem_row row_;
};

// A position in an ordered index, or a scan of a table.
class Cursor {
public:
    explicit Cursor(const rem_cursor &cursor) : cursor_(cursor) {}
    Cursor(const Cursor &) = delete;
    Cursor &operator=(const Cursor &) = delete;
    Cursor(Cursor &&other) noexcept : cursor_(std::exchange(other.cursor_, rem_cursor{})) {}
    ~Cursor() {
        if (cursor_.transaction != 0) {
            rem_cursor_close(&cursor_);
        }
    }

    std::optional<Row> find(std::uint32_t way, Key key) {
        rem_row row;
        const auto *values = reinterpret_cast<const rem_value *>(key.begin());
        return found(rem_cursor_find(&cursor_, way, values, key.size(), &row), row);
    }
    std::optional<Row> first() { return go(rem_cursor_first); }
    std::optional<Row> last() { return go(rem_cursor_last); }
    std::optional<Row> next() { return go(rem_cursor_next); }
    std::optional<Row> previous() { return go(rem_cursor_previous); }

    static std::optional<Row> found(rem_status status, const rem_row &row) {
        if (status == REM_NOT_FOUND) {
            return std::nullopt;
        }
        check(status);
        return Row(row);
    }

private:
    template <typename F> std::optional<Row> go(F step) {
        rem_row row;
        return found(step(&cursor_, &row), row);
    }

    rem_cursor cursor_;
};

// All rows of a table, for a range-based loop.
class Scan {
public:
    class Iterator {
    public:
        Iterator() = default;
        explicit Iterator(Cursor *cursor) : cursor_(cursor), row_(cursor->next()) {}
        const Row &operator*() const { return *row_; }
        const Row *operator->() const { return &*row_; }
        Iterator &operator++() {
            row_ = cursor_->next();
            return *this;
        }
        bool operator!=(const Iterator &other) const {
            return row_.has_value() != other.row_.has_value();
        }

    private:
        Cursor *cursor_ = nullptr;
        std::optional<Row> row_;
    };

    explicit Scan(const rem_cursor &cursor) : cursor_(cursor) {}
    Iterator begin() { return Iterator(&cursor_); }
    Iterator end() { return {}; }

private:
    Cursor cursor_;
};

class ReadTransaction {
public:
    explicit ReadTransaction(const rem_database *database,
                             const rem_transaction_options *options = nullptr) {
        check(rem_begin_read(database, options, &transaction_));
    }
    ReadTransaction(const ReadTransaction &) = delete;
    ReadTransaction &operator=(const ReadTransaction &) = delete;
    ~ReadTransaction() {
        if (transaction_ != nullptr) {
            rem_rollback(transaction_);
        }
    }

    const rem_transaction *handle() const noexcept { return transaction_; }

    std::optional<Row> find(rem_index index, Key key) const {
        rem_row row;
        const auto *values = reinterpret_cast<const rem_value *>(key.begin());
        return Cursor::found(rem_find(transaction_, index, values, key.size(), &row), row);
    }
    std::optional<Row> row(rem_table table, std::uint32_t id) const {
        rem_row row;
        return Cursor::found(rem_row_at(transaction_, table, id, &row), row);
    }
    Cursor cursor(rem_index index) const {
        rem_cursor cursor;
        check(rem_cursor_open(transaction_, index, &cursor));
        return Cursor(cursor);
    }
    Scan scan(rem_table table) const {
        rem_cursor cursor;
        check(rem_scan_open(transaction_, table, &cursor));
        return Scan(cursor);
    }

protected:
    ReadTransaction() = default;
    const rem_transaction *transaction_ = nullptr;
};

// A row in the making; ends with its transaction.
class Draft {
public:
    explicit Draft(const rem_draft &draft) : draft_(draft) {}

    Draft &put(rem_column c, bool v) { return done(rem_put_bool(&draft_, c, v)); }
    Draft &put(rem_column c, std::int32_t v) { return done(rem_put_i32(&draft_, c, v)); }
    Draft &put(rem_column c, std::int64_t v) { return done(rem_put_i64(&draft_, c, v)); }
    Draft &put(rem_column c, std::uint32_t v) { return done(rem_put_u32(&draft_, c, v)); }
    Draft &put(rem_column c, std::uint64_t v) { return done(rem_put_u64(&draft_, c, v)); }
    Draft &put(rem_column c, double v) { return done(rem_put_f64(&draft_, c, v)); }
    Draft &put(rem_column c, const char *v) { return put(c, std::string_view(v)); }
    Draft &put(rem_column c, std::string_view v) {
        return done(rem_put_text(&draft_, c, v.data(), v.size()));
    }
    Draft &put_bytes(rem_column c, const void *data, std::size_t length) {
        return done(rem_put_bytes(&draft_, c, data, length));
    }
    Draft &put_null(rem_column c) { return done(rem_put_null(&draft_, c)); }

    std::uint32_t insert() {
        std::uint32_t id = 0;
        check(rem_insert(&draft_, &id));
        return id;
    }
    void update(std::uint32_t id) { check(rem_update(&draft_, id)); }
    Row row() const {
        rem_row row;
        check(rem_draft_row(&draft_, &row));
        return Row(row);
    }

private:
    Draft &done(rem_status status) {
        check(status);
        return *this;
    }

    rem_draft draft_;
};

class WriteTransaction : public ReadTransaction {
public:
    explicit WriteTransaction(const rem_database *database,
                              const rem_transaction_options *options = nullptr) {
        check(rem_begin_write(database, options, &transaction_));
    }

    Draft draft(rem_table table) {
        rem_draft draft;
        check(rem_draft_new(transaction_, table, &draft));
        return Draft(draft);
    }
    Draft draft(const Row &row) {
        rem_draft draft;
        check(rem_draft_load(&row.handle(), &draft));
        return Draft(draft);
    }
    void erase(rem_table table, std::uint32_t id) { check(rem_delete(transaction_, table, id)); }
    rem_savepoint savepoint() {
        rem_savepoint savepoint;
        check(rem_savepoint_set(transaction_, &savepoint));
        return savepoint;
    }
    void roll_back_to(const rem_savepoint &savepoint) { check(rem_rollback_to(&savepoint)); }

    // Commits; the transaction has ended if this throws, too.
    void commit() { check(rem_commit(std::exchange(transaction_, nullptr))); }
};

class Database {
public:
    explicit Database(const rem_options *options = nullptr) {
        check(rem_open(options, &database_));
    }
    Database(const Database &) = delete;
    Database &operator=(const Database &) = delete;
    ~Database() { rem_close(database_); }

    const rem_database *handle() const noexcept { return database_; }

    // Makes the tables of a schema text in either language.
    void define(std::string_view text) {
        check(rem_define(database_, text.data(), text.size(), 0));
    }
    rem_table table(const char *name) const {
        rem_table table;
        check(rem_table_find(database_, name, &table));
        return table;
    }
    rem_column column(rem_table table, const char *path) const {
        rem_column column;
        check(rem_column_find(database_, table, path, &column));
        return column;
    }
    rem_index index(rem_table table, const char *name) const {
        rem_index index;
        check(rem_index_find(database_, table, name, &index));
        return index;
    }

    // Runs `work` in a transaction and commits it; again after a conflict.
    template <typename F> void write(F work) {
        for (;;) {
            try {
                WriteTransaction transaction(database_);
                work(transaction);
                transaction.commit();
                return;
            } catch (const Error &error) {
                if (!error.is_conflict()) {
                    throw;
                }
            }
        }
    }

private:
    const rem_database *database_ = nullptr;
};

} // namespace remanent

#endif
