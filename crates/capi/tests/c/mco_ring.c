/* The whole ring of the mco-style runtime over two classes: what works, and every status. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mcs.h"
#define ERROR_TEXT mco_error_text
#include "check.h"

#define SIZE (8u << 20)

static mco_db_h db;

static mco_trans_h begin(MCO_TRANS_TYPE type)
{
    mco_trans_h t;
    OK(mco_trans_start(db, type, MCO_TRANS_FOREGROUND, &t));
    return t;
}

static void add_part(uint4 number, const char *name, double price)
{
    mco_trans_h t = begin(MCO_READ_WRITE);
    Part part;
    OK(Part_new(t, &part));
    OK(Part_number_put(&part, number));
    OK(Part_name_put(&part, name, (uint2)strlen(name)));
    OK(Part_price_put(&part, price));
    OK(mco_trans_commit(t));
}

static uint4 part_count(mco_trans_h t)
{
    mco_cursor_t cursor;
    uint4 count = 0;
    MCO_RET rc = Part_list_cursor(t, &cursor);
    if (rc == MCO_S_CURSOR_EMPTY)
        return 0;
    OK(rc);
    for (rc = mco_cursor_first(t, &cursor); rc == MCO_S_OK; rc = mco_cursor_next(t, &cursor))
        count++;
    STATUS(MCO_S_CURSOR_END, rc);
    OK(mco_cursor_close(t, &cursor));
    STATUS(MCO_E_CURSOR_INVALID, mco_cursor_next(t, &cursor));
    return count;
}

static void empty_indexes(void)
{
    mco_trans_h t = begin(MCO_READ_ONLY);
    mco_cursor_t cursor;
    Part part;
    STATUS(MCO_S_CURSOR_EMPTY, Part_by_price_index_cursor(t, &cursor));
    STATUS(MCO_S_NOTFOUND, Part_by_price_search(t, &cursor, MCO_GE, 1.0));
    STATUS(MCO_S_CURSOR_EMPTY, mco_cursor_first(t, &cursor));
    STATUS(MCO_E_CURSOR_INVALID, Part_from_cursor(t, &cursor, &part));
    STATUS(MCO_S_NOTFOUND, Part_by_number_find(t, 7, &part));
    CHECK(part_count(t) == 0);
    OK(mco_trans_commit(t));
}

static void fields(void)
{
    mco_trans_h t = begin(MCO_READ_WRITE);
    Part part, again;
    stuff extra;
    line l;
    point p;
    char text[40];
    uint2 length, count;
    uint1 is_null;
    uint4 stock, year, years[3] = {1999, 2001, 2003};
    uint8 autoid;
    int2 level;
    int4 x;
    OK(Part_new(t, &part));
    OK(Part_number_put(&part, 1));
    OK(Part_name_put(&part, "Gr\xfc\xdf" "e", 5)); /* not UTF-8 */
    OK(Part_name_get(&part, text, sizeof text, &length));
    CHECK(length == 5 && strcmp(text, "Gr\xfc\xdf" "e") == 0);
    OK(Part_name_get(&part, text, 2, &length)); /* cut, and the whole length */
    CHECK(length == 5 && memcmp(text, "Gr", 2) == 0);
    OK(Part_name_size(&part, &length));
    CHECK(length == 5);
    OK(Part_stock_indicator_get(&part, &is_null));
    CHECK(is_null);
    OK(Part_stock_put(&part, 40));
    OK(Part_stock_indicator_get(&part, &is_null));
    CHECK(!is_null);
    OK(Part_stock_get(&part, &stock));
    CHECK(stock == 40);
    STATUS(MCO_S_NOTFOUND, Part_extra_read_handle(&part, &extra));
    OK(Part_extra_write_handle(&part, &extra));
    OK(stuff_a_put(&extra, -7));
    OK(Part_extra_read_handle(&part, &extra));
    OK(stuff_a_get(&extra, &level));
    CHECK(level == -7);
    OK(Part_levels_put(&part, 3, 33));
    OK(Part_levels_at(&part, 3, &level));
    CHECK(level == 33);
    OK(Part_years_alloc(&part, 4));
    OK(Part_years_put(&part, 0, 1995));
    OK(Part_years_put_range(&part, 1, 3, years));
    OK(Part_years_erase(&part, 1));
    OK(Part_years_size(&part, &count));
    CHECK(count == 3);
    OK(Part_years_at(&part, 1, &year));
    CHECK(year == 2001);
    OK(Part_aliases_alloc(&part, 2));
    OK(Part_aliases_put(&part, 1, "second", 6));
    OK(Part_aliases_put(&part, 0, "first", 5));
    OK(Part_aliases_at(&part, 1, text, sizeof text, &length));
    CHECK(length == 6 && strcmp(text, "second") == 0);
    OK(Part_lines_alloc(&part, 2));
    OK(Part_lines_put(&part, 1, &l));
    OK(line_note_put(&l, "note", 4));
    OK(line_from_write_handle(&l, &p));
    OK(point_x_put(&p, -5));
    OK(Part_lines_at(&part, 1, &l));
    OK(line_from_read_handle(&l, &p));
    OK(point_x_get(&p, &x));
    CHECK(x == -5);
    OK(line_note_get(&l, text, sizeof text, &length));
    CHECK(length == 4 && strcmp(text, "note") == 0);
    OK(Part_picture_put(&part, "0123456789", 10));
    OK(Part_picture_append(&part, "abc", 3));
    {
        uint4 got = 0;
        OK(Part_picture_get(&part, 8, text, sizeof text, &got));
        CHECK(got == 5 && memcmp(text, "89abc", 5) == 0);
        OK(Part_picture_size(&part, &got));
        CHECK(got == 13);
    }
    OK(Part_autoid_get(&part, &autoid));
    /* Not in an index before it is checkpointed. */
    STATUS(MCO_S_NOTFOUND, Part_by_number_find(t, 1, &again));
    OK(Part_checkpoint(&part));
    OK(Part_by_number_find(t, 1, &again));
    OK(Part_autoid_find(t, autoid, &again));
    OK(Part_stock_put(&again, 41)); /* the other handle sees it */
    OK(Part_stock_get(&part, &stock));
    CHECK(stock == 41);
    OK(mco_trans_commit(t));
    t = begin(MCO_READ_ONLY);
    OK(Part_by_number_find(t, 1, &part));
    OK(Part_stock_get(&part, &stock));
    CHECK(stock == 41 && part_count(t) == 1);
    OK(mco_trans_commit(t));
    STATUS(MCO_E_TRANSACT, Part_stock_get(&part, &stock)); /* of an ended transaction */
}

