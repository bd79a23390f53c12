/* The d_-style calls of several tasks, threads and processes: locks, time, who waits and
 * who is not. Started with a word it is one of the other processes. */
#define _DEFAULT_SOURCE
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ring.h"

static const char *error_text(void)
{
    return "see d_errmsg of the task";
}
#define ERROR_TEXT error_text
#include "check.h"

#define LEAVES_COUNT 100
#define READERS 10
#define ROUNDS 100

static const char *program;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int writer_done, readers_done;

static void doze(void)
{
    const struct timespec moment = {0, 1000000};
    nanosleep(&moment, 0);
}

static int peek(const int *value)
{
    int now;
    pthread_mutex_lock(&mutex);
    now = *value;
    pthread_mutex_unlock(&mutex);
    return now;
}

static void add(int *value)
{
    pthread_mutex_lock(&mutex);
    ++*value;
    pthread_mutex_unlock(&mutex);
}

static DB_TASK opened(const char *mode)
{
    DB_TASK task;
    OK(d_opentask(&task));
    OK(d_open("ring", mode, &task));
    return task;
}

static void begin_to_write(DB_TASK *task)
{
    OK(d_trbegin("write", task));
    OK(d_reclock(OWNER, "w", task, CURR_DB));
    OK(d_reclock(LEAF, "w", task, CURR_DB));
}

static void add_owner(long code, DB_TASK *task)
{
    struct Owner owner;
    memset(&owner, 0, sizeof owner);
    owner.code = code;
    OK(d_fillnew(OWNER, &owner, task, CURR_DB));
}

