/* Writes 30,000 measurements, each in a transaction of its own, and finds each again by its key.
 *
 * The database lives in memory that the program gives it, and in no more than that. What putting a
 * field returns need not be checked: a put that fails makes the commit fail.
 *
 *   main [--quick]
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mcs.h"

#define DBSIZE 20850000
#define PAGESIZE 512
#define SENSORS_MAX 100
#define MEASURES_MAX 300
#define STRINGS 1000
#define LENGTH_MAX 1000

static char strings[STRINGS][LENGTH_MAX];
/* Which string each measurement got, to know it again. */
static short chosen[SENSORS_MAX][MEASURES_MAX];

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void make_strings(void)
{
    int i, j;
    for (i = 0; i < STRINGS; i++) {
        int length = 80 + rand() % (LENGTH_MAX - 80);
        for (j = 0; j < length; j++)
            strings[i][j] = (char)('!' + rand() % 94);
    }
}

static int failed(const char *what, MCO_RET rc)
{
    printf("\n%s: %d, %s (%s)\n", what, rc, mco_strerror(rc), mco_error_text());
    return 1;
}

static int write_all(mco_db_h db, int sensors, int measures)
{
    int sensor_num, measure_num;
    for (sensor_num = 0; sensor_num < sensors; sensor_num++) {
        for (measure_num = 0; measure_num < measures; measure_num++) {
            mco_trans_h t;
            Measure measure;
            stuff thing;
            MCO_RET rc;
            int string = rand() % STRINGS;
            chosen[sensor_num][measure_num] = (short)string;
            mco_trans_start(db, MCO_READ_WRITE, MCO_TRANS_FOREGROUND, &t);
            rc = Measure_new(t, &measure);
            if (rc != MCO_S_OK) {
                mco_trans_rollback(t);
                return failed("no measurement could be made", rc);
            }
            Measure_sensor_id_put(&measure, (uint4)sensor_num);
            Measure_timestamp_put(&measure, (uint4)(sensor_num + measure_num));
            Measure_spectra_put(&measure, strings[string], (uint2)strlen(strings[string]));
            Measure_thing_write_handle(&measure, &thing);
            stuff_a_put(&thing, (int2)string);
            rc = mco_trans_commit(t);
            if (rc != MCO_S_OK)
                return failed("a commit failed", rc);
        }
    }
    return 0;
}

static int read_all(mco_db_h db, int sensors, int measures)
{
    int sensor_num, measure_num;
    for (sensor_num = 0; sensor_num < sensors; sensor_num++) {
        for (measure_num = 0; measure_num < measures; measure_num++) {
            mco_trans_h t;
            mco_cursor_t csr;
            Measure measure;
            stuff thing;
            char str[LENGTH_MAX];
            uint2 length = 0;
            uint4 id = 0, timestamp = 0;
            int2 a = -1;
            MCO_RET rc;
            int string = chosen[sensor_num][measure_num];
            mco_trans_start(db, MCO_READ_ONLY, MCO_TRANS_FOREGROUND, &t);
            rc = Measure_sensors_index_cursor(t, &csr);
            rc = Measure_sensors_find(t, &csr, MCO_EQ, (uint4)sensor_num,
                                      (uint4)(sensor_num + measure_num));
            if (rc != MCO_S_OK) {
                mco_trans_commit(t);
                return failed("a measurement was not found", rc);
            }
            Measure_from_cursor(t, &csr, &measure);
            Measure_spectra_get(&measure, str, sizeof(str), &length);
            Measure_sensor_id_get(&measure, &id);
            Measure_timestamp_get(&measure, &timestamp);
            Measure_thing_read_handle(&measure, &thing);
            stuff_a_get(&thing, &a);
            rc = mco_trans_commit(t);
            if (rc != MCO_S_OK)
                return failed("reading failed", rc);
            if (id != (uint4)sensor_num || timestamp != (uint4)(sensor_num + measure_num) ||
                a != string || length != strlen(strings[string]) || strcmp(str, strings[string]))
                return failed("a measurement is not what was written", rc);
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    const char *db_name = "mcs";
    int quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
    int sensors = quick ? 10 : SENSORS_MAX, measures = quick ? 30 : MEASURES_MAX;
    int count = sensors * measures;
    double start, written, read;
    mco_db_h db;
    MCO_RET rc;
    void *start_mem = malloc(DBSIZE);

    if (!start_mem)
        return failed("there is no memory", MCO_E_NOMEM);
    make_strings();
    rc = mco_db_open(db_name, mcs_get_dictionary(), start_mem, DBSIZE, (uint2)PAGESIZE);
    if (rc)
        return failed("the database could not be made", rc);
    rc = mco_db_connect(db_name, &db);
    if (rc)
        return failed("no connection", rc);

    start = now_ns();
    if (write_all(db, sensors, measures))
        return 1;
    written = now_ns();
    if (read_all(db, sensors, measures))
        return 1;
    read = now_ns();
    printf("%d objects written, %.0f ns each\n", count, (written - start) / count);
    printf("%d objects found and read, %.0f ns each\n", count, (read - written) / count);

    rc = mco_db_disconnect(db);
    if (rc == MCO_S_OK)
        rc = mco_db_close(db_name);
    free(start_mem);
    return rc == MCO_S_OK ? 0 : failed("the database could not be closed", rc);
}