static void cursors(void)
{
    mco_trans_h t;
    mco_cursor_t cursor, other, list;
    Part part;
    Measure measure;
    uint4 number;
    int order;
    add_part(2, "twin", 2.0);
    add_part(3, "twin", 3.0);
    add_part(4, "four", 3.0);
    t = begin(MCO_READ_ONLY);
    OK(Part_by_price_index_cursor(t, &cursor)); /* descending: 3, 3, 2, 0 */
    OK(mco_cursor_first(t, &cursor));
    OK(Part_from_cursor(t, &cursor, &part));
    OK(Part_number_get(&part, &number));
    CHECK(number == 3 || number == 4);
    OK(Part_by_price_compare(t, &cursor, 3.0, &order));
    CHECK(order == 0);
    OK(Part_by_price_compare(t, &cursor, 2.0, &order));
    CHECK(order < 0);
    OK(mco_cursor_next(t, &cursor));
    OK(mco_cursor_next(t, &cursor));
    OK(mco_cursor_next(t, &cursor));
    STATUS(MCO_S_CURSOR_END, mco_cursor_next(t, &cursor));
    OK(mco_cursor_last(t, &cursor));
    OK(mco_cursor_prev(t, &cursor));
    OK(Part_from_cursor(t, &cursor, &part));
    OK(Part_number_get(&part, &number));
    CHECK(number == 2);
    OK(Part_by_price_search(t, &cursor, MCO_EQ, 2.0));
    OK(mco_cursor_next(t, &cursor));
    OK(Part_from_cursor(t, &cursor, &part));
    OK(Part_number_get(&part, &number));
    CHECK(number == 1);
    OK(Part_by_price_search(t, &cursor, MCO_GT, 3.0));
    OK(Part_by_price_search(t, &cursor, MCO_LT, 2.0));
    OK(Part_by_price_search(t, &cursor, MCO_LE, 2.0));
    OK(Part_by_price_search(t, &cursor, MCO_GE, 2.0));
    STATUS(MCO_E_CURSOR_MISMATCH, Measure_from_cursor(t, &cursor, &measure));
    STATUS(MCO_E_CURSOR_MISMATCH, Measure_sensors_search(t, &cursor, MCO_EQ, 1, 1));
    OK(Part_by_name_index_cursor(t, &other));
    OK(Part_by_name_search(t, &other, MCO_EQ, "twin", 4));
    OK(mco_cursor_next(t, &other));
    STATUS(MCO_S_CURSOR_END, mco_cursor_next(t, &other));
    STATUS(MCO_S_NOTFOUND, Part_by_name_search(t, &other, MCO_EQ, "none", 4));
    OK(Part_by_number_find(t, 2, &part));
    OK(Part_by_price_locate(t, &cursor, &part));
    OK(mco_cursor_prev(t, &cursor));
    OK(Part_list_cursor(t, &list));
    OK(mco_cursor_last(t, &list));
    OK(mco_cursor_prev(t, &list));
    memset(&cursor, 0x5a, sizeof cursor);
    STATUS(MCO_E_CURSOR_INVALID, mco_cursor_first(t, &cursor));
    STATUS(MCO_E_ILLEGAL_PARAM, mco_cursor_first(t, 0));
    STATUS(MCO_E_VOLUNTARY_NOT_EXIST, rem_mco_index_cursor(t, 1, 99, &cursor));
    OK(mco_trans_commit(t));
    STATUS(MCO_E_TRANSACT, mco_cursor_next(t, &other));
    t = begin(MCO_READ_ONLY);
    STATUS(MCO_E_CURSOR_INVALID, mco_cursor_next(t, &other));
    OK(mco_trans_rollback(t));
}

