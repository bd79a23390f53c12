/* The structs of both headers have the sizes and offsets that the library was built with. */
#include <remanent.h>
#include <remanent_mco.h>

#define AT(type, member, offset) _Static_assert(offsetof(type, member) == (offset), #member)
#define SIZE(type, size) _Static_assert(sizeof(type) == (size), #type)

SIZE(rem_value, 16);
AT(rem_value, length, 4);
AT(rem_value, word, 8);
SIZE(rem_row, 32);
AT(rem_row, bytes, 8);
AT(rem_row, length, 16);
AT(rem_row, id, 20);
AT(rem_row, table, 24);
SIZE(rem_draft, 16);
SIZE(rem_cursor, 16);
SIZE(rem_savepoint, 16);
SIZE(rem_table, 8);
SIZE(rem_column, 8);
SIZE(rem_index, 8);
SIZE(rem_options, 72);
AT(rem_options, path, 48);
SIZE(rem_ticket, 16);
SIZE(rem_transaction_options, 56);
AT(rem_transaction_options, deadline_us, 8);
AT(rem_transaction_options, name, 40);
SIZE(rem_column_schema, 40);
AT(rem_column_schema, parts, 24);
SIZE(rem_index_schema, 32);
SIZE(rem_snapshot, 64);
SIZE(rem_memory, 104);
AT(rem_memory, committed, 32);
AT(rem_memory, free, 80);
SIZE(rem_statistics, 144);
AT(rem_statistics, oldest_snapshot_us, 64);
AT(rem_statistics, log_syncs, 136);
SIZE(rem_table_memory, 104);
AT(rem_table_memory, rows, 64);
SIZE(rem_kv, 8);
SIZE(rem_blob, 16);
AT(rem_blob, length, 8);
SIZE(rem_kv_cursor, 16);
AT(rem_kv_cursor, number, 8);
SIZE(rem_kv_statistics, 32);
AT(rem_kv_statistics, records, 8);
AT(rem_kv_statistics, value_bytes, 24);
SIZE(rem_kv_secondary, 8);
SIZE(rem_kv_sequence, 8);
SIZE(rem_kv_sequence_options, 40);
AT(rem_kv_sequence_options, greatest, 16);
AT(rem_kv_sequence_options, cache, 32);
AT(rem_kv_sequence_options, flags, 36);
SIZE(rem_peer, 16);
SIZE(rem_replica_options, 160);
AT(rem_replica_options, peers_count, 40);
AT(rem_replica_options, database, 88);
SIZE(rem_replica_status, 64);
AT(rem_replica_status, role, 56);
SIZE(rem_member, 280);
AT(rem_member, address, 24);
AT(rem_member, clients, 152);

SIZE(rem_mco_object, 32);
AT(rem_mco_object, row, 8);
AT(rem_mco_object, length, 16);
AT(rem_mco_object, class_id, 20);
AT(rem_mco_object, row_id, 24);
AT(rem_mco_object, draft, 28);
SIZE(rem_mco_struct, 56);
AT(rem_mco_struct, leaf, 32);
AT(rem_mco_struct, offset, 48);
SIZE(rem_mco_key, 16);
SIZE(mco_cursor_t, 24);
AT(mco_cursor_t, slot, 8);
AT(mco_cursor_t, index, 20);
SIZE(rem_mco_dictionary, 24);

int main(void)
{
    return 0;
}
