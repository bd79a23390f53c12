/* A database in a folder: durability levels, tickets, a checkpoint, a backup, and what is there afterwards. */
#define _POSIX_C_SOURCE 200809L
#include <remanent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ERROR_TEXT rem_error_text
#include "check.h"

static const rem_database *db;
static rem_table cities;
static rem_column name;

static const rem_database *open_at(const char *path, uint32_t durability)
{
    const rem_database *opened;
    rem_options options;
    memset(&options, 0, sizeof options);
    options.budget = 64 << 20;
    options.path = path;
    options.durability = durability;
    OK(rem_open(&options, &opened));
    return opened;
}

static void add(const char *text, uint32_t durability, rem_ticket *ticket)
{
    const rem_transaction *tx;
    rem_draft draft;
    rem_transaction_options options;
    memset(&options, 0, sizeof options);
    options.durability = durability;
    OK(rem_begin_write(db, &options, &tx));
    OK(rem_draft_new(tx, cities, &draft));
    OK(rem_put_text(&draft, name, text, strlen(text)));
    OK(rem_insert(&draft, NULL));
    OK(rem_commit_with_ticket(tx, ticket));
}

static int count(const rem_database *of)
{
    const rem_transaction *tx;
    rem_table table;
    rem_cursor cursor;
    rem_row row;
    rem_index primary;
    int found = 0;
    OK(rem_table_find(of, "City", &table));
    OK(rem_index_find(of, table, "primary", &primary));
    OK(rem_begin_read(of, NULL, &tx));
    OK(rem_cursor_open(tx, primary, &cursor));
    for (rem_status status = rem_cursor_first(&cursor, &row); status == REM_OK;
         status = rem_cursor_next(&cursor, &row))
        found++;
    OK(rem_rollback(tx));
    return found;
}

/* The second word of a value. */
static void second_word(void *context, rem_blob key, rem_blob value, const rem_kv_keys *keys)
{
    const char *space = memchr(value.data, ' ', value.length);
    (void)context;
    (void)key;
    CHECK(space);
    OK(rem_kv_key_add(keys, rem_blob_of(space + 1, value.length - 1
                                                       - (size_t)(space - (const char *)value.data))));
}

/* Key/value databases are there again; secondary ones are associated anew. */
static void associate(int is_first_time)
{
    const rem_transaction *tx;
    rem_kv pets, kinds;
    rem_kv_secondary by_kind;
    rem_blob key, value;
    if (is_first_time) {
        OK(rem_kv_create(db, "pets", 0, &pets));
        OK(rem_kv_create(db, "kinds", REM_KV_DUPLICATES, &kinds));
        OK(rem_kv_associate(db, pets, kinds, second_word, NULL, &by_kind));
        OK(rem_kv_put_one(db, pets, rem_blob_of("1", 1), rem_blob_of("black cat", 9), 0));
        return;
    }
    OK(rem_kv_find(db, "pets", &pets));
    OK(rem_kv_find(db, "kinds", &kinds));
    OK(rem_kv_associate(db, pets, kinds, second_word, NULL, &by_kind));
    OK(rem_begin_write(db, NULL, &tx));
    OK(rem_kv_secondary_get(tx, by_kind, rem_blob_of("cat", 3), &key, &value));
    CHECK(key.length == 1 && value.length == 9 && memcmp(value.data, "black cat", 9) == 0);
    OK(rem_kv_delete(tx, pets, rem_blob_of("1", 1), NULL));
    STATUS(REM_NOT_FOUND, rem_kv_secondary_get(tx, by_kind, rem_blob_of("cat", 3), &key, &value));
    OK(rem_rollback(tx));
}

int main(int argc, char **argv)
{
    const rem_column_schema columns[] = {{"name", REM_STRING, 0, 80, 0, 0, 0}};
    const char *const by_name[] = {"name"};
    const rem_index_schema indexes[] = {{0, by_name, 1, REM_PRIMARY}};
    const rem_database *other;
    rem_options options;
    rem_ticket ticket;
    uint32_t reached;
    const char *damage;
    char folder[1000], copy[1000], command[2100];
    CHECK(argc == 2);
    snprintf(folder, sizeof folder, "%s/data", argv[1]);
    snprintf(copy, sizeof copy, "%s/copy", argv[1]);
    snprintf(command, sizeof command, "rm -rf '%s' '%s'", folder, copy);
    CHECK(system(command) == 0);

    db = open_at(folder, REM_BUFFERED);
    OK(rem_table_create(db, "City", columns, 1, indexes, 1, &cities));
    OK(rem_column_find(db, cities, "name", &name));
    add("Ulm", 0, &ticket);
    OK(rem_durability_of(db, ticket, &reached));
    CHECK(reached == REM_BUFFERED && ticket.timestamp > 0);
    OK(rem_wait_for(db, ticket, REM_OS));
    OK(rem_durability_of(db, ticket, &reached));
    CHECK(reached == REM_OS);
    add("Bonn", REM_DISK, &ticket);
    OK(rem_durability_of(db, ticket, &reached));
    CHECK(reached == REM_DISK);
    OK(rem_flush(db, REM_DISK));
    STATUS(REM_INVALID_OPTIONS, rem_flush(db, 0));
    STATUS(REM_INVALID_OPTIONS, rem_wait_for(db, ticket, 5));
    OK(rem_damage(db, &damage));
    CHECK(damage == NULL);

    memset(&options, 0, sizeof options);
    options.path = folder;
    STATUS(REM_DATABASE_IN_USE, rem_open(&options, &other));
    options.durability = 9;
    STATUS(REM_INVALID_OPTIONS, rem_open(&options, &other));
    OK(rem_backup(db, copy));
    STATUS(REM_INVALID_OPTIONS, rem_backup(db, copy));
    OK(rem_checkpoint(db));
    add("Aalen", 0, &ticket);
    associate(1);
    OK(rem_close(db));

    db = open_at(folder, 0);
    CHECK(count(db) == 3);
    associate(0);
    OK(rem_close(db));
    other = open_at(copy, 0);
    CHECK(count(other) == 2);
    OK(rem_close(other));
    return 0;
}
