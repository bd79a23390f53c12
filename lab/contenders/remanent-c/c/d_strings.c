/* The sensor workload in the d_-style with texts of any length, as the document's appendix does it.
 *
 * A text is cut into pieces, the largest first, which are records of three types and members of
 * the set Spectra of their measure. It is put together again by following the set.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>

#include "strings_d.h"

#include "store.h"

struct store {
    DB_TASK task;
};

union piece {
    struct Text100 text100;
    struct Text200 text200;
    struct Text300 text300;
    char letters[300];
};

void *lab_d_strings_open(const char *folder, uint64_t bytes, char *failure)
{
    struct store *store = calloc(1, sizeof(*store));
    char name[4096];
    int stat;
    (void)bytes;
    snprintf(name, sizeof(name), "%s/mcs_strings", folder);
    if (!store) {
        lab_fail(failure, "calloc", 0, "no memory");
        return NULL;
    }
    if ((stat = d_opentask(&store->task)) || (stat = d_dbuserid("lab", &store->task)) ||
        (stat = d_open(name, "s", &store->task))) {
        lab_fail(failure, "d_open", stat, d_errmsg(&store->task));
        return NULL;
    }
    return store;
}

/* Connects a text to the current owner; only the last piece may have room. */
static int put_text(DB_TASK *task, const char *text, size_t left)
{
    int stat;
    while (left > 0) {
        union piece piece;
        size_t length;
        int record;
        if (left >= sizeof(piece.text300.spectra300)) {
            length = sizeof(piece.text300.spectra300);
            record = TEXT300;
        } else if (left >= sizeof(piece.text200.spectra200)) {
            length = sizeof(piece.text200.spectra200);
            record = TEXT200;
        } else {
            length = sizeof(piece.text100.spectra100);
            record = TEXT100;
            if (left < length) {
                piece.letters[left] = 0;
                length = left;
            }
        }
        memcpy(piece.letters, text, length);
        if ((stat = d_fillnew(record, &piece, task, CURR_DB)) ||
            (stat = d_connect(SPECTRA, task, CURR_DB)))
            return stat;
        text += length;
        left -= length;
    }
    return S_OKAY;
}

/* Puts the pieces of the current record's text together again. */
static int get_text(DB_TASK *task, struct lab_measure *out)
{
    int stat = d_setor(SPECTRA, task, CURR_DB);
    out->spectra_len = 0;
    if (stat)
        return stat;
    for (stat = d_findfm(SPECTRA, task, CURR_DB); stat == S_OKAY;
         stat = d_findnm(SPECTRA, task, CURR_DB)) {
        union piece piece;
        size_t length;
        int record;
        if ((stat = d_crtype(&record, task, CURR_DB)) ||
            (stat = d_recread(&piece, task, CURR_DB)))
            return stat;
        length = record == TEXT300 ? 300 : record == TEXT200 ? 200 : 100;
        if (record == TEXT100)
            length = strnlen(piece.letters, length);
        if (out->spectra_len + length > sizeof(out->spectra))
            return S_BADDATA;
        memcpy(out->spectra + out->spectra_len, piece.letters, length);
        out->spectra_len = (uint16_t)(out->spectra_len + length);
    }
    return stat == S_EOS ? S_OKAY : stat;
}

static int lock(DB_TASK *task, const char *mode)
{
    int stat;
    if ((stat = d_reclock(MEASURE, mode, task, CURR_DB)) ||
        (stat = d_reclock(TEXT100, mode, task, CURR_DB)) ||
        (stat = d_reclock(TEXT200, mode, task, CURR_DB)) ||
        (stat = d_reclock(TEXT300, mode, task, CURR_DB)))
        return stat;
    return S_OKAY;
}

static int unlock(DB_TASK *task)
{
    int stat;
    if ((stat = d_recfree(TEXT300, task, CURR_DB)) ||
        (stat = d_recfree(TEXT200, task, CURR_DB)) ||
        (stat = d_recfree(TEXT100, task, CURR_DB)) ||
        (stat = d_recfree(MEASURE, task, CURR_DB)))
        return stat;
    return S_OKAY;
}

int lab_d_strings_insert(void *opened, uint32_t sensor_id, uint32_t timestamp, const char *spectra,
                         uint32_t spectra_len, int16_t thing, char *failure)
{
    struct store *store = opened;
    DB_TASK *task = &store->task;
    struct Measure mr;
    int stat;

    if ((stat = d_trbegin("tid", task)))
        return lab_fail(failure, "d_trbegin", stat, d_errmsg(task));
    mr.sensor_id = (long)sensor_id;
    mr.m_timestamp = (long)timestamp;
    mr.thing.a = thing;
    if ((stat = lock(task, "w")) || (stat = d_fillnew(MEASURE, &mr, task, CURR_DB)) ||
        (stat = d_setor(SPECTRA, task, CURR_DB)) || (stat = put_text(task, spectra, spectra_len))) {
        lab_fail(failure, "d_fillnew", stat, d_errmsg(task));
        d_trabort(task);
        return LAB_FAILED;
    }
    if ((stat = d_trend(task)))
        return lab_fail(failure, "d_trend", stat, d_errmsg(task));
    return LAB_DONE;
}

int lab_d_strings_read(void *opened, uint32_t sensor_id, uint32_t timestamp,
                       struct lab_measure *out, char *failure)
{
    struct store *store = opened;
    DB_TASK *task = &store->task;
    struct Measure mr;
    int stat;

    mr.sensor_id = (long)sensor_id;
    mr.m_timestamp = (long)timestamp;
    if ((stat = lock(task, "r")))
        return lab_fail(failure, "d_reclock", stat, d_errmsg(task));
    if ((stat = d_keyfind(SENSORS, &mr, task, CURR_DB))) {
        if (stat == S_NOTFOUND && !(stat = unlock(task)))
            return LAB_ABSENT;
        return lab_fail(failure, "d_keyfind", stat, d_errmsg(task));
    }
    if ((stat = d_recread(&mr, task, CURR_DB)) || (stat = get_text(task, out)) ||
        (stat = unlock(task)))
        return lab_fail(failure, "d_recread", stat, d_errmsg(task));
    out->sensor_id = (uint32_t)mr.sensor_id;
    out->timestamp = (uint32_t)mr.m_timestamp;
    out->thing = mr.thing.a;
    return LAB_DONE;
}

int lab_d_strings_close(void *opened, char *failure)
{
    struct store *store = opened;
    int stat;
    if ((stat = d_close(&store->task)) || (stat = d_closetask(&store->task)))
        return lab_fail(failure, "d_close", stat, d_errmsg(&store->task));
    free(store);
    return LAB_DONE;
}
