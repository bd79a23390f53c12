/* Databases in little memory: what does not fit is refused with words, and what is taken works. */
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
    /* As docs/mco-style.md says. */
    CHECK(least > 0 && least <= 224 << 10);
    return 0;
}
