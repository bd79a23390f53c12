/* One writer and many readers in the d_-style: each thread has a task of its own, in shared mode.
 *
 * The writer locks the record type to write, a reader locks it to read for as many records as it
 * looks up at a time, as the document does.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>

#ifndef LAB_R
#define LAB_R(name) lab_readers_##name
#define LAB_R_DATABASE "lab_readers"
#include "readers_d.h"
#endif

#include "store.h"

/* A row of the laboratory's. */
struct lab_row {
    int32_t id;
    int16_t hexkey[3];
    char payload[200];
};

/* Shows a row; null if there is none. */
typedef void (*lab_see)(void *closure, const struct lab_row *row);

struct thread {
    DB_TASK task;
    struct rec_200 record;
};

/* A thread's task, on the database in a folder. */
void *LAB_R(open)(const char *folder, const char *user, char *failure)
{
    struct thread *thread = calloc(1, sizeof(*thread));
    char name[4096];
    int stat;
    if (!thread) {
        lab_fail(failure, "calloc", 0, "no memory");
        return NULL;
    }
    snprintf(name, sizeof(name), "%s/%s", folder, LAB_R_DATABASE);
    if ((stat = d_opentask(&thread->task)) || (stat = d_dbuserid(user, &thread->task)) ||
        (stat = d_open(name, "s", &thread->task))) {
        lab_fail(failure, "d_open", stat, d_errmsg(&thread->task));
        return NULL;
    }
    return thread;
}

int LAB_R(close)(void *opened, char *failure)
{
    struct thread *thread = opened;
    int stat = d_closetask(&thread->task);
    free(thread);
    return stat ? lab_fail(failure, "d_closetask", stat, "") : LAB_DONE;
}

static int begin(struct thread *thread, char *failure)
{
    DB_TASK *task = &thread->task;
    int stat = d_trbegin("tid", task);
    if (!stat)
        stat = d_reclock(REC_200, "w", task, CURR_DB);
    return stat ? lab_fail(failure, "d_reclock", stat, d_errmsg(task)) : LAB_DONE;
}

/* Ends what was begun, or takes it back if something failed. */
static int end(struct thread *thread, const char *what, int stat, char *failure)
{
    DB_TASK *task = &thread->task;
    if (stat) {
        lab_fail(failure, what, stat, d_errmsg(task));
        d_trabort(task);
        return LAB_FAILED;
    }
    if ((stat = d_trend(task)))
        return lab_fail(failure, "d_trend", stat, d_errmsg(task));
    return LAB_DONE;
}

int LAB_R(insert)(void *opened, const struct lab_row *rows, size_t count, char *failure)
{
    struct thread *thread = opened;
    struct rec_200 *record = &thread->record;
    size_t i;
    int stat = 0;
    if (begin(thread, failure) != LAB_DONE)
        return LAB_FAILED;
    for (i = 0; i < count && !stat; i++) {
        record->id = rows[i].id;
        memcpy(record->hexkey, rows[i].hexkey, sizeof(record->hexkey));
        memcpy(record->payload, rows[i].payload, sizeof(record->payload));
        stat = d_fillnew(REC_200, record, &thread->task, CURR_DB);
    }
    return end(thread, "d_fillnew", stat, failure);
}

int LAB_R(update)(void *opened, const struct lab_row *rows, size_t count, char *failure)
{
    struct thread *thread = opened;
    size_t i;
    int stat = 0;
    if (begin(thread, failure) != LAB_DONE)
        return LAB_FAILED;
    for (i = 0; i < count && !stat; i++) {
        stat = d_keyfind(REC_200_ID, &rows[i].id, &thread->task, CURR_DB);
        if (!stat)
            stat = d_crwrite(REC_200_PAYLOAD, rows[i].payload, &thread->task, CURR_DB);
    }
    return end(thread, "d_crwrite", stat, failure);
}

/* Deletes records in the order of their ids, from the first that is not below `from`. */
int LAB_R(delete)(void *opened, int32_t from, size_t count, size_t *deleted, int32_t *last,
                  char *failure)
{
    struct thread *thread = opened;
    DB_TASK *task = &thread->task;
    int stat;
    *deleted = 0;
    *last = from;
    if (begin(thread, failure) != LAB_DONE)
        return LAB_FAILED;
    /* If it finds nothing, the key stands where the value would be. */
    stat = d_keyfind(REC_200_ID, &from, task, CURR_DB);
    if (stat == S_NOTFOUND)
        stat = d_keynext(REC_200_ID, task, CURR_DB);
    while (!stat && *deleted < count) {
        if ((stat = d_crread(REC_200_ID, last, task, CURR_DB)) || (stat = d_delete(task, CURR_DB)))
            break;
        if (++*deleted < count)
            stat = d_keynext(REC_200_ID, task, CURR_DB);
    }
    return end(thread, "d_delete", stat == S_NOTFOUND ? 0 : stat, failure);
}

static int see_current(struct thread *thread, lab_see see, void *closure)
{
    struct lab_row row;
    int stat = d_recread(&thread->record, &thread->task, CURR_DB);
    if (stat)
        return stat;
    row.id = thread->record.id;
    memcpy(row.hexkey, thread->record.hexkey, sizeof(row.hexkey));
    memcpy(row.payload, thread->record.payload, sizeof(row.payload));
    see(closure, &row);
    return S_OKAY;
}

static int free_lock(struct thread *thread, const char *what, int stat, char *failure)
{
    DB_TASK *task = &thread->task;
    if (!stat)
        stat = d_recfree(REC_200, task, CURR_DB);
    return stat ? lab_fail(failure, what, stat, d_errmsg(task)) : LAB_DONE;
}

int LAB_R(read)(void *opened, const int32_t *ids, size_t count, lab_see see, void *closure,
                char *failure)
{
    struct thread *thread = opened;
    DB_TASK *task = &thread->task;
    size_t i;
    int stat = d_reclock(REC_200, "r", task, CURR_DB);
    for (i = 0; i < count && !stat; i++) {
        stat = d_keyfind(REC_200_ID, &ids[i], task, CURR_DB);
        if (stat == S_OKAY) {
            stat = see_current(thread, see, closure);
        } else if (stat == S_NOTFOUND) {
            see(closure, NULL);
            stat = S_OKAY;
        }
    }
    return free_lock(thread, "d_keyfind", stat, failure);
}

int LAB_R(scan)(void *opened, lab_see see, void *closure, char *failure)
{
    struct thread *thread = opened;
    DB_TASK *task = &thread->task;
    int stat = d_reclock(REC_200, "r", task, CURR_DB);
    if (!stat)
        stat = d_recfrst(REC_200, task, CURR_DB);
    while (!stat) {
        stat = see_current(thread, see, closure);
        if (!stat)
            stat = d_recnext(task, CURR_DB);
    }
    return free_lock(thread, "d_recnext", stat == S_NOTFOUND ? S_OKAY : stat, failure);
}