static void failures(void)
{
    mco_trans_h t = begin(MCO_READ_ONLY), u;
    Part part, same, copy;
    char longer[40];
    uint4 number;
    STATUS(MCO_E_ACCESS, Part_new(t, &part));
    STATUS(MCO_E_TRANSACT, mco_trans_commit(t));
    t = begin(MCO_READ_ONLY);
    OK(Part_by_number_find(t, 2, &part));
    STATUS(MCO_E_ACCESS, Part_stock_put(&part, 1));
    OK(mco_trans_rollback(t));
    STATUS(MCO_E_TRANSACT, mco_trans_rollback(t));
    STATUS(MCO_E_TRANSACT, mco_trans_commit(t));
    /* A failed put latches. */
    t = begin(MCO_READ_WRITE);
    OK(Part_new(t, &part));
    memset(longer, 'x', sizeof longer);
    STATUS(MCO_E_TOO_LONG, Part_name_put(&part, longer, sizeof longer));
    STATUS(MCO_E_TRANSACT, Part_number_put(&part, 77));
    STATUS(MCO_E_TRANSACT, Part_new(t, &same));
    STATUS(MCO_E_TRANSACT, mco_trans_commit(t));
    t = begin(MCO_READ_ONLY);
    CHECK(part_count(t) == 4);
    OK(mco_trans_commit(t));
    t = begin(MCO_READ_WRITE);
    OK(Part_new(t, &part));
    STATUS(MCO_E_ILLEGAL_PARAM, Part_levels_put(&part, 4, 1));
    OK(Part_years_alloc(&part, 1));
    STATUS(MCO_E_ILLEGAL_PARAM, Part_years_put(&part, 1, 1));
    OK(mco_trans_rollback(t));
    /* A duplicate shows at checkpoint and at commit, which ends the transaction. */
    t = begin(MCO_READ_WRITE);
    OK(Part_new(t, &part));
    OK(Part_number_put(&part, 2));
    STATUS(MCO_S_DUPLICATE, Part_checkpoint(&part));
    STATUS(MCO_S_DUPLICATE, mco_trans_commit(t));
    STATUS(MCO_E_TRANSACT, mco_trans_rollback(t));
    /* Deleted objects. */
    t = begin(MCO_READ_WRITE);
    OK(Part_by_number_find(t, 4, &part));
    copy = part;
    OK(Part_delete(&part));
    STATUS(MCO_E_DELETED, Part_number_get(&copy, &number));
    STATUS(MCO_E_DELETED, Part_number_put(&copy, 5));
    OK(mco_trans_rollback(t));
    t = begin(MCO_READ_WRITE);
    OK(Part_by_number_find(t, 4, &part));
    OK(Part_delete(&part));
    CHECK(part_count(t) == 3);
    OK(mco_trans_commit(t));
    /* Two writers of one object. */
    t = begin(MCO_READ_WRITE);
    u = begin(MCO_READ_WRITE);
    OK(Part_by_number_find(t, 2, &part));
    OK(Part_by_number_find(u, 2, &same));
    OK(Part_stock_put(&part, 1));
    OK(Part_stock_put(&same, 2));
    OK(mco_trans_commit(t));
    STATUS(MCO_E_CONFLICT, mco_trans_commit(u));
    /* A thread does not wait for itself. */
    t = begin(MCO_READ_WRITE);
    STATUS(MCO_E_TRANSACT, mco_trans_start(db, MCO_EXCLUSIVE, MCO_TRANS_FOREGROUND, &u));
    CHECK(u == 0);
    OK(mco_trans_rollback(t));
    t = begin(MCO_EXCLUSIVE);
    STATUS(MCO_E_TRANSACT, mco_trans_start(db, MCO_READ_WRITE, MCO_TRANS_FOREGROUND, &u));
    OK(mco_trans_commit(t));
    /* Upgrades. */
    t = begin(MCO_READ_ONLY);
    OK(Part_by_number_find(t, 2, &part));
    OK(mco_trans_upgrade(t));
    OK(Part_stock_put(&part, 9));
    OK(mco_trans_commit(t));
    t = begin(MCO_READ_ONLY);
    add_part(9, "nine", 9.0);
    STATUS(MCO_E_UPGRADE_FAILED, mco_trans_upgrade(t));
    OK(mco_trans_commit(t));
    /* What it read before the upgrade has to be so still when it commits. */
    t = begin(MCO_READ_ONLY);
    OK(Part_by_number_find(t, 2, &part));
    OK(mco_trans_upgrade(t));
    OK(Part_by_number_find(t, 9, &part));
    OK(Part_stock_put(&part, 3));
    u = begin(MCO_READ_WRITE);
    OK(Part_by_number_find(u, 2, &same));
    OK(Part_stock_put(&same, 7));
    OK(mco_trans_commit(u));
    STATUS(MCO_E_CONFLICT, mco_trans_commit(t));
    OK(mco_trans_start_ex(db, MCO_UPDATE, MCO_TRANS_HIGH, MCO_REPEATABLE_READ, &t));
    OK(mco_trans_upgrade(t));
    OK(mco_trans_commit(t));
    STATUS(MCO_E_ILLEGAL_PARAM, mco_trans_start_ex(db, MCO_UPDATE, MCO_TRANS_HIGH, 3, &t));
    STATUS(MCO_E_ILLEGAL_PARAM, mco_trans_start(db, (MCO_TRANS_TYPE)9, MCO_TRANS_HIGH, &t));
    STATUS(MCO_E_ILLEGAL_PARAM, mco_trans_start(db, MCO_READ_ONLY, (MCO_TRANS_PRIORITY)9, &t));
}

