/* One writer beside readers: 10,000 inserts, as many random updates, and the deletion of all, with
 * 1, 10 and 100 operations in a transaction.
 *
 * Readers look a hundred random records up per lock; in the last rows they need no lock and read a
 * snapshot. Every thread has a task and a user id of its own. Each answer is verified: a record has
 * the payload that belongs to its id and version, and a snapshot does not change.
 *
 *   main [--quick] [--readers N]
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "testdb.h"

#define RECORDS 10000
#define READERS_MAX 64
#define LOOKUPS 100

/* How many readers are at work, and whether the writer is done. */
static pthread_mutex_t phase_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t phase_changed = PTHREAD_COND_INITIALIZER;
static int started, ended;
static int records = RECORDS;

struct reader {
    pthread_t thread;
    int number;
    int snapshots;
    long found;
    int failure; /* a status, or 1000 for a wrong answer */
};

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static int has_ended(void)
{
    int now;
    pthread_mutex_lock(&phase_lock);
    now = ended;
    pthread_mutex_unlock(&phase_lock);
    return now;
}

static void set_ended(int now)
{
    pthread_mutex_lock(&phase_lock);
    ended = now;
    started = now ? started : 0;
    pthread_mutex_unlock(&phase_lock);
}

static void note_start(void)
{
    pthread_mutex_lock(&phase_lock);
    started++;
    pthread_cond_signal(&phase_changed);
    pthread_mutex_unlock(&phase_lock);
}

static void wait_for_start(int readers_count)
{
    pthread_mutex_lock(&phase_lock);
    while (started < readers_count)
        pthread_cond_wait(&phase_changed, &phase_lock);
    pthread_mutex_unlock(&phase_lock);
}

static void fill_payload(char *payload, int id, int version)
{
    memset(payload, 'a' + id % 26, 199);
    payload[199] = 0;
    payload[snprintf(payload, 40, "record %d version %d ", id, version)] = ' ';
}

static int is_payload_of(const char *payload, int id)
{
    char expected[200];
    int version, read_id;
    if (sscanf(payload, "record %d version %d ", &read_id, &version) != 2)
        return 0;
    fill_payload(expected, id, version);
    return read_id == id && memcmp(payload, expected, sizeof(expected)) == 0;
}