/* Another process of this program; what it ends with. */
static int other_process(const char *role)
{
    int status = -1;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        execl(program, program, role, (char *)0);
        _exit(99);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int is_refused(void)
{
    DB_TASK task;
    OK(d_opentask(&task));
    STATUS(S_UNAVAIL, d_open("ring", "s", &task));
    STATUS(S_UNAVAIL, d_open("ring", "x", &task));
    STATUS(S_UNAVAIL, d_open("ring", "o", &task));
    OK(d_closetask(&task));
    return 0;
}

/* What was committed is there; of the process that crashed, too. */
static int reads(int has_crashed)
{
    DB_TASK task = opened("s");
    long code = 1, count, number, expected = 0;
    int status;
    OK(d_keyfind(CODE, &code, &task, CURR_DB));
    OK(d_setor(LEAVES, &task, CURR_DB));
    OK(d_members(LEAVES, &count, &task, CURR_DB));
    CHECK(count == LEAVES_COUNT);
    for (status = d_findfm(LEAVES, &task, CURR_DB); !status;
         status = d_findnm(LEAVES, &task, CURR_DB)) {
        OK(d_crread(NUMBER, &number, &task, CURR_DB));
        CHECK(number == expected++);
    }
    STATUS(S_EOS, status);
    code = 2;
    STATUS(has_crashed ? S_OKAY : S_NOTFOUND, d_keyfind(CODE, &code, &task, CURR_DB));
    OK(d_closetask(&task));
    return 0;
}

/* Commits, and ends without closing. */
static int crashes(void)
{
    DB_TASK task = opened("s");
    begin_to_write(&task);
    add_owner(2, &task);
    OK(d_trend(&task));
    _exit(0);
}

static void processes(void)
{
    DB_TASK task = opened("s");
    long i;
    begin_to_write(&task);
    add_owner(1, &task);
    OK(d_setor(LEAVES, &task, CURR_DB));
    for (i = 0; i < LEAVES_COUNT; i++) {
        struct Leaf leaf = {i, 0.5};
        OK(d_fillnew(LEAF, &leaf, &task, CURR_DB));
        OK(d_connect(LEAVES, &task, CURR_DB));
    }
    OK(d_trend(&task));
    CHECK(other_process("refused") == 0);
    OK(d_close(&task));
    CHECK(other_process("reads") == 0);
    CHECK(other_process("crashes") == 0);
    OK(d_open("ring", "s", &task));
    OK(d_close(&task));
    CHECK(other_process("reads-more") == 0);
    OK(d_closetask(&task));
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void locks(void)
{
    DB_TASK one = opened("s"), two = opened("s");
    uint64_t id;
    double start;
    long code = 10;
    begin_to_write(&one);
    add_owner(10, &one);
    OK(d_timeout(0, &two));
    STATUS(S_UNAVAIL, d_reclock(OWNER, "r", &two, CURR_DB));
    STATUS(S_UNAVAIL, d_reclock(OWNER, "x", &two, CURR_DB));
    OK(d_timeout(1, &two));
    start = seconds();
    STATUS(S_UNAVAIL, d_reclock(OWNER, "r", &two, CURR_DB));
    CHECK(seconds() - start > 0.9);
    OK(d_reclock(TWIG, "r", &two, CURR_DB));
    /* A snapshot waits for nobody, and stays as it is. */
    STATUS(S_NOTFOUND, d_keyfind(CODE, &code, &two, CURR_DB));
    OK(d_trrobegin(&two, CURR_DB, &id));
    OK(d_trend(&one));
    STATUS(S_NOTFOUND, d_keyfind(CODE, &code, &two, CURR_DB));
    OK(d_trroend(&two));
    OK(d_keyfind(CODE, &code, &two, CURR_DB));
    OK(d_recfree(TWIG, &two, CURR_DB));
    /* Readers are side by side; what a lock was had for later is seen in a transaction. */
    OK(d_reclock(TWIG, "r", &one, CURR_DB));
    OK(d_reclock(TWIG, "r", &two, CURR_DB));
    OK(d_trbegin("two", &two));
    OK(d_reclock(LEAF, "w", &two, CURR_DB));
    OK(d_makenew(LEAF, &two, CURR_DB));
    OK(d_trbegin("one", &one));
    OK(d_reclock(OWNER, "w", &one, CURR_DB));
    add_owner(11, &one);
    OK(d_trend(&one));
    code = 11;
    OK(d_reclock(OWNER, "w", &two, CURR_DB));
    OK(d_keyfind(CODE, &code, &two, CURR_DB));
    OK(d_delete(&two, CURR_DB));
    OK(d_trabort(&two));
    OK(d_keyfind(CODE, &code, &one, CURR_DB));
    OK(d_closetask(&one));
    OK(d_closetask(&two));
}

static void *upgrade(void *argument)
{
    DB_TASK *task = argument;
    OK(d_timeout(-1, task));
    OK(d_reclock(OWNER, "w", task, CURR_DB));
    return 0;
}

static void upgrades(void)
{
    DB_TASK one = opened("s"), two = opened("s");
    pthread_t thread;
    int i;
    OK(d_trbegin("one", &one));
    OK(d_trbegin("two", &two));
    OK(d_reclock(OWNER, "r", &one, CURR_DB));
    OK(d_reclock(OWNER, "r", &two, CURR_DB));
    CHECK(pthread_create(&thread, 0, upgrade, &one) == 0);
    OK(d_timeout(0, &two));
    for (i = 0; i < 20; i++) {
        STATUS(S_UNAVAIL, d_reclock(OWNER, "w", &two, CURR_DB));
        doze();
    }
    OK(d_trabort(&two));
    CHECK(pthread_join(thread, 0) == 0);
    add_owner(20, &one);
    OK(d_trend(&one));
    OK(d_closetask(&one));
    OK(d_closetask(&two));
}

static void *wait_for_lock(void *argument)
{
    int status;
    do
        status = d_reclock(OWNER, "r", argument, CURR_DB);
    while (status == S_INVTASK);
    OK(status);
    return 0;
}

/* A task is one thread's at a time: who comes while it is in a call gets a status, and does not wait. */
static void one_task_two_threads(void)
{
    DB_TASK blocker = opened("s"), task = opened("s");
    pthread_t thread;
    char mode;
    int status;
    OK(d_reclock(OWNER, "x", &blocker, CURR_DB));
    OK(d_timeout(-1, &task));
    CHECK(pthread_create(&thread, 0, wait_for_lock, &task) == 0);
    do {
        status = d_reclstat(OWNER, &mode, &task, CURR_DB);
        CHECK(status == S_OKAY || status == S_INVTASK);
        doze();
    } while (status == S_OKAY);
    STATUS(S_INVTASK, d_closetask(&task));
    CHECK(*d_errmsg(&task));
    OK(d_recfree(OWNER, &blocker, CURR_DB));
    CHECK(pthread_join(thread, 0) == 0);
    OK(d_reclstat(OWNER, &mode, &task, CURR_DB));
    CHECK(mode == 'r');
    OK(d_closetask(&task));
    OK(d_closetask(&blocker));
}

static void *read_on(void *argument)
{
    DB_TASK task = opened("s");
    const int *until = argument;
    int rounds = 0;
    while (rounds < ROUNDS || !peek(until)) {
        int i;
        OK(d_reclock(OWNER, "r", &task, CURR_DB));
        for (i = 0; i < 100; i++)
            OK(d_keyfrst(CODE, &task, CURR_DB));
        OK(d_recfree(OWNER, &task, CURR_DB));
        if (++rounds == ROUNDS)
            add(&readers_done);
    }
    OK(d_closetask(&task));
    return 0;
}

/* Readers go on until the writer is done, and it until they are: nobody may wait too long, which
 * the lock's ten seconds would tell. */
static void nobody_starves(void)
{
    DB_TASK task = opened("s");
    pthread_t threads[READERS];
    int i, written = 0;
    for (i = 0; i < READERS; i++)
        CHECK(pthread_create(&threads[i], 0, read_on, &writer_done) == 0);
    while (written < ROUNDS || peek(&readers_done) < READERS) {
        long code = 1000 + written++;
        OK(d_trbegin("write", &task));
        OK(d_reclock(OWNER, "w", &task, CURR_DB));
        add_owner(code, &task);
        OK(d_delete(&task, CURR_DB));
        OK(d_trend(&task));
    }
    add(&writer_done);
    for (i = 0; i < READERS; i++)
        CHECK(pthread_join(threads[i], 0) == 0);
    OK(d_closetask(&task));
}

/* A database has 4096 transactions at a time. */
static void too_many(void)
{
    static DB_TASK tasks[4200];
    int count, i, status = S_OKAY;
    for (count = 0; count < 4200; count++) {
        tasks[count] = opened("s");
        status = d_trrobegin(&tasks[count], CURR_DB, 0);
        if (status != S_OKAY)
            break;
    }
    STATUS(S_NOMEMORY, status);
    CHECK(strstr(d_errmsg(&tasks[count]), "S_NOMEMORY"));
    OK(d_trroend(&tasks[0]));
    OK(d_trrobegin(&tasks[count], CURR_DB, 0));
    for (i = 0; i <= count; i++)
        OK(d_closetask(&tasks[i]));
}

int main(int argc, char **argv)
{
    program = argv[0];
    if (argc > 1 && strcmp(argv[1], "reads") == 0)
        return reads(0);
    if (argc > 1 && strcmp(argv[1], "reads-more") == 0)
        return reads(1);
    if (argc > 1)
        return strcmp(argv[1], "crashes") == 0 ? crashes() : is_refused();
    processes();
    locks();
    upgrades();
    one_task_two_threads();
    nobody_starves();
    too_many();
    return 0;
}
