/* The sensor workload through the native interface: columns by handle, text by pointer. */
#include <stdlib.h>
#include <string.h>

#include <remanent.h>

#include "store.h"

struct store {
    const rem_database *db;
    rem_table measures;
    rem_column sensor_id, timestamp, spectra, thing;
    rem_index sensors;
};

static const rem_column_schema stuff_parts[] = {{"a", REM_I16, 0, 0, 0, NULL, 0}};
static const rem_column_schema columns[] = {
    {"sensor_id", REM_U32, 0, 0, 0, NULL, 0},
    {"timestamp", REM_U32, 0, 0, 0, NULL, 0},
    {"spectra", REM_STRING, 0, 0, 0, NULL, 0},
    {"thing", REM_STRUCT, 0, 0, 0, stuff_parts, 1},
};
static const char *const key[] = {"sensor_id", "timestamp"};
static const rem_index_schema indexes[] = {{"sensors", key, 2, REM_UNIQUE}};

void *lab_native_open(const char *folder, uint64_t bytes, char *failure)
{
    struct store *store = calloc(1, sizeof(*store));
    rem_status status;
    (void)folder;
    (void)bytes;
    if (!store) {
        lab_fail(failure, "calloc", 0, "no memory");
        return NULL;
    }
    if ((status = rem_open(NULL, &store->db)) ||
        (status = rem_table_create(store->db, "Measure", columns, 4, indexes, 1,
                                   &store->measures)) ||
        (status = rem_column_find(store->db, store->measures, "sensor_id", &store->sensor_id)) ||
        (status = rem_column_find(store->db, store->measures, "timestamp", &store->timestamp)) ||
        (status = rem_column_find(store->db, store->measures, "spectra", &store->spectra)) ||
        (status = rem_column_find(store->db, store->measures, "thing.a", &store->thing)) ||
        (status = rem_index_find(store->db, store->measures, "sensors", &store->sensors))) {
        lab_fail(failure, "rem_open", status, rem_error_text());
        return NULL;
    }
    return store;
}

int lab_native_insert(void *opened, uint32_t sensor_id, uint32_t timestamp, const char *spectra,
                      uint32_t spectra_len, int16_t thing, char *failure)
{
    const struct store *store = opened;
    const rem_transaction *tx;
    rem_draft draft;
    rem_status status;

    if ((status = rem_begin_write(store->db, NULL, &tx)))
        return lab_fail(failure, "rem_begin_write", status, rem_error_text());
    if ((status = rem_draft_new(tx, store->measures, &draft)) ||
        (status = rem_put_u32(&draft, store->sensor_id, sensor_id)) ||
        (status = rem_put_u32(&draft, store->timestamp, timestamp)) ||
        (status = rem_put_text(&draft, store->spectra, spectra, spectra_len)) ||
        (status = rem_put_i16(&draft, store->thing, thing)) ||
        (status = rem_insert(&draft, NULL))) {
        lab_fail(failure, "rem_insert", status, rem_error_text());
        rem_rollback(tx);
        return LAB_FAILED;
    }
    if ((status = rem_commit(tx)))
        return lab_fail(failure, "rem_commit", status, rem_error_text());
    return LAB_DONE;
}

int lab_native_read(void *opened, uint32_t sensor_id, uint32_t timestamp,
                    struct lab_measure *out, char *failure)
{
    const struct store *store = opened;
    const rem_value values[] = {rem_u32(sensor_id), rem_u32(timestamp)};
    const rem_transaction *tx;
    const char *text;
    size_t length;
    rem_row row;
    rem_status status;

    if ((status = rem_begin_read(store->db, NULL, &tx)))
        return lab_fail(failure, "rem_begin_read", status, rem_error_text());
    if ((status = rem_find(tx, store->sensors, values, 2, &row)) ||
        (status = rem_get_u32(&row, store->sensor_id, &out->sensor_id)) ||
        (status = rem_get_u32(&row, store->timestamp, &out->timestamp)) ||
        (status = rem_get_i16(&row, store->thing, &out->thing)) ||
        (status = rem_get_text(&row, store->spectra, &text, &length))) {
        if (status != REM_NOT_FOUND)
            lab_fail(failure, "rem_find", status, rem_error_text());
        rem_rollback(tx);
        return status == REM_NOT_FOUND ? LAB_ABSENT : LAB_FAILED;
    }
    out->spectra_len = (uint16_t)length;
    memcpy(out->spectra, text, length);
    if ((status = rem_commit(tx)))
        return lab_fail(failure, "rem_commit", status, rem_error_text());
    return LAB_DONE;
}

int lab_native_close(void *opened, char *failure)
{
    struct store *store = opened;
    rem_status status = rem_close(store->db);
    if (status)
        return lab_fail(failure, "rem_close", status, rem_error_text());
    free(store);
    return LAB_DONE;
}
