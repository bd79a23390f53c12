/* Three replicas in one process: a group is founded, a commit is in a majority, a follower is read
 * and refuses changes, the leader ends and another one leads, and every wrong call is a status. */
#define _POSIX_C_SOURCE 200809L
#include <remanent.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ERROR_TEXT rem_error_text
#include "check.h"

#define SECOND 1000000ull
#define NONE 3

static const rem_replica *replicas[3];
static char addresses[3][40], folders[3][1000];

static void start(int at, const rem_replica **out)
{
    rem_replica_options options;
    rem_peer peers[2];
    int count = 0;
    memset(&options, 0, sizeof options);
    for (int other = 0; other < 3; other++) {
        if (other == at)
            continue;
        peers[count].id = (uint64_t)other + 1;
        peers[count++].address = addresses[other];
    }
    options.id = (uint64_t)at + 1;
    options.address = addresses[at];
    options.clients = "clients.example:5432";
    options.group = "c";
    options.peers = peers;
    options.peers_count = 2;
    options.database.path = folders[at];
    options.database.budget = 64 << 20;
    options.database.durability = REM_REPLICATED;
    OK(rem_replica_start(&options, out));
}

/* The one that leads, once one does. */
static int leader(void)
{
    struct timespec pause = {0, 20000000};
    for (int looks = 0; looks < 3000; looks++) {
        for (int at = 0; at < 3; at++)
            if (replicas[at] && rem_replica_wait_for_leadership(replicas[at], 0) == REM_OK)
                return at;
        nanosleep(&pause, NULL);
    }
    CHECK(!"nobody leads after a minute");
    return NONE;
}

static rem_status add(const rem_database *db, const char *text, uint32_t durability, rem_ticket *ticket)
{
    const rem_transaction *tx;
    rem_transaction_options options;
    rem_table cities;
    rem_column name;
    rem_draft draft;
    rem_status status;
    memset(&options, 0, sizeof options);
    options.durability = durability;
    OK(rem_table_find(db, "City", &cities));
    OK(rem_column_find(db, cities, "name", &name));
    status = rem_begin_write(db, &options, &tx);
    if (status != REM_OK)
        return status;
    status = rem_draft_new(tx, cities, &draft);
    if (status == REM_OK)
        status = rem_put_text(&draft, name, text, strlen(text));
    if (status == REM_OK)
        status = rem_insert(&draft, NULL);
    if (status == REM_OK)
        return rem_commit_with_ticket(tx, ticket);
    OK(rem_rollback(tx));
    return status;
}

static int has(const rem_database *db, const char *text)
{
    const rem_transaction *tx;
    rem_table cities;
    rem_index primary;
    rem_row row;
    rem_value key = rem_text(text, strlen(text));
    rem_status status;
    OK(rem_table_find(db, "City", &cities));
    OK(rem_index_find(db, cities, "primary", &primary));
    OK(rem_begin_read(db, NULL, &tx));
    status = rem_find(tx, primary, &key, 1, &row);
    OK(rem_rollback(tx));
    CHECK(status == REM_OK || status == REM_NOT_FOUND);
    return status == REM_OK;
}

