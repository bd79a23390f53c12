/* Key/value databases: every function, and every status that they answer with. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <remanent.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#define ERROR_TEXT rem_error_text
#include "check.h"

static const rem_database *db;
static rem_kv fruit, tags, hashed;
static const rem_kv none = {0};

static rem_blob b(const char *text)
{
    return rem_blob_of(text, strlen(text));
}

static int is(rem_blob blob, const char *text)
{
    return blob.length == strlen(text) && memcmp(blob.data, text, blob.length) == 0;
}

static void names(void)
{
    char text[20];
    size_t length;
    uint32_t flags;
    rem_kv kv, again;
    rem_table table;
    const rem_column_schema number = {"number", REM_I32, 0, 0, 0, 0, 0};
    OK(rem_kv_create(db, "fruit", 0, &fruit));
    STATUS(REM_TABLE_EXISTS, rem_kv_create(db, "fruit", 0, &kv));
    CHECK(kv.id == 0);
    OK(rem_kv_open(db, "tags", REM_KV_DUPLICATES, &tags));
    OK(rem_kv_open(db, "tags", REM_KV_DUPLICATES, &again));
    CHECK(again.id == tags.id && tags.id != fruit.id);
    STATUS(REM_SCHEMA_MISMATCH, rem_kv_open(db, "tags", REM_KV_HASHED, &kv));
    STATUS(REM_BAD_ARGUMENT, rem_kv_open(db, "tags", 4, &kv));
    OK(rem_kv_open(db, "hashed", REM_KV_HASHED, &hashed));
    OK(rem_kv_find(db, "fruit", &again));
    CHECK(again.id == fruit.id);
    STATUS(REM_UNKNOWN_TABLE, rem_kv_find(db, "nuts", &kv));
    STATUS(REM_NULL_ARGUMENT, rem_kv_find(db, 0, &kv));
    STATUS(REM_NULL_ARGUMENT, rem_kv_find(db, "fruit", 0));
    STATUS(REM_NULL_ARGUMENT, rem_kv_find(0, "fruit", &kv));
    STATUS(REM_BAD_TEXT, rem_kv_find(db, "\xff", &kv));
    OK(rem_table_create(db, "Table", &number, 1, 0, 0, &table));
    STATUS(REM_SCHEMA_MISMATCH, rem_kv_find(db, "Table", &kv));
    OK(rem_table_find(db, "fruit", &table));
    OK(rem_kv_name_at(db, 1, text, sizeof text, &length));
    CHECK(length == 6 && strcmp(text, "hashed") == 0);
    STATUS(REM_BUFFER_TOO_SMALL, rem_kv_name_at(db, 1, text, 6, &length));
    STATUS(REM_NOT_FOUND, rem_kv_name_at(db, 3, text, sizeof text, &length));
    OK(rem_kv_flags(db, tags, &flags));
    CHECK(flags == REM_KV_DUPLICATES);
    OK(rem_kv_flags(db, hashed, &flags));
    CHECK(flags == REM_KV_HASHED);
    STATUS(REM_NULL_ARGUMENT, rem_kv_flags(db, none, &flags));
    kv.id = fruit.id + 100;
    STATUS(REM_BAD_HANDLE, rem_kv_flags(db, kv, &flags));
}

static void records(void)
{
    const rem_transaction *tx;
    char buffer[8];
    static char many[2000];
    size_t length;
    uint64_t removed;
    bool exists;
    rem_blob value, keys[3], values[3];
    rem_kv_statistics statistics;
    OK(rem_begin_write(db, 0, &tx));
    OK(rem_kv_put(tx, fruit, b("apple"), b("green"), 0));
    OK(rem_kv_put(tx, fruit, b("apple"), b("red"), 0));
    STATUS(REM_DUPLICATE_KEY, rem_kv_put(tx, fruit, b("apple"), b("x"), REM_KV_NO_OVERWRITE));
    OK(rem_kv_put(tx, fruit, b("pear"), b("yellow"), REM_KV_NO_OVERWRITE));
    STATUS(REM_INVALID_OPTIONS, rem_kv_put(tx, fruit, b("a"), b("x"), REM_KV_NO_DUPLICATE));
    OK(rem_kv_put(tx, tags, b("a"), b("1"), REM_KV_NO_DUPLICATE));
    STATUS(REM_DUPLICATE_KEY, rem_kv_put(tx, tags, b("a"), b("1"), REM_KV_NO_DUPLICATE));
    STATUS(REM_DUPLICATE_KEY, rem_kv_put(tx, tags, b("a"), b("2"), REM_KV_NO_OVERWRITE));
    OK(rem_kv_put(tx, tags, b("a"), b("1"), 0));
    STATUS(REM_BAD_ARGUMENT, rem_kv_put(tx, fruit, b("a"), b("x"), 3));
    STATUS(REM_KEY_TOO_LONG, rem_kv_put(tx, fruit, rem_blob_of(many, 2000), b("x"), 0));
    STATUS(REM_NULL_ARGUMENT, rem_kv_put(tx, fruit, rem_blob_of(0, 1), b("x"), 0));
    STATUS(REM_NULL_ARGUMENT, rem_kv_put(tx, none, b("a"), b("x"), 0));
    STATUS(REM_NULL_ARGUMENT, rem_kv_put(0, fruit, b("a"), b("x"), 0));
    OK(rem_kv_put(tx, fruit, rem_blob_of(0, 0), rem_blob_of(0, 0), 0));
    OK(rem_kv_get(tx, fruit, b(""), &value));
    CHECK(value.length == 0 && value.data);
    OK(rem_kv_get(tx, fruit, b("apple"), &value));
    CHECK(is(value, "red"));
    STATUS(REM_NOT_FOUND, rem_kv_get(tx, fruit, b("plum"), &value));
    STATUS(REM_NULL_ARGUMENT, rem_kv_get(tx, fruit, b("apple"), 0));
    OK(rem_kv_get_into(tx, fruit, b("pear"), buffer, sizeof buffer, &length));
    CHECK(length == 6 && memcmp(buffer, "yellow", 6) == 0);
    STATUS(REM_BUFFER_TOO_SMALL, rem_kv_get_into(tx, fruit, b("pear"), buffer, 5, &length));
    CHECK(length == 6);
    STATUS(REM_BUFFER_TOO_SMALL, rem_kv_get_into(tx, fruit, b("pear"), 0, 0, &length));
    STATUS(REM_NULL_ARGUMENT, rem_kv_get_into(tx, fruit, b("pear"), 0, 6, &length));
    STATUS(REM_NULL_ARGUMENT, rem_kv_get_into(tx, fruit, b("pear"), buffer, 6, 0));
    STATUS(REM_NOT_FOUND, rem_kv_get_into(tx, fruit, b("plum"), buffer, 6, &length));
    OK(rem_kv_put_part(tx, fruit, b("pear"), 6, 0, b("ish")));
    OK(rem_kv_get_part(tx, fruit, b("pear"), 4, 3, &value));
    CHECK(is(value, "owi"));
    OK(rem_kv_get_part(tx, fruit, b("pear"), 40, 3, &value));
    CHECK(value.length == 0);
    STATUS(REM_NOT_FOUND, rem_kv_get_part(tx, fruit, b("plum"), 0, 1, &value));
    STATUS(REM_INVALID_OPTIONS, rem_kv_put_part(tx, tags, b("a"), 0, 1, b("x")));
    STATUS(REM_ROW_TOO_LONG, rem_kv_put_part(tx, fruit, b("pear"), SIZE_MAX, 1, b("x")));
    keys[0] = b("pear"), keys[1] = b("plum"), keys[2] = b("apple");
    OK(rem_kv_get_batch(tx, fruit, keys, 3, values));
    CHECK(is(values[0], "yellowish") && !values[1].data && is(values[2], "red"));
    OK(rem_kv_get_batch(tx, fruit, 0, 0, 0));
    STATUS(REM_NULL_ARGUMENT, rem_kv_get_batch(tx, fruit, keys, 3, 0));
    STATUS(REM_NULL_ARGUMENT, rem_kv_get_batch(tx, fruit, 0, 3, values));
    OK(rem_kv_exists(tx, fruit, b("pear"), &exists));
    CHECK(exists);
    OK(rem_kv_exists(tx, fruit, b("plum"), &exists));
    CHECK(!exists);
    OK(rem_kv_put(tx, tags, b("a"), b("2"), 0));
    OK(rem_kv_count(tx, tags, &statistics));
    CHECK(statistics.keys == 1 && statistics.records == 2);
    CHECK(statistics.key_bytes == 2 && statistics.value_bytes == 2);
    STATUS(REM_NULL_ARGUMENT, rem_kv_count(tx, tags, 0));
    /* What was read stays, whatever happens to its record. */
    OK(rem_kv_get(tx, fruit, b("apple"), &value));
    OK(rem_kv_delete(tx, fruit, b("apple"), &removed));
    CHECK(removed == 1 && is(value, "red"));
    STATUS(REM_NOT_FOUND, rem_kv_delete(tx, fruit, b("apple"), &removed));
    CHECK(removed == 0);
    OK(rem_kv_delete(tx, tags, b("a"), 0));
    OK(rem_kv_truncate(tx, fruit, &removed));
    CHECK(removed == 2);
    OK(rem_kv_truncate(tx, fruit, 0));
    OK(rem_rollback(tx));
    STATUS(REM_TRANSACTION_ENDED, rem_kv_get(tx, fruit, b("apple"), &value));
    OK(rem_begin_read(db, 0, &tx));
    STATUS(REM_READ_ONLY, rem_kv_put(tx, fruit, b("apple"), b("red"), 0));
    STATUS(REM_READ_ONLY, rem_kv_delete(tx, fruit, b("apple"), 0));
    STATUS(REM_READ_ONLY, rem_kv_truncate(tx, fruit, 0));
    STATUS(REM_NOT_FOUND, rem_kv_get(tx, fruit, b("apple"), &value));
    OK(rem_rollback(tx));
    OK(rem_kv_compact(db, fruit, &removed));
    OK(rem_kv_compact(db, fruit, 0));
    STATUS(REM_NULL_ARGUMENT, rem_kv_compact(db, none, 0));
}