static void bad_handles(void)
{
    mco_trans_h t = begin(MCO_READ_WRITE), garbage = (mco_trans_h)(size_t)0x1234567890abcdef;
    Part part, none;
    uint4 number;
    memset(&none, 0, sizeof none);
    STATUS(MCO_E_ILLEGAL_HANDLE, Part_number_get(&none, &number));
    STATUS(MCO_E_ILLEGAL_PARAM, rem_mco_get_fixed(0, 0, &number, 4));
    memset(&none, 0x5a, sizeof none);
    STATUS(MCO_E_TRANSACT, Part_number_get(&none, &number));
    STATUS(MCO_E_TRANSACT, Part_new(0, &part));
    STATUS(MCO_E_TRANSACT, Part_new(garbage, &part));
    STATUS(MCO_E_TRANSACT, mco_trans_commit(garbage));
    STATUS(MCO_E_TRANSACT, mco_trans_rollback(0));
    STATUS(MCO_E_ILLEGAL_PARAM, rem_mco_new(t, 99, &part.object));
    STATUS(MCO_E_ILLEGAL_PARAM, rem_mco_new(t, 0, 0));
    OK(Part_new(t, &part));
    STATUS(MCO_E_ILLEGAL_PARAM, rem_mco_get_fixed(&part.object, 99, &number, 4));
    STATUS(MCO_E_ILLEGAL_PARAM, rem_mco_get_fixed(&part.object, 0, &number, 2));
    STATUS(MCO_E_ILLEGAL_PARAM, rem_mco_get_fixed(&part.object, 0, 0, 4));
    part.object.draft = 99;
    STATUS(MCO_E_ILLEGAL_HANDLE, Part_number_get(&part, &number));
    STATUS(MCO_E_TRANSACT, mco_db_disconnect(db)); /* it has a transaction */
    OK(mco_trans_rollback(t));
    STATUS(MCO_E_ILLEGAL_HANDLE, mco_db_disconnect(0));
    STATUS(MCO_E_ILLEGAL_HANDLE, mco_db_disconnect((mco_db_h)(void *)garbage));
    STATUS(MCO_E_ILLEGAL_HANDLE, mco_trans_start((mco_db_h)(void *)garbage, MCO_READ_ONLY,
                                                 MCO_TRANS_FOREGROUND, &t));
    STATUS(MCO_E_ILLEGAL_PARAM, mco_trans_start(db, MCO_READ_ONLY, MCO_TRANS_FOREGROUND, 0));
}

