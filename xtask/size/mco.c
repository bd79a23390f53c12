/* A program in the mco-style: `cargo xtask size` counts its bytes. `sensors.h` is made of
   crates/capi/tests/schema/sensors.mco, whose tests compare it. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sensors.h"

#define SIZE (1 << 20)

int main(void)
{
    mco_db_h db;
    mco_trans_h t;
    mco_cursor_t cursor;
    Measure measure;
    uint4 found = 0;
    int failed = 0, i;
    void *memory = malloc(SIZE);
    if (!memory || mco_db_open("sensors", sensors_get_dictionary(), memory, SIZE, 512))
        return 1;
    failed |= mco_db_connect("sensors", &db);
    for (i = 0; i < 100 && !failed; i++) {
        failed |= mco_trans_start(db, MCO_READ_WRITE, MCO_TRANS_FOREGROUND, &t);
        failed |= Measure_new(t, &measure);
        failed |= Measure_sensor_id_put(&measure, 7);
        failed |= Measure_timestamp_put(&measure, (uint4)i);
        failed |= Measure_spectra_put(&measure, "red", 3);
        failed |= mco_trans_commit(t);
    }
    failed |= mco_trans_start(db, MCO_READ_ONLY, MCO_TRANS_FOREGROUND, &t);
    failed |= Measure_sensors_index_cursor(t, &cursor);
    failed |= Measure_sensors_find(t, &cursor, MCO_EQ, 7, 42);
    failed |= Measure_from_cursor(t, &cursor, &measure);
    failed |= Measure_timestamp_get(&measure, &found);
    failed |= mco_trans_commit(t);
    failed |= mco_db_disconnect(db);
    failed |= mco_db_close("sensors");
    free(memory);
    return failed || found != 42;
}