static void single_calls(void)
{
    char buffer[8];
    size_t length;
    uint64_t removed;
    bool exists;
    OK(rem_kv_put_one(db, hashed, b("k"), b("v"), 0));
    STATUS(REM_DUPLICATE_KEY, rem_kv_put_one(db, hashed, b("k"), b("w"), REM_KV_NO_OVERWRITE));
    STATUS(REM_BAD_ARGUMENT, rem_kv_put_one(db, hashed, b("k"), b("w"), 9));
    OK(rem_kv_get_one(db, hashed, b("k"), buffer, sizeof buffer, &length));
    CHECK(length == 1 && buffer[0] == 'v');
    STATUS(REM_BUFFER_TOO_SMALL, rem_kv_get_one(db, hashed, b("k"), 0, 0, &length));
    CHECK(length == 1);
    STATUS(REM_NOT_FOUND, rem_kv_get_one(db, hashed, b("j"), buffer, sizeof buffer, &length));
    STATUS(REM_NULL_ARGUMENT, rem_kv_get_one(db, hashed, b("k"), buffer, sizeof buffer, 0));
    OK(rem_kv_exists_one(db, hashed, b("k"), &exists));
    CHECK(exists);
    STATUS(REM_NULL_ARGUMENT, rem_kv_exists_one(db, hashed, b("k"), 0));
    OK(rem_kv_delete_one(db, hashed, b("k"), &removed));
    CHECK(removed == 1);
    STATUS(REM_NOT_FOUND, rem_kv_delete_one(db, hashed, b("k"), 0));
    STATUS(REM_NULL_ARGUMENT, rem_kv_delete_one(0, hashed, b("k"), 0));
    STATUS(REM_NULL_ARGUMENT, rem_kv_put_one(db, none, b("k"), b("v"), 0));
}