static void *use_elsewhere(void *argument)
{
    mco_trans_h t = (mco_trans_h)argument;
    mco_trans_h own;
    Part part;
    STATUS(MCO_E_WRONG_THREAD, Part_new(t, &part));
    STATUS(MCO_E_WRONG_THREAD, mco_trans_commit(t));
    /* One that is left open ends with its thread. */
    OK(mco_trans_start(db, MCO_READ_WRITE, MCO_TRANS_FOREGROUND, &own));
    OK(Part_new(own, &part));
    return own;
}

static void threads(void)
{
    mco_trans_h t = begin(MCO_READ_WRITE);
    pthread_t thread;
    void *theirs;
    Part part;
    CHECK(pthread_create(&thread, 0, use_elsewhere, t) == 0);
    CHECK(pthread_join(thread, &theirs) == 0);
    OK(Part_new(t, &part));
    OK(mco_trans_rollback(t));
    STATUS(MCO_E_TRANSACT, mco_trans_commit((mco_trans_h)theirs));
}

static int calls[6];

static MCO_RET count_call(mco_trans_h t, Part *part, MCO_EVENT_TYPE type, void *param)
{
    uint4 number;
    CHECK(param == calls);
    calls[type]++;
    OK(Part_number_get(part, &number));
    STATUS(MCO_E_TRANSACT, mco_trans_commit(t)); /* not from within */
    return number == 666 ? MCO_E_ACCESS : MCO_S_OK;
}

static void events(void)
{
    mco_trans_h t = begin(MCO_READ_WRITE);
    Part part;
    OK(mco_register_added_handler(t, count_call, calls));
    OK(mco_register_restocked_handler(t, count_call, calls));
    OK(mco_register_removed_handler(t, count_call, calls));
    OK(Part_new(t, &part));
    OK(Part_number_put(&part, 50));
    OK(mco_trans_commit(t));
    CHECK(calls[MCO_EVENT_NEW] == 1);
    t = begin(MCO_READ_WRITE);
    OK(Part_by_number_find(t, 50, &part));
    OK(Part_price_put(&part, 1.5));
    OK(mco_trans_commit(t));
    CHECK(calls[MCO_EVENT_UPDATE] == 0); /* another field */
    t = begin(MCO_READ_WRITE);
    OK(Part_by_number_find(t, 50, &part));
    OK(Part_stock_put(&part, 5));
    OK(mco_trans_commit(t));
    CHECK(calls[MCO_EVENT_UPDATE] == 1);
    t = begin(MCO_READ_WRITE);
    OK(Part_by_number_find(t, 50, &part));
    OK(Part_delete(&part));
    OK(Part_new(t, &part));
    OK(Part_number_put(&part, 666)); /* refused by the handler */
    STATUS(MCO_E_ACCESS, mco_trans_commit(t));
    CHECK(calls[MCO_EVENT_DELETE] == 1 && calls[MCO_EVENT_NEW] == 2);
    t = begin(MCO_READ_WRITE);
    OK(Part_by_number_find(t, 50, &part));
    OK(mco_unregister_added_handler(t, count_call));
    STATUS(MCO_S_NOTFOUND, mco_unregister_added_handler(t, count_call));
    OK(mco_unregister_restocked_handler(t, count_call));
    OK(mco_unregister_removed_handler(t, count_call));
    OK(mco_trans_commit(t));
}

struct stream {
    char *bytes;
    size_t length, at, limit;
};