static unsigned next_random(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* A random record, if it is there: S_OKAY or S_NOTFOUND, or what went wrong. */
static int look_up(struct reader *reader, int32_t id, char *payload, DB_TASK *task)
{
    int stat = d_keyfind(REC_200_ID, &id, task, CURR_DB);
    if (stat != S_OKAY)
        return stat;
    if ((stat = d_crread(REC_200_PAYLOAD, payload, task, CURR_DB)))
        return stat;
    reader->found++;
    return is_payload_of(payload, id) ? S_OKAY : 1000;
}

static int read_once(struct reader *reader, unsigned *random, DB_TASK *task)
{
    char first[200], payload[200];
    int32_t first_id = (int32_t)(next_random(random) % (unsigned)records);
    int i, stat, first_stat;
    stat = reader->snapshots ? d_trrobegin(task, CURR_DB, NULL)
                             : d_reclock(REC_200, "r", task, CURR_DB);
    if (stat != S_OKAY)
        return stat;
    first_stat = look_up(reader, first_id, first, task);
    if (first_stat != S_OKAY && first_stat != S_NOTFOUND)
        return first_stat;
    for (i = 1; i < LOOKUPS; i++) {
        int32_t id = (int32_t)(next_random(random) % (unsigned)records);
        stat = look_up(reader, id, payload, task);
        if (stat != S_OKAY && stat != S_NOTFOUND)
            return stat;
    }
    /* Neither under a lock nor in a snapshot does anything change. */
    stat = look_up(reader, first_id, payload, task);
    if (stat != first_stat || (stat == S_OKAY && memcmp(first, payload, sizeof(first))))
        return 1000;
    return reader->snapshots ? d_trroend(task) : d_recfree(REC_200, task, CURR_DB);
}

static void *read_on(void *argument)
{
    struct reader *reader = (struct reader *)argument;
    unsigned random = 7u + (unsigned)reader->number;
    char id[20];
    DB_TASK task;
    int stat;
    snprintf(id, sizeof(id), "reader%d", reader->number);
    stat = d_opentask(&task);
    if (stat == S_OKAY)
        stat = d_dbuserid(id, &task);
    if (stat == S_OKAY)
        stat = d_open("testdb", "s", &task);
    note_start();
    while (stat == S_OKAY && !has_ended())
        stat = read_once(reader, &random, &task);
    reader->failure = stat;
    if (stat != S_OKAY)
        printf("reader %d: %d %s\n", reader->number, stat, d_errmsg(&task));
    d_closetask(&task);
    return NULL;
}

static int insert_one(int id, DB_TASK *task)
{
    struct rec_200 record;
    memset(&record, 0, sizeof(record));
    record.id = id;
    record.hexkey[0] = (int16_t)(id & 0xff);
    fill_payload(record.payload, id, 0);
    return d_fillnew(REC_200, &record, task, CURR_DB);
}

static int update_one(int number, DB_TASK *task)
{
    static unsigned random = 99;
    char payload[200];
    int stat;
    int32_t id = (int32_t)(next_random(&random) % (unsigned)records);
    if ((stat = d_keyfind(REC_200_ID, &id, task, CURR_DB)))
        return stat;
    fill_payload(payload, id, number + 1);
    return d_crwrite(REC_200_PAYLOAD, payload, task, CURR_DB);
}

static int delete_one(int number, DB_TASK *task)
{
    int stat = number == 0 ? d_recfrst(REC_200, task, CURR_DB) : d_recnext(task, CURR_DB);
    return stat ? stat : d_delete(task, CURR_DB);
}

/* So many operations, so many in a transaction; the time, or below 0 if one failed. */
static double run(int (*one)(int, DB_TASK *), int per_transaction, DB_TASK *task)
{
    double start = now_ms();
    int i, stat;
    for (i = 0; i < records; i++) {
        if (i % per_transaction == 0) {
            if ((stat = d_trbegin("write", task)))
                goto failed;
            if ((stat = d_reclock(REC_200, "w", task, CURR_DB)))
                goto failed;
        }
        if ((stat = one(i, task)))
            goto failed;
        if ((i + 1) % per_transaction == 0 || i + 1 == records) {
            if ((stat = d_trend(task)))
                goto failed;
        }
    }
    return now_ms() - start;
failed:
    printf("operation %d: %d %s\n", i, stat, d_errmsg(task));
    d_trabort(task);
    return -1;
}

static int measure(int readers_count, int per_transaction, int snapshots, DB_TASK *task)
{
    static struct reader readers[READERS_MAX];
    double inserts, updates = -1, deletes = -1;
    long found = 0;
    int i, good;
    set_ended(0);
    for (i = 0; i < readers_count; i++) {
        memset(&readers[i], 0, sizeof(readers[i]));
        readers[i].number = i;
        readers[i].snapshots = snapshots;
        if (pthread_create(&readers[i].thread, NULL, read_on, &readers[i]))
            return 1;
    }
    wait_for_start(readers_count);
    inserts = run(insert_one, per_transaction, task);
    if (inserts >= 0)
        updates = run(update_one, per_transaction, task);
    if (updates >= 0)
        deletes = run(delete_one, per_transaction, task);
    good = deletes >= 0;
    set_ended(1);
    for (i = 0; i < readers_count; i++) {
        pthread_join(readers[i].thread, NULL);
        good = good && readers[i].failure == S_OKAY;
        found += readers[i].found;
    }
    if (good && d_recfrst(REC_200, task, CURR_DB) != S_NOTFOUND) {
        printf("not all records were deleted\n");
        good = 0;
    }
    printf("%7d  %-9s %6d %9.1f %9.1f %9.1f %10ld\n", readers_count,
           snapshots ? "snapshots" : "locks", per_transaction, inserts, updates, deletes, found);
    fflush(stdout);
    return good ? 0 : 1;
}

int main(int argc, char **argv)
{
    static const int blocks[] = {1, 10, 100};
    static const int counts[] = {0, 2, 10};
    int i, j, wanted = -1, failures = 0;
    DB_TASK task;
    for (i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0) {
            records = 300;
        } else if (strcmp(argv[i], "--readers") == 0 && i + 1 < argc) {
            wanted = atoi(argv[++i]);
        } else {
            printf("usage: main [--quick] [--readers N]\n");
            return 2;
        }
    }
    if (wanted > READERS_MAX)
        wanted = READERS_MAX;
    if (d_opentask(&task) || d_dbuserid("writer", &task))
        return 1;
    /* As SYNCFILES=0 in rdm.ini: a transaction's end does not wait for the disk. */
    if (d_syncfiles(0, &task))
        return 1;
    /* What an earlier run left goes. */
    if (d_open("testdb", "x", &task) || d_initialize(&task, CURR_DB) || d_close(&task))
        return 1;
    if (d_open("testdb", "s", &task))
        return 1;
    printf("%d records; milliseconds for\n", records);
    printf("readers  with      per tx   inserts   updates   deletes  reads\n");
    for (i = 0; i < 3; i++) {
        for (j = 0; j < 3; j++) {
            if (wanted < 0 || j == 0)
                failures += measure(wanted < 0 ? counts[j] : wanted, blocks[i], 0, &task);
        }
    }
    for (i = 0; i < 3; i++)
        failures += measure(wanted < 0 ? 10 : wanted, blocks[i], 1, &task);
    if (d_close(&task) || d_closetask(&task))
        return 1;
    return failures ? 1 : 0;
}