/* Moves, and says whether it came to this record. */
static int goes(const rem_kv_cursor *cursor, uint32_t mode, const char *key, const char *value)
{
    rem_blob found_key = rem_blob_of(0, 0), found_value = rem_blob_of(0, 0);
    OK(rem_kv_cursor_get(cursor, mode, &found_key, &found_value));
    return is(found_key, key) && is(found_value, value);
}

enum { NOT_THERE, THERE, BESIDE };

/* Seeks a key, and perhaps a value, and says where it came to. */
static int seeks(const rem_kv_cursor *cursor, uint32_t mode, const char *key, const char *value)
{
    rem_blob found_key = b(key), found_value = b(value);
    rem_status status = rem_kv_cursor_get(cursor, mode, &found_key, &found_value);
    if (status == REM_NOT_FOUND)
        return NOT_THERE;
    OK(status);
    return is(found_key, key) ? THERE : BESIDE;
}

static void cursors(void)
{
    const rem_transaction *tx, *other;
    rem_kv_cursor cursor, twin;
    uint64_t count;
    rem_blob key, value;
    OK(rem_begin_write(db, 0, &tx));
    OK(rem_kv_cursor_open(tx, tags, &cursor));
    STATUS(REM_NULL_ARGUMENT, rem_kv_cursor_open(tx, tags, 0));
    STATUS(REM_NULL_ARGUMENT, rem_kv_cursor_open(tx, none, &twin));
    STATUS(REM_NOT_FOUND, rem_kv_cursor_get(&cursor, REM_KV_FIRST, 0, 0));
    STATUS(REM_NOT_FOUND, rem_kv_cursor_get(&cursor, REM_KV_CURRENT, 0, 0));
    STATUS(REM_ROW_NOT_FOUND, rem_kv_cursor_delete(&cursor));
    STATUS(REM_ROW_NOT_FOUND, rem_kv_cursor_put_current(&cursor, b("x")));
    OK(rem_kv_cursor_count(&cursor, &count));
    CHECK(count == 0);
    OK(rem_kv_cursor_put(&cursor, b("a"), b("1")));
    OK(rem_kv_cursor_put(&cursor, b("a"), b("3")));
    OK(rem_kv_cursor_put(&cursor, b("c"), b("1")));
    OK(rem_kv_cursor_put(&cursor, b("c"), b("2")));
    CHECK(goes(&cursor, REM_KV_CURRENT, "c", "2"));
    CHECK(goes(&cursor, REM_KV_FIRST, "a", "1"));
    CHECK(goes(&cursor, REM_KV_NEXT, "a", "3"));
    OK(rem_kv_cursor_count(&cursor, &count));
    CHECK(count == 2);
    STATUS(REM_NULL_ARGUMENT, rem_kv_cursor_count(&cursor, 0));
    STATUS(REM_NOT_FOUND, rem_kv_cursor_get(&cursor, REM_KV_NEXT_DUP, 0, 0));
    CHECK(goes(&cursor, REM_KV_PREV_DUP, "a", "1"));
    CHECK(goes(&cursor, REM_KV_NEXT_DUP, "a", "3"));
    CHECK(goes(&cursor, REM_KV_NEXT_NODUP, "c", "1"));
    CHECK(goes(&cursor, REM_KV_PREV_NODUP, "a", "3"));
    CHECK(goes(&cursor, REM_KV_LAST, "c", "2"));
    CHECK(goes(&cursor, REM_KV_PREV, "c", "1"));
    CHECK(seeks(&cursor, REM_KV_SET, "a", "") == THERE);
    CHECK(seeks(&cursor, REM_KV_SET, "b", "") == NOT_THERE);
    CHECK(seeks(&cursor, REM_KV_SET_RANGE, "b", "") == BESIDE);
    CHECK(seeks(&cursor, REM_KV_GET_BOTH, "a", "3") == THERE);
    CHECK(seeks(&cursor, REM_KV_GET_BOTH, "a", "2") == NOT_THERE);
    CHECK(seeks(&cursor, REM_KV_GET_BOTH_RANGE, "a", "2") == THERE);
    CHECK(seeks(&cursor, REM_KV_GET_BOTH_RANGE, "a", "4") == NOT_THERE);
    CHECK(goes(&cursor, REM_KV_CURRENT, "a", "3"));
    STATUS(REM_BAD_ARGUMENT, rem_kv_cursor_get(&cursor, 0, &key, &value));
    STATUS(REM_BAD_ARGUMENT, rem_kv_cursor_get(&cursor, 14, &key, &value));
    STATUS(REM_NULL_ARGUMENT, rem_kv_cursor_get(&cursor, REM_KV_SET, 0, &value));
    key = b("a");
    STATUS(REM_NULL_ARGUMENT, rem_kv_cursor_get(&cursor, REM_KV_GET_BOTH, &key, 0));
    STATUS(REM_NULL_ARGUMENT, rem_kv_cursor_get(0, REM_KV_FIRST, &key, &value));
    STATUS(REM_BAD_ARGUMENT, rem_kv_cursor_get_primary(&cursor, REM_KV_FIRST, &key, &key, &value));
    STATUS(REM_INVALID_OPTIONS, rem_kv_cursor_put_current(&cursor, b("9")));
    OK(rem_kv_cursor_duplicate(&cursor, &twin));
    STATUS(REM_NULL_ARGUMENT, rem_kv_cursor_duplicate(&cursor, 0));
    CHECK(goes(&twin, REM_KV_NEXT, "c", "1"));
    OK(rem_kv_cursor_delete(&cursor));
    STATUS(REM_NOT_FOUND, rem_kv_cursor_get(&cursor, REM_KV_CURRENT, 0, 0));
    CHECK(goes(&cursor, REM_KV_PREV, "a", "1"));
    OK(rem_kv_cursor_close(&cursor));
    STATUS(REM_BAD_HANDLE, rem_kv_cursor_close(&cursor));
    STATUS(REM_BAD_HANDLE, rem_kv_cursor_get(&cursor, REM_KV_NEXT, 0, 0));
    STATUS(REM_NULL_ARGUMENT, rem_kv_cursor_close(0));
    OK(rem_kv_put(tx, fruit, b("apple"), b("red"), 0));
    OK(rem_kv_cursor_open(tx, fruit, &cursor));
    CHECK(goes(&cursor, REM_KV_FIRST, "apple", "red"));
    OK(rem_kv_cursor_put_current(&cursor, b("green")));
    CHECK(goes(&cursor, REM_KV_CURRENT, "apple", "green"));
    OK(rem_rollback(tx));
    STATUS(REM_TRANSACTION_ENDED, rem_kv_cursor_get(&cursor, REM_KV_NEXT, 0, 0));
    STATUS(REM_TRANSACTION_ENDED, rem_kv_cursor_close(&twin));
    OK(rem_begin_read(db, 0, &other));
    OK(rem_kv_cursor_open(other, tags, &cursor));
    STATUS(REM_READ_ONLY, rem_kv_cursor_put(&cursor, b("a"), b("1")));
    OK(rem_rollback(other));
}

