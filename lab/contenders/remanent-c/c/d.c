/* The sensor workload in the d_-style, as the document writes it, in the shared mode.
 *
 * To write takes a transaction and a write lock, to read a read lock. A record is read into the
 * struct that the header declares; from there it is copied into the laboratory's buffer.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>

#ifndef LAB_D
#define LAB_D(name) lab_d_##name
#define LAB_D_DATABASE "mcs"
#include "sensors_d.h"
#endif

#include "store.h"

struct store {
    DB_TASK task;
    struct Measure mr;
};

static void *opened(const char *folder, int syncs, char *failure)
{
    struct store *store = calloc(1, sizeof(*store));
    char name[4096];
    int stat;
    FILE *ini;
    if (!store) {
        lab_fail(failure, "calloc", 0, "no memory");
        return NULL;
    }
    /* As the document has it. */
    snprintf(name, sizeof(name), "%s/rdm.ini", folder);
    ini = fopen(name, "w");
    if (!ini || fprintf(ini, "SYNCFILES=%d\n", syncs) < 0 || fclose(ini)) {
        lab_fail(failure, "fopen", 0, "rdm.ini cannot be written");
        return NULL;
    }
    snprintf(name, sizeof(name), "%s/%s", folder, LAB_D_DATABASE);
    if ((stat = d_opentask(&store->task)) || (stat = d_dbuserid("lab", &store->task)) ||
        (stat = d_open(name, "s", &store->task))) {
        lab_fail(failure, "d_open", stat, d_errmsg(&store->task));
        return NULL;
    }
    return store;
}

void *LAB_D(open)(const char *folder, uint64_t bytes, char *failure)
{
    (void)bytes;
    return opened(folder, 0, failure);
}

int LAB_D(insert)(void *opened, uint32_t sensor_id, uint32_t timestamp, const char *spectra,
                 uint32_t spectra_len, int16_t thing, char *failure)
{
    struct store *store = opened;
    DB_TASK *task = &store->task;
    struct Measure *mr = &store->mr;
    int stat;

    if ((stat = d_trbegin("tid", task)))
        return lab_fail(failure, "d_trbegin", stat, d_errmsg(task));
    if ((stat = d_reclock(MEASURE, "w", task, CURR_DB)))
        return lab_fail(failure, "d_reclock", stat, d_errmsg(task));
    mr->sensor_id = (long)sensor_id;
    mr->m_timestamp = (long)timestamp;
    memcpy(mr->spectra, spectra, spectra_len);
    if (spectra_len < sizeof(mr->spectra))
        mr->spectra[spectra_len] = 0;
    mr->thing.a = thing;
    if ((stat = d_fillnew(MEASURE, mr, task, CURR_DB))) {
        lab_fail(failure, "d_fillnew", stat, d_errmsg(task));
        d_trabort(task);
        return LAB_FAILED;
    }
    if ((stat = d_trend(task)))
        return lab_fail(failure, "d_trend", stat, d_errmsg(task));
    return LAB_DONE;
}

int LAB_D(read)(void *opened, uint32_t sensor_id, uint32_t timestamp, struct lab_measure *out,
               char *failure)
{
    struct store *store = opened;
    DB_TASK *task = &store->task;
    struct Measure *mr = &store->mr;
    int stat;

    mr->sensor_id = (long)sensor_id;
    mr->m_timestamp = (long)timestamp;
    if ((stat = d_reclock(MEASURE, "r", task, CURR_DB)))
        return lab_fail(failure, "d_reclock", stat, d_errmsg(task));
    if ((stat = d_keyfind(SENSORS, mr, task, CURR_DB))) {
        if (stat == S_NOTFOUND && !(stat = d_recfree(MEASURE, task, CURR_DB)))
            return LAB_ABSENT;
        return lab_fail(failure, "d_keyfind", stat, d_errmsg(task));
    }
    if ((stat = d_recread(mr, task, CURR_DB)))
        return lab_fail(failure, "d_recread", stat, d_errmsg(task));
    if ((stat = d_recfree(MEASURE, task, CURR_DB)))
        return lab_fail(failure, "d_recfree", stat, d_errmsg(task));
    out->sensor_id = (uint32_t)mr->sensor_id;
    out->timestamp = (uint32_t)mr->m_timestamp;
    out->thing = mr->thing.a;
    /* A text that fills its field has no NUL. */
    out->spectra_len = (uint16_t)strnlen(mr->spectra, sizeof(mr->spectra));
    memcpy(out->spectra, mr->spectra, out->spectra_len);
    return LAB_DONE;
}

int LAB_D(close)(void *opened, char *failure)
{
    struct store *store = opened;
    int stat;
    if ((stat = d_close(&store->task)) || (stat = d_closetask(&store->task)))
        return lab_fail(failure, "d_close", stat, d_errmsg(&store->task));
    free(store);
    return LAB_DONE;
}
