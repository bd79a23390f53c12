/* The native interface: what works, and what is refused. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <remanent.h>
#include <string.h>

#define ERROR_TEXT rem_error_text
#include "check.h"

static const rem_database *db;
static rem_table cities;
static rem_column name, people, area, founded, position, points;
static rem_index primary, by_people;

static void define(void)
{
    const rem_column_schema floats = {0, REM_F64, 0, 0, 0, 0, 0};
    const rem_column_schema xy[] = {{"x", REM_I32, 0, 0, 0, 0, 0}, {"y", REM_I32, 0, 0, 0, 0, 0}};
    const rem_column_schema columns[] = {
        {"name", REM_STRING, 0, 80, 0, 0, 0},       {"people", REM_U32, REM_NULLABLE, 0, 0, 0, 0},
        {"area", REM_DECIMAL, 0, 12, 2, 0, 0},      {"founded", REM_DATE, 0, 0, 0, 0, 0},
        {"position", REM_STRUCT, 0, 0, 0, xy, 2},   {"points", REM_VECTOR, 0, 0, 0, &floats, 1},
    };
    const char *const by_name[] = {"name"}, *const by_count[] = {"people desc"};
    const rem_index_schema indexes[] = {{0, by_name, 1, REM_PRIMARY}, {"by_people", by_count, 1, 0}};
    const char *text_of_part = "declare database d; class Part { unsigned<4> number; };";
    char text[10];
    size_t length;
    OK(rem_table_create(db, "City", columns, 6, indexes, 2, &cities));
    STATUS(REM_TABLE_EXISTS, rem_table_create(db, "City", columns, 6, indexes, 2, &cities));
    STATUS(REM_INVALID_SCHEMA, rem_table_create(db, "Bad", columns, 0, 0, 0, &cities));
    STATUS(REM_NULL_ARGUMENT, rem_table_create(db, 0, columns, 1, 0, 0, &cities));
    OK(rem_table_find(db, "City", &cities));
    STATUS(REM_UNKNOWN_TABLE, rem_table_find(db, "Town", &cities));
    OK(rem_column_find(db, cities, "name", &name));
    OK(rem_column_find(db, cities, "people", &people));
    OK(rem_column_find(db, cities, "area", &area));
    OK(rem_column_find(db, cities, "founded", &founded));
    OK(rem_column_find(db, cities, "position.y", &position));
    OK(rem_column_find(db, cities, "points", &points));
    STATUS(REM_UNKNOWN_COLUMN, rem_column_find(db, cities, "size", &points));
    OK(rem_index_find(db, cities, "primary", &primary));
    OK(rem_index_find(db, cities, "by_people", &by_people));
    STATUS(REM_UNKNOWN_INDEX, rem_index_find(db, cities, "by_size", &by_people));
    OK(rem_define(db, text_of_part, strlen(text_of_part), 0));
    STATUS(REM_BAD_SCHEMA, rem_define(db, "class Part {", 12, 1));
    OK(rem_table_name_at(db, 0, text, sizeof text, &length));
    CHECK(length == 4 && strcmp(text, "City") == 0);
    STATUS(REM_BUFFER_TOO_SMALL, rem_table_name_at(db, 1, text, 4, &length));
    STATUS(REM_NOT_FOUND, rem_table_name_at(db, 2, text, sizeof text, &length));
}

static uint32_t add(const rem_transaction *tx, const char *called, uint32_t count)
{
    rem_draft draft;
    uint32_t id;
    OK(rem_draft_new(tx, cities, &draft));
    OK(rem_put_text(&draft, name, called, strlen(called)));
    OK(rem_put_u32(&draft, people, count));
    OK(rem_insert(&draft, &id));
    return id;
}

static void write_and_read(void)
{
    const rem_transaction *tx;
    const double list[] = {1.5, 2.5};
    rem_savepoint point;
    rem_draft draft;
    rem_value key, value;
    rem_row row;
    uint32_t id, count;
    int32_t date, y;
    int64_t low, high;
    const char *text;
    const void *bytes;
    size_t length;
    bool null;
    OK(rem_begin_write(db, 0, &tx));
    id = add(tx, "Ulm", 126000);
    add(tx, "Bonn", 336000);
    OK(rem_savepoint_set(tx, &point));
    add(tx, "Aalen", 68000);
    OK(rem_rollback_to(&point));
    key = rem_text("Ulm", 3);
    OK(rem_find(tx, primary, &key, 1, &row));
    OK(rem_draft_load(&row, &draft));
    OK(rem_put_decimal(&draft, area, -11869, -1));
    OK(rem_put_date(&draft, founded, -40000));
    OK(rem_put_i64(&draft, position, 7));
    STATUS(REM_VALUE_OUT_OF_RANGE, rem_put_i64(&draft, position, 1LL << 40));
    STATUS(REM_WRONG_TYPE, rem_put_f64(&draft, position, 1.0));
    STATUS(REM_BAD_TEXT, rem_put_text(&draft, name, "\xff", 1));
    STATUS(REM_NULL_IN_NOT_NULL, rem_put_null(&draft, name));
    OK(rem_put_bytes(&draft, points, list, sizeof list));
    OK(rem_draft_row(&draft, &row));
    OK(rem_get_i32(&row, position, &y));
    CHECK(y == 7);
    OK(rem_update(&draft, id));
    STATUS(REM_ROW_NOT_FOUND, rem_update(&draft, 999));
    OK(rem_draft_free(&draft));
    STATUS(REM_BAD_HANDLE, rem_insert(&draft, &id));
    OK(rem_draft_new(tx, cities, &draft));
    OK(rem_put_text(&draft, name, "Ulm", 3));
    STATUS(REM_DUPLICATE_KEY, rem_insert(&draft, &id));
    CHECK(strstr(rem_error_text(), "Ulm"));
    OK(rem_commit(tx));
    STATUS(REM_TRANSACTION_ENDED, rem_get_u32(&row, people, &count));
    STATUS(REM_TRANSACTION_ENDED, rem_put_u32(&draft, people, 1));

    OK(rem_begin_read(db, 0, &tx));
    OK(rem_find(tx, primary, &key, 1, &row));
    OK(rem_get_text(&row, name, &text, &length));
    CHECK(length == 3 && memcmp(text, "Ulm", 3) == 0);
    OK(rem_get_u32(&row, people, &count));
    OK(rem_get_decimal(&row, area, &low, &high));
    OK(rem_get_date(&row, founded, &date));
    CHECK(count == 126000 && low == -11869 && high == -1 && date == -40000);
    OK(rem_get_bytes(&row, points, &bytes, &length));
    CHECK(length == sizeof list && memcmp(bytes, list, length) == 0);
    OK(rem_is_null(&row, people, &null));
    CHECK(!null);
    OK(rem_get_value(&row, people, &value));
    CHECK(value.kind == REM_U32 && value.word.natural == 126000);
    STATUS(REM_WRONG_TYPE, rem_get_u64(&row, people, (uint64_t[]){0}));
    STATUS(REM_NULL_ARGUMENT, rem_get_u32(&row, people, 0));
    STATUS(REM_NULL_ARGUMENT, rem_get_u32(0, people, &count));
    STATUS(REM_READ_ONLY, rem_draft_new(tx, cities, &draft));
    STATUS(REM_READ_ONLY, rem_delete(tx, cities, id));
    key = rem_text("Aalen", 5);
    STATUS(REM_NOT_FOUND, rem_find(tx, primary, &key, 1, &row));
    STATUS(REM_WRONG_KEY_SHAPE, rem_find(tx, primary, &key, 0, &row));
    OK(rem_row_at(tx, cities, id, &row));
    OK(rem_rollback(tx));
    STATUS(REM_TRANSACTION_ENDED, rem_rollback(tx));
}

static void cursors(void)
{
    const rem_transaction *tx;
    rem_cursor cursor, scan;
    rem_row row;
    uint32_t count;
    rem_value key = rem_u32(200000);
    OK(rem_begin_write(db, 0, &tx));
    add(tx, "Aalen", 68000);
    OK(rem_cursor_open(tx, by_people, &cursor));
    OK(rem_cursor_first(&cursor, &row));
    OK(rem_get_u32(&row, people, &count));
    CHECK(count == 336000);
    OK(rem_cursor_next(&cursor, &row));
    OK(rem_cursor_last(&cursor, &row));
    OK(rem_get_u32(&row, people, &count));
    CHECK(count == 68000);
    STATUS(REM_NOT_FOUND, rem_cursor_next(&cursor, &row));
    OK(rem_cursor_find(&cursor, REM_AT_LEAST, &key, 1, &row));
    OK(rem_get_u32(&row, people, &count));
    CHECK(count == 126000);
    OK(rem_cursor_previous(&cursor, &row));
    STATUS(REM_NOT_FOUND, rem_cursor_find(&cursor, REM_EQUAL, &key, 1, &row));
    STATUS(REM_BAD_ARGUMENT, rem_cursor_find(&cursor, 9, &key, 1, &row));
    OK(rem_scan_open(tx, cities, &scan));
    count = 0;
    while (rem_cursor_next(&scan, &row) == REM_OK)
        count++;
    CHECK(count == 3);
    STATUS(REM_WRONG_INDEX_KIND, rem_cursor_first(&scan, &row));
    OK(rem_cursor_close(&scan));
    STATUS(REM_BAD_HANDLE, rem_cursor_next(&scan, &row));
    OK(rem_delete(tx, cities, row.id));
    STATUS(REM_ROW_NOT_FOUND, rem_delete(tx, cities, row.id));
    OK(rem_rollback(tx));
    STATUS(REM_TRANSACTION_ENDED, rem_cursor_next(&cursor, &row));
}

static void *use_elsewhere(void *argument)
{
    rem_draft draft;
    STATUS(REM_WRONG_THREAD, rem_draft_new(argument, cities, &draft));
    STATUS(REM_WRONG_THREAD, rem_commit(argument));
    return 0;
}

static void refusals(void)
{
    const rem_transaction *tx, *other;
    const rem_database *second;
    rem_transaction_options options = {REM_SNAPSHOT, 1, 0, 0, 0, 0, "report", 0};
    rem_snapshot held[4];
    rem_memory memory;
    rem_table table;
    rem_column column;
    rem_draft draft, copy;
    rem_row row;
    size_t count;
    pthread_t thread;
    rem_value key = rem_text("Ulm", 3);
    OK(rem_begin_write(db, &options, &tx));
    OK(rem_snapshots(db, held, 4, &count));
    CHECK(count == 1 && strcmp(held[0].name, "report") == 0);
    CHECK(pthread_create(&thread, 0, use_elsewhere, (void *)tx) == 0);
    pthread_join(thread, 0);
    STATUS(REM_OPEN_HANDLES, rem_close(db));
    OK(rem_table_find(db, "Part", &table));
    OK(rem_column_find(db, table, "number", &column));
    OK(rem_draft_new(tx, cities, &draft));
    STATUS(REM_WRONG_TABLE, rem_put_u32(&draft, column, 1));
    OK(rem_find(tx, primary, &key, 1, &row));
    STATUS(REM_WRONG_TABLE, rem_get_u32(&row, column, (uint32_t[]){0}));
    OK(rem_open(0, &second));
    OK(rem_begin_write(second, 0, &other));
    STATUS(REM_WRONG_TABLE, rem_draft_new(other, cities, &draft));
    STATUS(REM_WRONG_TABLE, rem_find(other, primary, &key, 1, &row));
    OK(rem_rollback(other));
    OK(rem_close(second));
    STATUS(REM_BAD_HANDLE, rem_close(second));
    STATUS(REM_BAD_HANDLE, rem_begin_read(second, 0, &other));
    STATUS(REM_NULL_ARGUMENT, rem_begin_read(0, 0, &other));
    STATUS(REM_TRANSACTION_ENDED, rem_commit((const rem_transaction *)(size_t)0xdeadbeef1234));
    STATUS(REM_NULL_ARGUMENT, rem_commit(0));
    options.priority = 9;
    STATUS(REM_INVALID_OPTIONS, rem_begin_read(db, &options, &other));
    /* Two transactions change one row. */
    OK(rem_begin_write(db, 0, &other));
    OK(rem_find(tx, primary, &key, 1, &row));
    OK(rem_draft_load(&row, &draft));
    OK(rem_update(&draft, row.id));
    OK(rem_find(other, primary, &key, 1, &row));
    OK(rem_draft_load(&row, &copy));
    STATUS(REM_CONFLICT, rem_update(&copy, row.id));
    CHECK(strcmp(rem_status_sqlstate(REM_CONFLICT), "40001") == 0);
    CHECK(strcmp(rem_status_name(REM_CONFLICT), "REM_CONFLICT") == 0);
    OK(rem_rollback(other));
    OK(rem_commit(tx));
    OK(rem_memory_use(db, &memory));
    CHECK(memory.rows > 0 && memory.held <= memory.budget);
    CHECK(memory.held == memory.rows + memory.segments + memory.indexes + memory.internal +
                             memory.log + memory.overhead + memory.free);
    OK(rem_budget_set(db, memory.budget));
    STATUS(REM_INVALID_OPTIONS, rem_budget_set(db, 1));
    OK(rem_memory_release(db, 0));
}