static void bulk(void)
{
    const rem_transaction *tx;
    rem_kv_cursor cursor;
    char buffer[100];
    size_t length;
    unsigned number, found = 0, calls = 0;
    rem_status status;
    rem_blob rest, key, value;
    OK(rem_begin_write(db, 0, &tx));
    for (number = 0; number < 100; number++) {
        unsigned char bytes[2] = {0, (unsigned char)number};
        OK(rem_kv_put(tx, fruit, rem_blob_of(bytes, 2), rem_blob_of(buffer, 0), 0));
    }
    OK(rem_kv_cursor_open(tx, fruit, &cursor));
    STATUS(REM_BUFFER_TOO_SMALL, rem_kv_cursor_bulk(&cursor, buffer, 9, &length));
    CHECK(length == 10);
    STATUS(REM_BUFFER_TOO_SMALL, rem_kv_cursor_bulk(&cursor, 0, 0, &length));
    CHECK(length == 10);
    STATUS(REM_NULL_ARGUMENT, rem_kv_cursor_bulk(&cursor, 0, 10, &length));
    STATUS(REM_NULL_ARGUMENT, rem_kv_cursor_bulk(&cursor, buffer, 10, 0));
    while ((status = rem_kv_cursor_bulk(&cursor, buffer, sizeof buffer, &length)) == REM_OK) {
        CHECK(length == 100);
        calls++;
        rest = rem_blob_of(buffer, length);
        while (rem_kv_bulk_next(&rest, &key, &value)) {
            CHECK(key.length == 2 && ((const unsigned char *)key.data)[1] == found);
            CHECK(value.length == 0);
            found++;
        }
        CHECK(rest.length == 0);
    }
    STATUS(REM_NOT_FOUND, status);
    CHECK(calls == 10 && found == 100 && length == 0);
    rest = rem_blob_of(buffer, 9);
    CHECK(!rem_kv_bulk_next(&rest, &key, &value));
    OK(rem_rollback(tx));
}

