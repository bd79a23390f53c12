/* Writes 30,000 measurements, each in a transaction of its own, and finds each again by its key.
 *
 * The database is shared: to write takes a transaction and a write lock, to read a read lock. It is
 * written to the current folder when it is closed, and found there again by the next d_open.
 *
 *   main [--quick]
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mcs.h"

#define NSENSORS_MAX 100
#define NMEASURES_MAX 300
#define STRINGS 1000

static char strings[STRINGS][sizeof(((struct Measure *)0)->spectra)];
/* Which string each measurement got, to know it again. */
static short chosen[NSENSORS_MAX][NMEASURES_MAX];

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
        int length = 80 + rand() % ((int)sizeof(strings[i]) - 80);
        for (j = 0; j < length; j++)
            strings[i][j] = (char)('!' + rand() % 94);
    }
}

static void tell(int status, const char *message)
{
    printf("\nstatus %d: %s\n", status, message);
}

/* Takes out what an earlier run left: for that the database has to be open alone. */
static int empty(DB_TASK *task)
{
    int stat;
    if ((stat = d_open("mcs", "x", task)))
        return stat;
    if ((stat = d_initialize(task, CURR_DB)))
        return stat;
    return d_close(task);
}

static int write_all(DB_TASK *task, int nsensors, int nmeasures)
{
    int stat, sensor_num, measure_num;
    struct Measure mr;
    for (sensor_num = 0; sensor_num < nsensors; sensor_num++) {
        for (measure_num = 0; measure_num < nmeasures; measure_num++) {
            int string = rand() % STRINGS;
            chosen[sensor_num][measure_num] = (short)string;
            if ((stat = d_trbegin("tid", task)))
                return stat;
            if ((stat = d_reclock(MEASURE, "w", task, CURR_DB)))
                return stat;
            mr.sensor_id = sensor_num;
            mr.m_timestamp = measure_num + sensor_num;
            strcpy(mr.spectra, strings[string]);
            mr.thing.a = (short)string;
            if ((stat = d_fillnew(MEASURE, &mr, task, CURR_DB))) {
                d_trabort(task);
                return stat;
            }
            if ((stat = d_trend(task)))
                return stat;
        }
    }
    return S_OKAY;
}

static int read_all(DB_TASK *task, int nsensors, int nmeasures)
{
    int stat, sensor_num, measure_num;
    struct Measure mr;
    for (sensor_num = 0; sensor_num < nsensors; sensor_num++) {
        for (measure_num = 0; measure_num < nmeasures; measure_num++) {
            int string = chosen[sensor_num][measure_num];
            /* The key is the struct of its parts, with which the record's struct begins. */
            mr.sensor_id = sensor_num;
            mr.m_timestamp = measure_num + sensor_num;
            if ((stat = d_reclock(MEASURE, "r", task, CURR_DB)))
                return stat;
            if ((stat = d_keyfind(SENSORS, &mr, task, CURR_DB)))
                return stat;
            if ((stat = d_recread(&mr, task, CURR_DB)))
                return stat;
            if ((stat = d_recfree(MEASURE, task, CURR_DB)))
                return stat;
            if (mr.sensor_id != sensor_num || mr.m_timestamp != measure_num + sensor_num ||
                mr.thing.a != string || strcmp(mr.spectra, strings[string])) {
                printf("\nmeasurement %d, %d is not what was written\n", sensor_num, measure_num);
                return S_DAMAGED;
            }
        }
    }
    return S_OKAY;
}

int main(int argc, char **argv)
{
    int quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
    int nsensors = quick ? 10 : NSENSORS_MAX, nmeasures = quick ? 30 : NMEASURES_MAX;
    int stat, count = nsensors * nmeasures;
    double start, written, read;
    DB_TASK task;

    make_strings();
    if ((stat = d_opentask(&task)))
        return 1;
    d_set_dberr(tell, &task);
    if ((stat = d_dbuserid("measure", &task)) || (stat = empty(&task)))
        return 1;
    if ((stat = d_open("mcs", "s", &task)))
        return 1;

    start = now_ns();
    if ((stat = write_all(&task, nsensors, nmeasures))) {
        printf("\nwriting ended with %d\n", stat);
        return 1;
    }
    written = now_ns();
    if ((stat = read_all(&task, nsensors, nmeasures))) {
        printf("\nreading ended with %d\n", stat);
        return 1;
    }
    read = now_ns();
    printf("%d records written, %.0f ns each\n", count, (written - start) / count);
    printf("%d records found and read, %.0f ns each\n", count, (read - written) / count);

    if ((stat = d_close(&task)) || (stat = d_closetask(&task)))
        return 1;
    return 0;
}