static mco_size_t put(void *to, const void *from, mco_size_t count)
{
    struct stream *stream = to;
    if (stream->length + count > stream->limit)
        return 0;
    memcpy(stream->bytes + stream->length, from, count);
    stream->length += count;
    return count;
}

static mco_size_t get(void *from, void *to, mco_size_t count)
{
    struct stream *stream = from;
    if (count > stream->length - stream->at)
        count = stream->length - stream->at;
    memcpy(to, stream->bytes + stream->at, count);
    stream->at += count;
    return count;
}

static void images(void)
{
    struct stream stream = {malloc(SIZE), 0, 0, SIZE};
    void *memory = malloc(SIZE);
    mco_db_h first = db;
    mco_trans_h t;
    Part part;
    uint4 stock;
    size_t at;
    OK(mco_db_save(&stream, put, db));
    OK(mco_db_load(&stream, get, "copy", mcs_get_dictionary(), memory, SIZE, 512));
    OK(mco_db_connect("copy", &db));
    t = begin(MCO_READ_ONLY);
    OK(Part_by_number_find(t, 1, &part));
    OK(Part_stock_get(&part, &stock));
    CHECK(stock == 41);
    OK(mco_trans_commit(t));
    add_part(70, "new", 1.0); /* its automatic id is new too */
    OK(mco_db_disconnect(db));
    OK(mco_db_close("copy"));
    db = first;
    stream.limit = 10;
    stream.length = 0;
    STATUS(MCO_E_WRITE_STREAM, mco_db_save(&stream, put, db));
    stream.limit = SIZE;
    stream.length = 0;
    OK(mco_db_save(&stream, put, db));
    stream.at = 0;
    stream.bytes[0] ^= 1;
    STATUS(MCO_E_LOAD_DICT,
           mco_db_load(&stream, get, "copy", mcs_get_dictionary(), memory, SIZE, 512));
    stream.bytes[0] ^= 1;
    for (at = 0; at < stream.length; at += 97) {
        MCO_RET rc;
        stream.at = 0;
        stream.bytes[at] ^= 0x40;
        rc = mco_db_load(&stream, get, "copy", mcs_get_dictionary(), memory, SIZE, 512);
        CHECK(rc == MCO_E_LOAD_DICT || rc == MCO_E_LOAD_DATA || rc == MCO_E_READ_STREAM);
        stream.bytes[at] ^= 0x40;
        STATUS(MCO_E_NOINSTANCE, mco_db_connect("copy", &first));
    }
    stream.at = 0;
    stream.bytes[stream.length - 1] ^= 1;
    STATUS(MCO_E_LOAD_DATA,
           mco_db_load(&stream, get, "copy", mcs_get_dictionary(), memory, SIZE, 512));
    stream.at = 0;
    stream.length /= 2;
    STATUS(MCO_E_READ_STREAM,
           mco_db_load(&stream, get, "copy", mcs_get_dictionary(), memory, SIZE, 512));
    free(stream.bytes);
    free(memory);
}

static void full_database(void)
{
    size_t size = 600u << 10;
    void *memory = malloc(size);
    mco_db_h first = db;
    mco_trans_h t;
    Part part;
    static char blob[60000];
    MCO_RET rc = MCO_S_OK;
    uint4 number = 0;
    OK(mco_db_open("small", mcs_get_dictionary(), memory, size, 512));
    OK(mco_db_connect("small", &db));
    while (rc == MCO_S_OK && number < 100) {
        t = begin(MCO_READ_WRITE);
        OK(Part_new(t, &part));
        OK(Part_number_put(&part, number++));
        OK(Part_picture_put(&part, blob, sizeof blob));
        rc = mco_trans_commit(t);
    }
    STATUS(MCO_E_NOMEM, rc);
    t = begin(MCO_READ_WRITE); /* deletes still work */
    OK(Part_delete_all(t));
    OK(mco_trans_commit(t));
    t = begin(MCO_READ_ONLY);
    CHECK(part_count(t) == 0);
    OK(mco_trans_commit(t));
    STATUS(MCO_E_NOT_SUPPORTED, mco_db_extend(db, blob, sizeof blob));
    OK(mco_db_disconnect(db));
    OK(mco_db_close("small"));
    db = first;
    free(memory);
}

static int fatal;

static void on_fatal(MCO_RET code)
{
    fatal = code;
}