struct called {
    const rem_transaction *tx;
    rem_kv_sequence sequence;
    rem_kv primary, index;
    const rem_kv_keys *keys;
    int count;
};

/* The words of a value are its keys. Whatever else it calls is refused or harmless. */
static void words(void *context, rem_blob key, rem_blob value, const rem_kv_keys *keys)
{
    struct called *called = context;
    const char *at = value.data, *end = at + value.length;
    int64_t number;
    rem_kv_secondary secondary;
    called->count++;
    if (called->tx) {
        rem_blob found;
        STATUS(REM_TRANSACTION_ENDED, rem_commit(called->tx));
        STATUS(REM_TRANSACTION_ENDED, rem_rollback(called->tx));
        STATUS(REM_TRANSACTION_ENDED, rem_kv_get(called->tx, fruit, key, &found));
        STATUS(REM_OPEN_HANDLES, rem_kv_put_one(db, called->primary, key, value, 0));
        STATUS(REM_OPEN_HANDLES, rem_kv_sequence_next(db, called->sequence, &number));
        STATUS(REM_OPEN_HANDLES, rem_kv_remove(db, "fruit"));
        STATUS(REM_OPEN_HANDLES, rem_kv_rename(db, "fruit", "nuts", 0));
        STATUS(REM_OPEN_HANDLES, rem_kv_associate(db, called->primary, called->index, words, 0,
                                                  &secondary));
        STATUS(REM_OPEN_HANDLES, rem_close(db));
    }
    STATUS(REM_NULL_ARGUMENT, rem_kv_key_add(0, key));
    STATUS(REM_NULL_ARGUMENT, rem_kv_key_add(keys, rem_blob_of(0, 1)));
    if (called->keys)
        STATUS(REM_BAD_HANDLE, rem_kv_key_add(called->keys, key));
    called->keys = keys;
    while (at < end) {
        const char *space = memchr(at, ' ', (size_t)(end - at));
        const char *stop = space ? space : end;
        OK(rem_kv_key_add(keys, rem_blob_of(at, (size_t)(stop - at))));
        at = stop + 1;
    }
}

static void secondary_reads(const rem_transaction *tx, rem_kv_secondary by_word, rem_kv index)
{
    rem_kv_cursor cursor, twin;
    rem_blob key, primary, value;
    uint64_t count;
    char buffer[100];
    size_t length;
    OK(rem_kv_secondary_get(tx, by_word, b("black"), &primary, &value));
    CHECK(is(primary, "1") && is(value, "black cat"));
    OK(rem_kv_secondary_get(tx, by_word, b("dog"), 0, &value));
    CHECK(is(value, "black dog"));
    STATUS(REM_NULL_ARGUMENT, rem_kv_secondary_get(tx, by_word, b("dog"), &primary, 0));
    STATUS(REM_NOT_FOUND, rem_kv_secondary_get(tx, by_word, b("cow"), &primary, &value));
    STATUS(REM_INVALID_OPTIONS, rem_kv_put(tx, index, b("x"), b("y"), 0));
    OK(rem_kv_secondary_cursor_open(tx, by_word, &cursor));
    STATUS(REM_NULL_ARGUMENT, rem_kv_secondary_cursor_open(tx, by_word, 0));
    key = b("black");
    OK(rem_kv_cursor_get(&cursor, REM_KV_SET, &key, &value));
    CHECK(is(key, "black") && is(value, "black cat"));
    OK(rem_kv_cursor_count(&cursor, &count));
    CHECK(count == 2);
    OK(rem_kv_cursor_duplicate(&cursor, &twin));
    OK(rem_kv_cursor_get_primary(&twin, REM_KV_NEXT_DUP, &key, &primary, &value));
    CHECK(is(key, "black") && is(primary, "2") && is(value, "black dog"));
    primary = b("1");
    OK(rem_kv_cursor_get_primary(&twin, REM_KV_GET_BOTH, &key, &primary, &value));
    STATUS(REM_BAD_ARGUMENT, rem_kv_cursor_get(&twin, REM_KV_GET_BOTH, &key, &primary));
    STATUS(REM_INVALID_OPTIONS, rem_kv_cursor_put(&twin, b("x"), b("y")));
    OK(rem_kv_cursor_bulk(&cursor, buffer, sizeof buffer, &length));
    CHECK(length == 3 * 8 + 6 + 4 + 4);
    OK(rem_kv_cursor_get(&twin, REM_KV_CURRENT, 0, &value));
    OK(rem_kv_cursor_delete(&twin));
    STATUS(REM_NOT_FOUND, rem_kv_secondary_get(tx, by_word, b("cat"), 0, &value));
}

