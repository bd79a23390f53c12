/* One database through the native, the mco-style and the d_-style interface: what one writes the
 * others read, and a set that one made the other follows. */
#include "../check.h"
#include "sides.h"

#include <remanent.h>
#include <string.h>

static void native_read(const rem_database *db, uint32_t sensor, uint32_t taken, const char *expected)
{
    const rem_transaction *tx;
    rem_table table;
    rem_index index;
    rem_column spectra;
    rem_row row;
    const char *text;
    size_t length;

    CHECK(rem_table_find(db, "Measure", &table) == 0);
    CHECK(rem_index_find(db, table, "sensors", &index) == 0);
    CHECK(rem_column_find(db, table, "spectra", &spectra) == 0);
    CHECK(rem_begin_read(db, NULL, &tx) == 0);
    CHECK(rem_find(tx, index, (rem_value[]){rem_u32(sensor), rem_u32(taken)}, 2, &row) == 0);
    CHECK(rem_get_text(&row, spectra, &text, &length) == 0);
    CHECK(length == strlen(expected) && memcmp(text, expected, length) == 0);
    CHECK(rem_commit(tx) == 0);
}

static void native_follows_the_set(const rem_database *db, uint32_t sensor)
{
    const rem_transaction *tx;
    rem_table sensors;
    rem_index by_id;
    rem_set history;
    rem_row owner, member, back;

    CHECK(rem_table_find(db, "Sensor", &sensors) == 0);
    CHECK(rem_index_find(db, sensors, "id", &by_id) == 0);
    CHECK(rem_set_find(db, "History", &history) == 0);
    CHECK(rem_begin_write(db, NULL, &tx) == 0);
    CHECK(rem_find(tx, by_id, (rem_value[]){rem_u32(sensor)}, 1, &owner) == 0);
    CHECK(rem_member_first(tx, history, owner.id, &member) == 0);
    CHECK(rem_owner_of(tx, history, member.table, member.id, &back) == 0 && back.id == owner.id);
    CHECK(rem_member_next(tx, history, member.table, member.id, &member) == 0);
    CHECK(rem_member_next(tx, history, member.table, member.id, &back) == REM_NOT_FOUND);
    CHECK(rem_member_previous(tx, history, member.table, member.id, &back) == 0);
    CHECK(rem_member_last(tx, history, owner.id, &back) == 0 && back.id == member.id);
    CHECK(rem_connect(tx, history, owner.id, member.table, member.id) == REM_ALREADY_MEMBER);
    CHECK(rem_delete(tx, member.table, member.id) == REM_IS_MEMBER);
    CHECK(rem_delete(tx, sensors, owner.id) == REM_HAS_MEMBERS);
    CHECK(rem_disconnect(tx, history, member.table, member.id) == 0);
    CHECK(rem_disconnect(tx, history, member.table, member.id) == REM_NOT_MEMBER);
    CHECK(rem_connect(tx, history, owner.id, member.table, member.id) == 0);
    CHECK(rem_reconnect(tx, history, owner.id, member.table, member.id) == 0);
    CHECK(rem_commit(tx) == 0);
}

int main(void)
{
    const rem_database *db;
    char spectra[100];

    CHECK(rem_open(NULL, &db) == 0);
    CHECK(rem_attach_mco(db, "both", mco_side_dictionary()) == 0);
    CHECK(rem_attach_d(db, "both") == 0);

    CHECK(mco_write(7, 1, "by one side") == 0);
    CHECK(d_write(7, 2, "by the other") == 0);
    CHECK(d_write(7, 3, "and once more") == 0);

    CHECK(d_read(7, 1, spectra, sizeof spectra) == 0 && !strcmp(spectra, "by one side"));
    CHECK(mco_read(7, 2, spectra, sizeof spectra) == 0 && !strcmp(spectra, "by the other"));
    CHECK(mco_read(7, 9, spectra, sizeof spectra) == 10);
    CHECK(d_read(7, 9, spectra, sizeof spectra) == 2);
    native_read(db, 7, 1, "by one side");
    native_read(db, 7, 3, "and once more");
    native_follows_the_set(db, 7);

    /* A key that one side has, the other cannot have again. */
    CHECK(mco_write(7, 2, "twice") == 13);
    CHECK(d_write(7, 1, "twice") == 3);
    return 0;
}
