/* An mco-style program: memory of its own, a class, a hash index and a tree. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stock.h"

#define SIZE (1 << 20)

static MCO_RET add(mco_db_h db, uint4 id, const char *name)
{
    mco_trans_h t;
    Part part;
    MCO_RET rc = mco_trans_start(db, MCO_READ_WRITE, MCO_TRANS_FOREGROUND, &t);
    if (rc == MCO_S_OK && (rc = Part_new(t, &part)) != MCO_S_OK)
        mco_trans_rollback(t);
    if (rc != MCO_S_OK)
        return rc;
    /* A put that fails makes the commit fail. */
    Part_id_put(&part, id);
    Part_name_put(&part, name, (uint2)strlen(name));
    return mco_trans_commit(t);
}

int main(void)
{
    char name[16] = "";
    uint2 length = 0;
    uint4 first = 0;
    mco_db_h db;
    mco_trans_h t;
    mco_cursor_t cursor;
    Part part;
    void *memory = malloc(SIZE);

    if (!memory || mco_db_open("stock", stock_get_dictionary(), memory, SIZE, 512))
        return 1;
    if (mco_db_connect("stock", &db) || add(db, 7, "nut") || add(db, 8, "bolt"))
        return 1;

    mco_trans_start(db, MCO_READ_ONLY, MCO_TRANS_FOREGROUND, &t);
    if (Part_by_id_find(t, 7, &part) == MCO_S_OK)
        Part_name_get(&part, name, sizeof(name), &length);
    if (Part_by_name_index_cursor(t, &cursor) == MCO_S_OK &&
        mco_cursor_first(t, &cursor) == MCO_S_OK &&
        Part_from_cursor(t, &cursor, &part) == MCO_S_OK)
        Part_id_get(&part, &first);
    mco_trans_commit(t);

    printf("7 is %s; the first by name is %u\n", name, (unsigned)first);
    mco_db_disconnect(db);
    mco_db_close("stock");
    free(memory);
    return strcmp(name, "nut") == 0 && first == 8 ? 0 : 1;
}