static void secondaries(void)
{
    const rem_transaction *tx;
    struct called called = {0, {0}, {0}, {0}, 0, 0};
    rem_kv pets, index;
    rem_kv_secondary by_word, other;
    uint64_t removed;
    rem_blob value;
    OK(rem_kv_create(db, "pets", 0, &pets));
    OK(rem_kv_create(db, "by_word", REM_KV_DUPLICATES, &index));
    OK(rem_kv_put_one(db, pets, b("1"), b("black cat"), 0));
    STATUS(REM_NULL_ARGUMENT, rem_kv_associate(db, pets, index, 0, &called, &by_word));
    STATUS(REM_NULL_ARGUMENT, rem_kv_associate(db, pets, index, words, &called, 0));
    STATUS(REM_NULL_ARGUMENT, rem_kv_associate(db, pets, none, words, &called, &by_word));
    STATUS(REM_INVALID_OPTIONS, rem_kv_associate(db, index, pets, words, &called, &by_word));
    called.primary = pets, called.index = index;
    OK(rem_kv_associate(db, pets, index, words, &called, &by_word));
    CHECK(called.count == 1);
    STATUS(REM_INVALID_OPTIONS, rem_kv_remove(db, "pets"));
    STATUS(REM_INVALID_OPTIONS, rem_kv_remove(db, "by_word"));
    OK(rem_kv_sequence_open(db, fruit, b("ids"), 0, &called.sequence));
    OK(rem_begin_write(db, 0, &tx));
    called.tx = tx;
    OK(rem_kv_put(tx, pets, b("2"), b("black dog"), 0));
    STATUS(REM_BAD_HANDLE, rem_kv_key_add(called.keys, b("late")));
    secondary_reads(tx, by_word, index);
    OK(rem_kv_put(tx, pets, b("3"), b("black bird"), 0));
    OK(rem_kv_secondary_delete(tx, by_word, b("black"), &removed));
    CHECK(removed == 2);
    STATUS(REM_NOT_FOUND, rem_kv_secondary_delete(tx, by_word, b("black"), 0));
    OK(rem_rollback(tx));
    called.tx = 0;
    OK(rem_kv_sequence_remove(db, called.sequence));
    /* Through its table, a secondary database gets out of step. */
    OK(rem_kv_put_one(db, pets, b("4"), b("white mouse"), 0));
    OK(rem_begin_write(db, 0, &tx));
    {
        rem_table table;
        rem_cursor scan;
        rem_row row;
        OK(rem_table_find(db, "pets", &table));
        OK(rem_scan_open(tx, table, &scan));
        while (rem_cursor_next(&scan, &row) == REM_OK)
            OK(rem_delete(tx, table, row.id));
    }
    STATUS(REM_ROW_NOT_FOUND, rem_kv_secondary_get(tx, by_word, b("cat"), 0, &value));
    OK(rem_rollback(tx));
    OK(rem_kv_dissociate(db, by_word));
    STATUS(REM_BAD_HANDLE, rem_kv_dissociate(db, by_word));
    other.id = 0;
    STATUS(REM_NULL_ARGUMENT, rem_kv_dissociate(db, other));
    OK(rem_begin_write(db, 0, &tx));
    STATUS(REM_BAD_HANDLE, rem_kv_secondary_get(tx, by_word, b("cat"), 0, &value));
    OK(rem_kv_put(tx, index, b("x"), b("y"), 0));
    OK(rem_rollback(tx));
}

static void sequences(void)
{
    const rem_transaction *tx;
    rem_kv_sequence_options options;
    rem_kv_sequence ids, more;
    int64_t number;
    memset(&options, 0, sizeof options);
    options.flags = REM_KV_SEQUENCE_INITIAL;
    options.initial = 7;
    options.greatest = 9;
    options.cache = 2;
    OK(rem_kv_sequence_open(db, hashed, b("ids"), &options, &ids));
    OK(rem_kv_sequence_next(db, ids, &number));
    CHECK(number == 7);
    OK(rem_kv_sequence_open(db, hashed, b("ids"), 0, &more));
    CHECK(more.id != ids.id);
    OK(rem_begin_write(db, 0, &tx));
    OK(rem_kv_sequence_next_in(tx, more, &number));
    CHECK(number == 9);
    STATUS(REM_LIMIT_REACHED, rem_kv_sequence_next_in(tx, more, &number));
    STATUS(REM_NULL_ARGUMENT, rem_kv_sequence_next_in(tx, more, 0));
    OK(rem_rollback(tx));
    STATUS(REM_TRANSACTION_ENDED, rem_kv_sequence_next_in(tx, more, &number));
    OK(rem_begin_read(db, 0, &tx));
    STATUS(REM_READ_ONLY, rem_kv_sequence_next_in(tx, more, &number));
    OK(rem_rollback(tx));
    OK(rem_kv_sequence_next(db, more, &number));
    CHECK(number == 9);
    OK(rem_kv_sequence_next(db, ids, &number));
    CHECK(number == 8);
    STATUS(REM_LIMIT_REACHED, rem_kv_sequence_next(db, ids, &number));
    STATUS(REM_NULL_ARGUMENT, rem_kv_sequence_next(db, ids, 0));
    OK(rem_kv_sequence_remove(db, ids));
    STATUS(REM_BAD_HANDLE, rem_kv_sequence_next(db, ids, &number));
    STATUS(REM_ROW_NOT_FOUND, rem_kv_sequence_next(db, more, &number));
    OK(rem_kv_sequence_close(db, more));
    STATUS(REM_BAD_HANDLE, rem_kv_sequence_close(db, more));
    STATUS(REM_BAD_HANDLE, rem_kv_sequence_remove(db, more));
    options.flags = REM_KV_SEQUENCE_WRAPS;
    options.least = 1;
    options.greatest = 2;
    options.increment = -1;
    OK(rem_kv_sequence_open(db, hashed, b("bits"), &options, &ids));
    OK(rem_kv_sequence_next(db, ids, &number));
    CHECK(number == 2);
    OK(rem_kv_sequence_next(db, ids, &number));
    OK(rem_kv_sequence_next(db, ids, &number));
    CHECK(number == 2);
    OK(rem_kv_sequence_close(db, ids));
    options.greatest = -2;
    STATUS(REM_INVALID_OPTIONS, rem_kv_sequence_open(db, hashed, b("n"), &options, &ids));
    options.flags = 4;
    STATUS(REM_BAD_ARGUMENT, rem_kv_sequence_open(db, hashed, b("n"), &options, &ids));
    STATUS(REM_INVALID_OPTIONS, rem_kv_sequence_open(db, tags, b("n"), 0, &ids));
    STATUS(REM_NULL_ARGUMENT, rem_kv_sequence_open(db, hashed, b("n"), 0, 0));
    OK(rem_kv_put_one(db, hashed, b("text"), b("v"), 0));
    STATUS(REM_WRONG_TYPE, rem_kv_sequence_open(db, hashed, b("text"), 0, &ids));
    ids.id = 0;
    STATUS(REM_NULL_ARGUMENT, rem_kv_sequence_next(db, ids, &number));
}