static void opening(void *memory)
{
    static const char *const no_text[] = {"class {", 0};
    rem_mco_dictionary bad = {REM_MCO_ABI, "bad", no_text};
    mco_db_h many[1100];
    uint2 page;
    uint4 pages;
    int count = 0, i;
    MCO_RET rc;
    CHECK(mco_error_set_handler(on_fatal) == 0);
    CHECK(mco_error_set_handler(on_fatal) == on_fatal && fatal == 0);
    OK(mco_runtime_start());
    STATUS(MCO_E_NOINSTANCE, mco_db_connect("mcs", &db));
    STATUS(MCO_E_NOINSTANCE, mco_db_close("mcs"));
    STATUS(MCO_E_ILLEGAL_PARAM, mco_db_open(0, mcs_get_dictionary(), memory, SIZE, 512));
    STATUS(MCO_E_ILLEGAL_PARAM, mco_db_open("mcs", 0, memory, SIZE, 512));
    STATUS(MCO_E_ILLEGAL_PARAM, mco_db_open("mcs", mcs_get_dictionary(), 0, SIZE, 512));
    STATUS(MCO_E_PAGESIZE, mco_db_open("mcs", mcs_get_dictionary(), memory, SIZE, 0));
    STATUS(MCO_E_PAGESIZE, mco_db_open("mcs", mcs_get_dictionary(), memory, SIZE, 513));
    STATUS(MCO_E_NOMEM, mco_db_open("mcs", mcs_get_dictionary(), memory, 1000, 512));
    STATUS(MCO_E_ILLEGAL_SCHEMA, mco_db_open("mcs", &bad, memory, SIZE, 512));
    bad.abi = 99;
    STATUS(MCO_E_ILLEGAL_SCHEMA, mco_db_open("mcs", &bad, memory, SIZE, 512));
    OK(mco_db_open("mcs", mcs_get_dictionary(), memory, SIZE, 512));
    STATUS(MCO_E_INSTANCE_DUPLICATE, mco_db_open("mcs", mcs_get_dictionary(), memory, SIZE, 512));
    do
        rc = mco_db_connect("mcs", &many[count]);
    while (rc == MCO_S_OK && ++count < 1100);
    STATUS(MCO_E_SESLIMIT, rc);
    STATUS(MCO_E_OPENED_SESSIONS, mco_db_close("mcs"));
    STATUS(MCO_E_OPENED_SESSIONS, mco_runtime_stop());
    for (i = 0; i < count; i++)
        OK(mco_db_disconnect(many[i]));
    STATUS(MCO_E_ILLEGAL_HANDLE, mco_db_disconnect(many[0]));
    OK(mco_db_connect("mcs", &db));
    OK(mco_page_size(db, &page));
    OK(mco_db_total_pages(db, &pages));
    CHECK(page == 512 && pages == SIZE / 512);
    OK(mco_db_free_pages(db, &pages));
    CHECK(pages > 0 && pages < SIZE / 512);
    CHECK(mco_strerror(MCO_E_CONFLICT)[0] && mco_strerror(-1)[0] && mco_get_version()[0]);
}

static void many_databases(void)
{
    enum { COUNT = 260, BYTES = 600 << 10 };
    static void *memory[COUNT];
    char name[20];
    int count = 0, i;
    MCO_RET rc;
    do {
        sprintf(name, "number%d", count);
        memory[count] = malloc(BYTES);
        rc = mco_db_open(name, mcs_get_dictionary(), memory[count], BYTES, 512);
    } while (rc == MCO_S_OK && ++count < COUNT - 1);
    STATUS(MCO_E_INSTANCES_LIMIT, rc);
    free(memory[count]);
    for (i = 0; i < count; i++) {
        sprintf(name, "number%d", i);
        OK(mco_db_close(name));
        free(memory[i]);
    }
}

int main(void)
{
    void *memory = malloc(SIZE);
    mco_trans_h t;
    opening(memory);
    empty_indexes();
    fields();
    cursors();
    failures();
    bad_handles();
    threads();
    events();
    images();
    full_database();
    many_databases();
    t = begin(MCO_READ_WRITE);
    OK(Part_delete_all(t));
    OK(mco_trans_commit(t));
    t = begin(MCO_READ_ONLY);
    CHECK(part_count(t) == 0);
    OK(mco_trans_commit(t));
    OK(mco_db_disconnect(db));
    OK(mco_db_close("mcs"));
    OK(mco_runtime_stop());
    free(memory);
    return 0;
}