static void observe(void)
{
    rem_statistics before, after;
    rem_table_memory tables[2];
    rem_memory memory;
    const rem_transaction *tx, *reader;
    size_t count;
    uint64_t i, rows = 0;
    rem_draft draft;
    OK(rem_database_statistics(db, &before));
    CHECK(before.commits > 0 && before.changes >= before.commits && before.conflicts == 1);
    CHECK(before.uptime_us > 0 && before.log_bytes == 0);
    OK(rem_begin_read(db, 0, &reader));
    OK(rem_begin_write(db, 0, &tx));
    OK(rem_draft_new(tx, cities, &draft));
    OK(rem_insert(&draft, 0));
    OK(rem_database_statistics(db, &after));
    CHECK(after.readers == 1 && after.writers == 1);
    OK(rem_rollback(reader));
    OK(rem_commit(tx));
    OK(rem_database_statistics(db, &after));
    CHECK(after.commits == before.commits + 1 && after.changes == before.changes + 1);
    CHECK(after.readers == 0 && after.writers == 0);
    OK(rem_memory_release(db, 0));
    OK(rem_memory_by_table(db, tables, 2, &count));
    CHECK(count >= 2 && strcmp(tables[0].name, "City") == 0 && tables[0].rows > 0);
    OK(rem_memory_use(db, &memory));
    for (i = 0; i < 2; i++) {
        rows += tables[i].row_bytes;
        CHECK(tables[i].versions == tables[i].rows);
    }
    CHECK(count > 2 || rows == memory.rows);
    OK(rem_memory_by_table(db, 0, 0, &count));
    STATUS(REM_NULL_ARGUMENT, rem_memory_by_table(db, 0, 2, &count));
    STATUS(REM_NULL_ARGUMENT, rem_database_statistics(db, 0));
}

