/* Five minutes in C: a table, a row in a transaction, the row found again by its key. */
#include <stdio.h>
#include <string.h>

#include <remanent.h>

static const char schema[] = "declare database shop;"
                             "class Part { string name; unsigned<4> stock;"
                             "             unique tree <name> by_name; };";

/* Every call answers a status; 0 is success. */
#define OK(call) \
    do { \
        rem_status status = (call); \
        if (status) { \
            printf("%s: %s, %s\n", #call, rem_status_name(status), rem_error_text()); \
            return 1; \
        } \
    } while (0)

int main(void)
{
    const rem_database *db;
    const rem_transaction *tx;
    const rem_value key = rem_text("bolt", 4);
    rem_table parts;
    rem_column name, stock;
    rem_index by_name;
    rem_draft draft;
    rem_row row;
    uint32_t found = 0;

    OK(rem_open(NULL, &db)); /* in memory; rem_options has a path for a folder */
    OK(rem_define(db, schema, strlen(schema), 0));
    OK(rem_table_find(db, "Part", &parts));
    OK(rem_column_find(db, parts, "name", &name));
    OK(rem_column_find(db, parts, "stock", &stock));
    OK(rem_index_find(db, parts, "by_name", &by_name));

    OK(rem_begin_write(db, NULL, &tx));
    OK(rem_draft_new(tx, parts, &draft));
    OK(rem_put_text(&draft, name, "bolt", 4));
    OK(rem_put_u32(&draft, stock, 70));
    OK(rem_insert(&draft, NULL));
    OK(rem_commit(tx));

    OK(rem_begin_read(db, NULL, &tx));
    OK(rem_find(tx, by_name, &key, 1, &row));
    OK(rem_get_u32(&row, stock, &found));
    OK(rem_rollback(tx));
    printf("%u bolts\n", (unsigned)found);
    OK(rem_close(db));
    return found == 70 ? 0 : 1;
}