/* What is not a replica, and options that contradict each other. */
static void wrong_calls(void)
{
    rem_replica_options options;
    rem_peer self = {1, "127.0.0.1:1"};
    const rem_replica *replica = replicas[0];
    const rem_database *db = NULL;
    const rem_replica *wrong = (const rem_replica *)(uintptr_t)12345;
    rem_replica_status status;
    uint64_t timestamp;
    memset(&options, 0, sizeof options);
    STATUS(REM_NULL_ARGUMENT, rem_replica_start(NULL, &replica));
    CHECK(replica == NULL);
    STATUS(REM_NULL_ARGUMENT, rem_replica_start(&options, NULL));
    STATUS(REM_NULL_ARGUMENT, rem_replica_start(&options, &replica));
    options.database.path = "/proc/nothing/can/be/made/here";
    STATUS(REM_INVALID_OPTIONS, rem_replica_start(&options, &replica));
    options.id = 1;
    STATUS(REM_NULL_ARGUMENT, rem_replica_start(&options, &replica));
    options.address = "127.0.0.1:1";
    STATUS(REM_STORAGE_FAILED, rem_replica_start(&options, &replica));
    options.certificate = "/nowhere/replica.pem";
    STATUS(REM_INVALID_OPTIONS, rem_replica_start(&options, &replica));
    options.key = options.authority = options.certificate;
    STATUS(REM_STORAGE_FAILED, rem_replica_start(&options, &replica));
    CHECK(strstr(rem_error_text(), "/nowhere/replica.pem"));
    options.certificate = options.key = options.authority = NULL;
    options.peers_count = 1;
    STATUS(REM_NULL_ARGUMENT, rem_replica_start(&options, &replica));
    options.peers = &self;
    STATUS(REM_INVALID_OPTIONS, rem_replica_start(&options, &replica));
    options.peers_count = 0;
    options.group = "\xff";
    STATUS(REM_BAD_TEXT, rem_replica_start(&options, &replica));
    options.group = NULL;
    options.database.durability = 9;
    STATUS(REM_INVALID_OPTIONS, rem_replica_start(&options, &replica));
    options.database.durability = 0;
    options.database.memory = &options;
    STATUS(REM_INVALID_OPTIONS, rem_replica_start(&options, &replica));

    STATUS(REM_NULL_ARGUMENT, rem_replica_database(NULL, 0, &db));
    STATUS(REM_BAD_HANDLE, rem_replica_database(wrong, 0, &db));
    STATUS(REM_NULL_ARGUMENT, rem_replica_database(replicas[0], 0, NULL));
    STATUS(REM_BAD_HANDLE, rem_replica_status_of(wrong, &status));
    STATUS(REM_NULL_ARGUMENT, rem_replica_status_of(replicas[0], NULL));
    STATUS(REM_BAD_HANDLE, rem_replica_newest_commit(wrong, &timestamp));
    STATUS(REM_BAD_HANDLE, rem_replica_remove_member(wrong, 1));
    STATUS(REM_BAD_HANDLE, rem_replica_wait_for_leadership(wrong, 0));
    STATUS(REM_NULL_ARGUMENT, rem_replica_stop(NULL));
    STATUS(REM_BAD_HANDLE, rem_replica_stop(wrong));
}

/* An address that another one has: the replica says so, and ends all the same. */
static void taken_address(const char *folder)
{
    struct timespec pause = {0, 20000000};
    rem_replica_options options;
    const rem_replica *replica;
    const char *failure = NULL;
    memset(&options, 0, sizeof options);
    options.id = 1;
    options.address = addresses[0];
    options.group = "other";
    options.database.path = folder;
    OK(rem_replica_start(&options, &replica));
    for (int looks = 0; looks < 3000 && !failure; looks++) {
        OK(rem_replica_failure(replica, &failure));
        nanosleep(&pause, NULL);
    }
    CHECK(failure && strstr(failure, addresses[0]));
    STATUS(REM_NULL_ARGUMENT, rem_replica_failure(replica, NULL));
    OK(rem_replica_stop(replica));
    STATUS(REM_BAD_HANDLE, rem_replica_stop(replica));
}