/* Cursors, drafts and tables that come and go: old handles are refused, and no number of them is
   too many. */
static void come_and_go(void)
{
    const rem_column_schema column = {"a", REM_U32, 0, 0, 0, 0, 0};
    const rem_transaction *tx;
    rem_cursor stays, cursor, before = {0, 0};
    rem_draft draft, draft_before = {0, 0};
    rem_table table, first = {0};
    rem_row row;
    int i;
    OK(rem_begin_write(db, 0, &tx));
    OK(rem_cursor_open(tx, by_people, &stays));
    for (i = 0; i < 5000; i++) {
        OK(rem_cursor_open(tx, by_people, &cursor));
        OK(rem_draft_new(tx, cities, &draft));
        CHECK(cursor.number != before.number && draft.number != draft_before.number);
        if (i > 0) {
            STATUS(REM_BAD_HANDLE, rem_cursor_next(&before, &row));
            STATUS(REM_BAD_HANDLE, rem_put_u32(&draft_before, people, 1));
        }
        OK(rem_cursor_close(&cursor));
        OK(rem_draft_free(&draft));
        before = cursor;
        draft_before = draft;
    }
    OK(rem_cursor_first(&stays, &row));
    OK(rem_rollback(tx));
    for (i = 0; i < 5000; i++) {
        OK(rem_table_create(db, "Passing", &column, 1, 0, 0, &table));
        if (i == 0)
            first = table;
        OK(rem_table_drop(db, table));
    }
    STATUS(REM_UNKNOWN_TABLE, rem_table_drop(db, first));
}

int main(void)
{
    CHECK(rem_version()[0]);
    OK(rem_open(0, &db));
    define();
    write_and_read();
    cursors();
    refusals();
    observe();
    come_and_go();
    OK(rem_table_drop(db, cities));
    OK(rem_close(db));
    return 0;
}
