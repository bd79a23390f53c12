/* The write and read loops of a benchmark of 2001, in the style of that time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mcs.h"
#define ERROR_TEXT mco_error_text
#include "check.h"

#define DBSIZE 20850000
#define PAGESIZE 512
#define SENSORS 100
#define MEASURES 300

int main(void)
{
    const char *dbName = "mcs";
    mco_db_h db;
    mco_trans_h t;
    mco_cursor_t csr;
    Measure measure;
    MCO_RET rc;
    static char str[1000], out[1000];
    int sensor_num, measure_num;
    void *start_mem = malloc(DBSIZE);

    CHECK(start_mem);
    memset(str, 'x', 540);
    OK(mco_db_open(dbName, mcs_get_dictionary(), start_mem, DBSIZE, (uint2)PAGESIZE));
    OK(mco_db_connect(dbName, &db));
    for (sensor_num = 0; sensor_num < SENSORS; sensor_num++) {
        for (measure_num = 0; measure_num < MEASURES; measure_num++) {
            mco_trans_start(db, MCO_READ_WRITE, MCO_TRANS_FOREGROUND, &t);
            rc = Measure_new(t, &measure);
            if (MCO_S_OK == rc) {
                Measure_sensor_id_put(&measure, (uint4)sensor_num);
                Measure_timestamp_put(&measure, (uint4)(sensor_num + measure_num));
                Measure_spectra_put(&measure, str, (uint2)strlen(str));
                rc = mco_trans_commit(t);
                OK(rc);
            } else {
                mco_trans_rollback(t);
                OK(rc);
            }
        }
    }
    for (sensor_num = 0; sensor_num < SENSORS; sensor_num++) {
        for (measure_num = 0; measure_num < MEASURES; measure_num++) {
            uint2 len;
            uint4 id, ts;
            mco_trans_start(db, MCO_READ_ONLY, MCO_TRANS_FOREGROUND, &t);
            rc = Measure_sensors_index_cursor(t, &csr);
            rc = Measure_sensors_find(t, &csr, MCO_EQ, (uint4)sensor_num,
                                      (uint4)(sensor_num + measure_num));
            OK(rc);
            OK(Measure_from_cursor(t, &csr, &measure));
            OK(Measure_spectra_get(&measure, out, sizeof(out), &len));
            OK(Measure_sensor_id_get(&measure, &id));
            OK(Measure_timestamp_get(&measure, &ts));
            OK(mco_trans_commit(t));
            CHECK(len == 540 && strcmp(out, str) == 0);
            CHECK(id == (uint4)sensor_num && ts == (uint4)(sensor_num + measure_num));
        }
    }
    OK(mco_db_disconnect(db));
    OK(mco_db_close(dbName));
    free(start_mem);
    return 0;
}