struct elsewhere {
    const rem_transaction *tx;
    rem_kv_cursor cursor;
};

static void *use_elsewhere(void *argument)
{
    struct elsewhere *elsewhere = argument;
    rem_blob value;
    STATUS(REM_WRONG_THREAD, rem_kv_get(elsewhere->tx, fruit, b("apple"), &value));
    STATUS(REM_WRONG_THREAD, rem_kv_put(elsewhere->tx, fruit, b("apple"), b("x"), 0));
    STATUS(REM_WRONG_THREAD, rem_kv_cursor_get(&elsewhere->cursor, REM_KV_FIRST, 0, 0));
    STATUS(REM_WRONG_THREAD, rem_kv_cursor_close(&elsewhere->cursor));
    return 0;
}

static void *count_up(void *argument)
{
    int number;
    int64_t got;
    const rem_kv_sequence *sequence = argument;
    for (number = 0; number < 200; number++) {
        char key[8];
        OK(rem_kv_sequence_next(db, *sequence, &got));
        snprintf(key, sizeof key, "%d", (int)got);
        OK(rem_kv_put_one(db, hashed, b(key), b("taken"), REM_KV_NO_OVERWRITE));
    }
    return 0;
}

static void transactions_and_threads(void)
{
    const rem_transaction *other;
    struct elsewhere elsewhere;
    rem_kv_sequence sequence;
    pthread_t threads[3];
    int i;
    OK(rem_begin_write(db, 0, &elsewhere.tx));
    OK(rem_kv_cursor_open(elsewhere.tx, fruit, &elsewhere.cursor));
    CHECK(pthread_create(&threads[0], 0, use_elsewhere, &elsewhere) == 0);
    pthread_join(threads[0], 0);
    /* Two transactions change one record. */
    OK(rem_kv_put(elsewhere.tx, fruit, b("apple"), b("red"), 0));
    OK(rem_begin_write(db, 0, &other));
    STATUS(REM_CONFLICT, rem_kv_put(other, fruit, b("apple"), b("green"), 0));
    OK(rem_rollback(other));
    STATUS(REM_TABLE_BUSY, rem_kv_remove(db, "fruit"));
    OK(rem_commit(elsewhere.tx));
    OK(rem_kv_sequence_open(db, fruit, b("n"), 0, &sequence));
    for (i = 0; i < 3; i++)
        CHECK(pthread_create(&threads[i], 0, count_up, &sequence) == 0);
    for (i = 0; i < 3; i++)
        pthread_join(threads[i], 0);
    OK(rem_kv_sequence_close(db, sequence));
}

static void expiry(void)
{
    const rem_transaction *tx;
    const struct timespec nap = {0, 20000000};
    rem_transaction_options options;
    rem_blob value;
    memset(&options, 0, sizeof options);
    options.snapshot_age_us_max = 1000;
    OK(rem_begin_read(db, &options, &tx));
    nanosleep(&nap, 0);
    OK(rem_kv_put_one(db, fruit, b("apple"), b("brown"), 0));
    STATUS(REM_SNAPSHOT_EXPIRED, rem_kv_get(tx, fruit, b("apple"), &value));
    OK(rem_rollback(tx));
}

/* A record and a row change together, or neither does. */
static void with_a_table(void)
{
    const rem_transaction *tx;
    rem_savepoint point;
    rem_table table;
    rem_column number;
    rem_draft draft;
    rem_row row;
    rem_cursor scan;
    rem_blob value;
    OK(rem_table_find(db, "Table", &table));
    OK(rem_column_find(db, table, "number", &number));
    OK(rem_begin_write(db, 0, &tx));
    OK(rem_kv_put(tx, fruit, b("fig"), b("1"), 0));
    OK(rem_savepoint_set(tx, &point));
    OK(rem_draft_new(tx, table, &draft));
    OK(rem_put_i32(&draft, number, 1));
    OK(rem_insert(&draft, 0));
    OK(rem_kv_put(tx, fruit, b("fig"), b("2"), 0));
    OK(rem_rollback_to(&point));
    OK(rem_kv_get(tx, fruit, b("fig"), &value));
    CHECK(is(value, "1"));
    OK(rem_insert(&draft, 0));
    OK(rem_rollback(tx));
    OK(rem_begin_read(db, 0, &tx));
    STATUS(REM_NOT_FOUND, rem_kv_get(tx, fruit, b("fig"), &value));
    OK(rem_scan_open(tx, table, &scan));
    STATUS(REM_NOT_FOUND, rem_cursor_next(&scan, &row));
    OK(rem_rollback(tx));
}

