/* The sensor workload in the mco-style, as the document writes it.
 *
 * The database lives in memory that this program gives it. What putting a field returns is not
 * checked: a put that fails makes the commit fail.
 */
#include <stdlib.h>

#include "sensors_mco.h"

#include "store.h"

#define PAGESIZE 512

struct store {
    mco_db_h db;
    void *memory;
};

static const char db_name[] = "mcs";

void *lab_mco_open(const char *folder, uint64_t bytes, char *failure)
{
    struct store *store = calloc(1, sizeof(*store));
    MCO_RET rc = MCO_E_NOMEM;
    (void)folder;
    if (store)
        store->memory = malloc(bytes);
    if (store && store->memory) {
        rc = mco_db_open(db_name, mcs_get_dictionary(), store->memory, bytes, (uint2)PAGESIZE);
        if (rc == MCO_S_OK)
            rc = mco_db_connect(db_name, &store->db);
        if (rc == MCO_S_OK)
            return store;
    }
    lab_fail(failure, "mco_db_open", rc, mco_error_text());
    return NULL;
}

int lab_mco_insert(void *opened, uint32_t sensor_id, uint32_t timestamp, const char *spectra,
                   uint32_t spectra_len, int16_t thing, char *failure)
{
    const struct store *store = opened;
    mco_trans_h t;
    Measure measure;
    stuff part;
    MCO_RET rc;

    mco_trans_start(store->db, MCO_READ_WRITE, MCO_TRANS_FOREGROUND, &t);
    rc = Measure_new(t, &measure);
    if (rc != MCO_S_OK) {
        mco_trans_rollback(t);
        return lab_fail(failure, "Measure_new", rc, mco_error_text());
    }
    Measure_sensor_id_put(&measure, (uint4)sensor_id);
    Measure_timestamp_put(&measure, (uint4)timestamp);
    Measure_spectra_put(&measure, spectra, (uint2)spectra_len);
    Measure_thing_write_handle(&measure, &part);
    stuff_a_put(&part, (int2)thing);
    rc = mco_trans_commit(t);
    if (rc != MCO_S_OK)
        return lab_fail(failure, "mco_trans_commit", rc, mco_error_text());
    return LAB_DONE;
}

int lab_mco_read(void *opened, uint32_t sensor_id, uint32_t timestamp, struct lab_measure *out,
                 char *failure)
{
    const struct store *store = opened;
    mco_trans_h t;
    mco_cursor_t csr;
    Measure measure;
    stuff part;
    MCO_RET rc;

    mco_trans_start(store->db, MCO_READ_ONLY, MCO_TRANS_FOREGROUND, &t);
    rc = Measure_sensors_index_cursor(t, &csr);
    rc = Measure_sensors_find(t, &csr, MCO_EQ, (uint4)sensor_id, (uint4)timestamp);
    if (rc != MCO_S_OK) {
        mco_trans_commit(t);
        if (rc == MCO_S_NOTFOUND || rc == MCO_S_CURSOR_EMPTY)
            return LAB_ABSENT;
        return lab_fail(failure, "Measure_sensors_find", rc, mco_error_text());
    }
    rc = Measure_from_cursor(t, &csr, &measure);
    rc = Measure_spectra_get(&measure, out->spectra, sizeof(out->spectra), &out->spectra_len);
    rc = Measure_sensor_id_get(&measure, &out->sensor_id);
    rc = Measure_timestamp_get(&measure, &out->timestamp);
    rc = Measure_thing_read_handle(&measure, &part);
    rc = stuff_a_get(&part, &out->thing);
    rc = mco_trans_commit(t);
    if (rc != MCO_S_OK)
        return lab_fail(failure, "mco_trans_commit", rc, mco_error_text());
    return LAB_DONE;
}

int lab_mco_close(void *opened, char *failure)
{
    struct store *store = opened;
    MCO_RET rc = mco_db_disconnect(store->db);
    if (rc == MCO_S_OK)
        rc = mco_db_close(db_name);
    if (rc != MCO_S_OK)
        return lab_fail(failure, "mco_db_close", rc, mco_error_text());
    free(store->memory);
    free(store);
    return LAB_DONE;
}