int main(int argc, char **argv)
{
    const rem_column_schema columns[] = {{"name", REM_STRING, 0, 80, 0, 0, 0}};
    const char *const by_name[] = {"name"};
    const rem_index_schema indexes[] = {{0, by_name, 1, REM_PRIMARY}};
    const rem_database *db, *follower;
    rem_table cities;
    rem_ticket ticket;
    rem_replica_status status;
    rem_member members[3];
    uint32_t reached;
    uint64_t newest;
    size_t count;
    int first, other, voters = 0, leads = 0;
    char folder[1000];
    alarm(600); /* instead of hanging */
    CHECK(argc == 5);
    for (int at = 0; at < 3; at++) {
        snprintf(addresses[at], sizeof addresses[at], "127.0.0.1:%s", argv[2 + at]);
        snprintf(folders[at], sizeof folders[at], "%s/%d", argv[1], at + 1);
    }
    for (int at = 0; at < 3; at++)
        start(at, &replicas[at]);
    wrong_calls();

    first = leader();
    OK(rem_replica_database(replicas[first], 60 * SECOND, &db));
    OK(rem_table_create(db, "City", columns, 1, indexes, 1, &cities));
    OK(add(db, "Ulm", 0, &ticket));
    OK(rem_replication_of(db, ticket, &reached));
    CHECK(reached == REM_REPLICATED || reached == REM_REPLICATED_DISK);
    OK(add(db, "Bonn", REM_BUFFERED, &ticket));
    OK(rem_wait_for(db, ticket, REM_REPLICATED_DISK));
    OK(rem_replication_of(db, ticket, &reached));
    CHECK(reached == REM_REPLICATED_DISK);
    OK(rem_durability_of(db, ticket, &reached));
    CHECK(reached >= REM_BUFFERED && reached <= REM_DISK);
    STATUS(REM_NULL_ARGUMENT, rem_replication_of(db, ticket, NULL));
    OK(rem_replica_status_of(replicas[first], &status));
    CHECK(status.role == REM_ROLE_LEADER && status.leader == (uint64_t)first + 1);
    CHECK(status.epoch > 0 && status.term > 0 && status.is_unsure == 0);
    CHECK(status.replicated > 0 && status.replicated <= status.last);
    OK(rem_replica_members(replicas[first], members, 3, &count));
    CHECK(count == 3);
    for (size_t at = 0; at < count; at++) {
        CHECK(strcmp(members[at].address, addresses[members[at].id - 1]) == 0);
        CHECK(strcmp(members[at].clients, "clients.example:5432") == 0);
        voters += members[at].votes == 1;
        leads += members[at].leads && members[at].id == (uint64_t)first + 1;
    }
    CHECK(voters == 3 && leads == 1);
    OK(rem_replica_members(replicas[first], NULL, 0, &count));
    CHECK(count == 3);

    other = (first + 1) % 3;
    OK(rem_replica_database(replicas[other], 60 * SECOND, &follower));
    OK(rem_wait_for_timestamp(follower, ticket.timestamp, 60 * SECOND));
    CHECK(has(follower, "Ulm") && has(follower, "Bonn") && !has(follower, "Aalen"));
    STATUS(REM_DEADLINE_REACHED, rem_wait_for_timestamp(follower, UINT64_MAX, 1000));
    STATUS(REM_NOT_LEADER, add(follower, "Aalen", 0, &ticket));
    OK(rem_replica_newest_commit(replicas[other], &newest));
    CHECK(newest >= ticket.timestamp);
    OK(rem_wait_for_timestamp(follower, newest, 60 * SECOND));
    STATUS(REM_DEADLINE_REACHED, rem_replica_wait_for_leadership(replicas[other], 1000));

    STATUS(REM_OPEN_HANDLES, rem_replica_stop(replicas[first]));
    OK(rem_close(db));
    OK(rem_replica_stop(replicas[first]));
    STATUS(REM_BAD_HANDLE, rem_replica_database(replicas[first], 0, &db));
    replicas[first] = NULL;
    OK(rem_close(follower));
    other = leader();
    OK(rem_replica_database(replicas[other], 60 * SECOND, &db));
    CHECK(has(db, "Ulm") && has(db, "Bonn"));
    OK(add(db, "Aalen", REM_REPLICATED_DISK, &ticket));

    start(first, &replicas[first]);
    OK(rem_replica_database(replicas[first], 60 * SECOND, &follower));
    OK(rem_wait_for_timestamp(follower, ticket.timestamp, 60 * SECOND));
    CHECK(has(follower, "Aalen"));
    OK(rem_close(follower));
    snprintf(folder, sizeof folder, "%s/taken", argv[1]);
    taken_address(folder);

    /* Three voters less one: a commit still has a majority. */
    OK(rem_replica_stop(replicas[first]));
    OK(rem_replica_remove_member(replicas[other], (uint64_t)first + 1));
    OK(rem_replica_members(replicas[other], members, 3, &count));
    CHECK(count == 2);
    OK(add(db, "Celle", 0, &ticket));
    OK(rem_close(db));
    for (int at = 0; at < 3; at++)
        if (at != first)
            OK(rem_replica_stop(replicas[at]));
    return 0;
}