static void ends(void)
{
    const rem_database *second;
    const rem_transaction *tx;
    rem_kv nuts, kv;
    rem_blob value;
    uint32_t flags;
    char buffer[8];
    size_t length;
    STATUS(REM_TABLE_EXISTS, rem_kv_rename(db, "fruit", "tags", 0));
    STATUS(REM_UNKNOWN_TABLE, rem_kv_rename(db, "figs", "nuts", 0));
    STATUS(REM_NULL_ARGUMENT, rem_kv_rename(db, "fruit", 0, 0));
    OK(rem_kv_rename(db, "fruit", "nuts", &nuts));
    OK(rem_kv_get_one(db, nuts, b("apple"), buffer, sizeof buffer, &length));
    STATUS(REM_UNKNOWN_TABLE, rem_kv_get_one(db, fruit, b("apple"), buffer, 8, &length));
    OK(rem_open(0, &second));
    STATUS(REM_BAD_HANDLE, rem_kv_flags(second, nuts, &flags));
    OK(rem_begin_read(second, 0, &tx));
    STATUS(REM_BAD_HANDLE, rem_kv_get(tx, nuts, b("apple"), &value));
    OK(rem_rollback(tx));
    OK(rem_close(second));
    STATUS(REM_BAD_HANDLE, rem_kv_find(second, "nuts", &kv));
    STATUS(REM_UNKNOWN_TABLE, rem_kv_remove(db, "fruit"));
    OK(rem_kv_remove(db, "nuts"));
    STATUS(REM_UNKNOWN_TABLE, rem_kv_put_one(db, nuts, b("k"), b("v"), 0));
    OK(rem_kv_create(db, "nuts", REM_KV_HASHED | REM_KV_DUPLICATES, &kv));
    CHECK(kv.id != nuts.id);
    OK(rem_kv_flags(db, kv, &flags));
    CHECK(flags == (REM_KV_HASHED | REM_KV_DUPLICATES));
}

/* Handles that never were are refused, whatever is in them. */
static void nonsense(void)
{
    const rem_transaction *tx;
    uint64_t bits = 1, count;
    rem_blob found;
    int64_t number;
    int i;
    OK(rem_begin_write(db, 0, &tx));
    for (i = 0; i < 2000; i++) {
        rem_kv kv;
        rem_kv_cursor cursor;
        rem_kv_secondary secondary;
        rem_kv_sequence sequence;
        bits = bits * 6364136223846793005ULL + 1442695040888963407ULL;
        kv.id = tags.id + (i % 2 ? bits : bits % 5000 + 100);
        secondary.id = sequence.id = kv.id;
        STATUS(REM_BAD_HANDLE, rem_kv_get(tx, kv, b("a"), &found));
        STATUS(REM_BAD_HANDLE, rem_kv_put(tx, kv, b("a"), b("b"), 0));
        STATUS(REM_BAD_HANDLE, rem_kv_put_one(db, kv, b("a"), b("b"), 0));
        STATUS(REM_BAD_HANDLE, rem_kv_cursor_open(tx, kv, &cursor));
        STATUS(REM_BAD_HANDLE, rem_kv_secondary_get(tx, secondary, b("a"), 0, &found));
        STATUS(REM_BAD_HANDLE, rem_kv_secondary_cursor_open(tx, secondary, &cursor));
        STATUS(REM_BAD_HANDLE, rem_kv_dissociate(db, secondary));
        STATUS(REM_BAD_HANDLE, rem_kv_sequence_next(db, sequence, &number));
        STATUS(REM_BAD_HANDLE, rem_kv_sequence_close(db, sequence));
        STATUS(REM_BAD_HANDLE, rem_kv_key_add((const rem_kv_keys *)(uintptr_t)(bits | 1), b("a")));
        cursor.transaction = (uint64_t)(uintptr_t)tx;
        cursor.number = bits;
        STATUS(REM_BAD_HANDLE, rem_kv_cursor_get(&cursor, REM_KV_FIRST, 0, 0));
        cursor.transaction = bits;
        STATUS(REM_TRANSACTION_ENDED, rem_kv_cursor_count(&cursor, &count));
    }
    OK(rem_rollback(tx));
}

int main(void)
{
    OK(rem_open(0, &db));
    names();
    records();
    single_calls();
    cursors();
    bulk();
    secondaries();
    sequences();
    transactions_and_threads();
    expiry();
    with_a_table();
    nonsense();
    ends();
    OK(rem_close(db));
    STATUS(REM_BAD_HANDLE, rem_kv_flags(db, tags, (uint32_t[]){0}));
    return 0;
}
