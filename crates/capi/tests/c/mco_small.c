/* Databases in little memory: what does not fit is refused with words, and what is taken works. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sensors.h"
#define ERROR_TEXT mco_error_text
#include "check.h"

#define NAME "small"

/* Adds rows until the memory is full; how many. */
static uint4 fill(mco_db_h db)
{
    static char text[540];
    mco_trans_h t;
    Measure measure;
    uint4 rows = 0;
    MCO_RET rc;
    memset(text, 'x', sizeof text);
    for (;;) {
        rc = mco_trans_start(db, MCO_READ_WRITE, MCO_TRANS_FOREGROUND, &t);
        if (rc == MCO_S_OK && (rc = Measure_new(t, &measure)) == MCO_S_OK) {
            OK(Measure_sensor_id_put(&measure, 1));
            OK(Measure_timestamp_put(&measure, rows));
            OK(Measure_spectra_put(&measure, text, sizeof text));
            rc = mco_trans_commit(t);
        } else if (rc != MCO_E_NOMEM) {
            OK(rc);
        }
        if (rc != MCO_S_OK) {
            CHECK(rc == MCO_E_NOMEM);
            mco_trans_rollback(t);
            return rows;
        }
        rows++;
    }
}

static void empty(mco_db_h db)
{
    mco_trans_h t;
    OK(mco_trans_start(db, MCO_READ_WRITE, MCO_TRANS_FOREGROUND, &t));
    OK(Measure_delete_all(t));
    OK(mco_trans_commit(t));
}

/* The object with this timestamp; MCO_S_OK if there is one. */
static MCO_RET find(mco_trans_h t, uint4 timestamp, Measure *measure)
{
    mco_cursor_t cursor;
    MCO_RET rc = Measure_sensors_index_cursor(t, &cursor);
    if (rc == MCO_S_OK)
        rc = Measure_sensors_find(t, &cursor, MCO_EQ, 1, timestamp);
    return rc == MCO_S_OK ? Measure_from_cursor(t, &cursor, measure) : rc;
}

/* All that the style offers, in the memory that its document speaks of: a class with an index, as
   many objects as go in; each is found, changed and deleted while nothing is free. */
static void in_108_kib(void)
{
    const size_t size = 108 << 10;
    static char text[540], out[1000];
    void *memory = malloc(size);
    mco_db_h db;
    mco_trans_h t;
    Measure measure;
    uint4 rows, again, i;
    uint2 len;
    CHECK(memory);
    memset(text, 'y', sizeof text);
    OK(mco_db_open(NAME, sensors_get_dictionary(), memory, size, 512));
    OK(mco_db_connect(NAME, &db));
    rows = fill(db);
    printf("%lu objects in 108 KiB\n", (unsigned long)rows);
    CHECK(rows >= 40);
    for (i = 0; i < rows; i++) {
        OK(mco_trans_start(db, MCO_READ_ONLY, MCO_TRANS_FOREGROUND, &t));
        OK(find(t, i, &measure));
        OK(Measure_spectra_get(&measure, out, sizeof out, &len));
        CHECK(len == sizeof text && out[0] == 'x');
        OK(mco_trans_commit(t));
    }
    /* A deletion that is taken back, and one that makes room. */
    for (i = 0; i < 2; i++) {
        OK(mco_trans_start(db, MCO_READ_WRITE, MCO_TRANS_FOREGROUND, &t));
        OK(find(t, 0, &measure));
        OK(Measure_delete(&measure));
        CHECK(find(t, 0, &measure) != MCO_S_OK);
        OK(i == 0 ? mco_trans_rollback(t) : mco_trans_commit(t));
    }
    for (i = 1; i < rows; i++) {
        OK(mco_trans_start(db, MCO_READ_WRITE, MCO_TRANS_FOREGROUND, &t));
        OK(find(t, i, &measure));
        OK(Measure_spectra_put(&measure, text, sizeof text));
        OK(mco_trans_commit(t));
    }
    OK(mco_trans_start(db, MCO_READ_ONLY, MCO_TRANS_FOREGROUND, &t));
    OK(find(t, rows - 1, &measure));
    OK(Measure_spectra_get(&measure, out, sizeof out, &len));
    CHECK(out[0] == 'y');
    OK(mco_trans_commit(t));
    for (i = 0; i < 20; i++) {
        again = fill(db);
        CHECK(i == 0 || again + 2 >= rows);
        empty(db);
    }
    OK(mco_db_disconnect(db));
    OK(mco_db_close(NAME));
    free(memory);
}

int main(void)
{
    size_t size, least = 0;
    for (size = 16 << 10; size <= 512 << 10; size += 4 << 10) {
        void *memory = malloc(size);
        mco_db_h db;
        uint4 rows;
        MCO_RET rc;
        CHECK(memory);
        rc = mco_db_open(NAME, sensors_get_dictionary(), memory, size, 512);
        if (rc == MCO_S_OK) {
            OK(mco_db_connect(NAME, &db));
            rows = fill(db);
            if (rows > 0) {
                if (least == 0)
                    least = size;
                empty(db);
                CHECK(fill(db) > 0);
            }
            CHECK(rows > 0 || least == 0);
            OK(mco_db_disconnect(db));
            OK(mco_db_close(NAME));
        } else {
            CHECK(rc == MCO_E_NOMEM && least == 0 && mco_error_text()[0]);
        }
        free(memory);
    }
    printf("%lu KiB hold an object\n", (unsigned long)(least >> 10));
    /* As docs/mco-style.md says. */
    CHECK(least > 0 && least <= 80 << 10);
    in_108_kib();
    return 0;
}
