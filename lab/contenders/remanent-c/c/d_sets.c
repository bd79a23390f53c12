/* The workload of sets in the d_-style, in the shared mode: one owner, members in order last.
 *
 * Records are named by their addresses, as a program in this style keeps them. The owner is made
 * current once for each call; every member that is come to is read into its struct.
 */
#include <stdlib.h>

#include "sets_d.h"

#include "store.h"

#define NOBODY UINT32_MAX
#define INSERTED_AT_ONCE 1000

struct store {
    DB_TASK task;
    DB_ADDR owner;
    DB_ADDR *items;
};

void *lab_sets_open(const char *folder, char *failure)
{
    struct store *store = calloc(1, sizeof(*store));
    char name[4096];
    int stat;
    snprintf(name, sizeof(name), "%s/lab_sets", folder);
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

static int lock(DB_TASK *task, const char *mode)
{
    int stat = d_reclock(HOLDER, mode, task, CURR_DB);
    return stat ? stat : d_reclock(ITEM, mode, task, CURR_DB);
}

static int unlock(DB_TASK *task)
{
    int stat = d_recfree(ITEM, task, CURR_DB);
    return stat ? stat : d_recfree(HOLDER, task, CURR_DB);
}

/* Begins a transaction that writes; ends one, with what it has come to. */
static int begin(DB_TASK *task)
{
    int stat = d_trbegin("tid", task);
    return stat ? stat : lock(task, "w");
}

static int end(DB_TASK *task, int stat, const char *what, char *failure)
{
    if (stat) {
        lab_fail(failure, what, stat, d_errmsg(task));
        d_trabort(task);
        return LAB_FAILED;
    }
    if ((stat = d_trend(task)))
        return lab_fail(failure, "d_trend", stat, d_errmsg(task));
    return LAB_DONE;
}

/* Frees the locks of a call that reads. */
static int end_reading(DB_TASK *task, int stat, const char *what, char *failure)
{
    if (stat || (stat = unlock(task)))
        return lab_fail(failure, what, stat, d_errmsg(task));
    return LAB_DONE;
}

static int make_items(struct store *store, uint32_t from, uint32_t to)
{
    DB_TASK *task = &store->task;
    uint32_t i;
    int stat;
    for (i = from; i < to; i++) {
        struct Item item;
        item.number = (long)i;
        if ((stat = d_fillnew(ITEM, &item, task, CURR_DB)) ||
            (stat = d_crget(&store->items[i], task, CURR_DB)))
            return stat;
    }
    return S_OKAY;
}

int lab_sets_fill(void *opened, uint32_t count, char *failure)
{
    struct store *store = opened;
    DB_TASK *task = &store->task;
    struct Holder holder;
    uint32_t from;
    int stat;

    holder.id = 1;
    store->items = malloc((size_t)count * sizeof(*store->items));
    if (!store->items)
        return lab_fail(failure, "malloc", 0, "no memory");
    if (!(stat = begin(task)) && !(stat = d_fillnew(HOLDER, &holder, task, CURR_DB)))
        stat = d_crget(&store->owner, task, CURR_DB);
    if (end(task, stat, "d_fillnew", failure) != LAB_DONE)
        return LAB_FAILED;
    for (from = 0; from < count; from += INSERTED_AT_ONCE) {
        uint32_t to = count - from < INSERTED_AT_ONCE ? count : from + INSERTED_AT_ONCE;
        if (!(stat = begin(task)))
            stat = make_items(store, from, to);
        if (end(task, stat, "d_fillnew", failure) != LAB_DONE)
            return LAB_FAILED;
    }
    return LAB_DONE;
}

int lab_sets_connect(void *opened, const uint32_t *members, size_t count, char *failure)
{
    struct store *store = opened;
    DB_TASK *task = &store->task;
    size_t i;
    int stat = begin(task);
    if (!stat)
        stat = d_csoset(ITEMS, &store->owner, task, CURR_DB);
    for (i = 0; i < count && !stat; i++)
        if (!(stat = d_crset(&store->items[members[i]], task, CURR_DB)))
            stat = d_connect(ITEMS, task, CURR_DB);
    return end(task, stat, "d_connect", failure);
}

int lab_sets_disconnect(void *opened, const uint32_t *members, size_t count, char *failure)
{
    struct store *store = opened;
    DB_TASK *task = &store->task;
    size_t i;
    int stat = begin(task);
    for (i = 0; i < count && !stat; i++) {
        if (!(stat = d_csmset(ITEMS, &store->items[members[i]], task, CURR_DB))) {
            /* The last member is disconnected too, and then no other is current. */
            if ((stat = d_discon(ITEMS, task, CURR_DB)) == S_EOS)
                stat = S_OKAY;
        }
    }
    return end(task, stat, "d_discon", failure);
}

/* The number of the member that was just found; nobody's at an end of the set. */
static int number(DB_TASK *task, int stat, uint32_t *out)
{
    struct Item item;
    *out = NOBODY;
    if (stat == S_EOS)
        return S_OKAY;
    if (!stat && !(stat = d_recread(&item, task, CURR_DB)))
        *out = (uint32_t)item.number;
    return stat;
}

int lab_sets_walk(void *opened, uint32_t *out, size_t capacity, size_t *count, char *failure)
{
    struct store *store = opened;
    DB_TASK *task = &store->task;
    int stat = lock(task, "r");
    *count = 0;
    if (!stat)
        stat = d_csoset(ITEMS, &store->owner, task, CURR_DB);
    if (!stat) {
        for (stat = d_findfm(ITEMS, task, CURR_DB); stat == S_OKAY && *count < capacity;
             stat = d_findnm(ITEMS, task, CURR_DB)) {
            if ((stat = number(task, stat, &out[*count])))
                break;
            ++*count;
        }
    }
    return end_reading(task, stat == S_EOS ? S_OKAY : stat, "d_findnm", failure);
}

int lab_sets_go_to(void *opened, int last, uint32_t *out, size_t count, char *failure)
{
    struct store *store = opened;
    DB_TASK *task = &store->task;
    size_t i;
    int stat = lock(task, "r");
    if (!stat)
        stat = d_csoset(ITEMS, &store->owner, task, CURR_DB);
    for (i = 0; i < count && !stat; i++) {
        stat = last ? d_findlm(ITEMS, task, CURR_DB) : d_findfm(ITEMS, task, CURR_DB);
        stat = number(task, stat, &out[i]);
    }
    return end_reading(task, stat, last ? "d_findlm" : "d_findfm", failure);
}

int lab_sets_next_of(void *opened, const uint32_t *members, uint32_t *out, size_t count,
                     char *failure)
{
    struct store *store = opened;
    DB_TASK *task = &store->task;
    size_t i;
    int stat = lock(task, "r");
    for (i = 0; i < count && !stat; i++)
        if (!(stat = d_csmset(ITEMS, &store->items[members[i]], task, CURR_DB)))
            stat = number(task, d_findnm(ITEMS, task, CURR_DB), &out[i]);
    return end_reading(task, stat, "d_findnm", failure);
}

int lab_sets_close(void *opened, char *failure)
{
    struct store *store = opened;
    int stat;
    if ((stat = d_close(&store->task)) || (stat = d_closetask(&store->task)))
        return lab_fail(failure, "d_close", stat, d_errmsg(&store->task));
    free(store->items);
    free(store);
    return LAB_DONE;
}
