/* The native C interface of Remanent, a main-memory database.
 *
 * Made by `cargo xtask headers` from crates/capi/src/native; do not edit. C11 and C++.
 *
 * Every function returns a rem_status: 0, or why it failed, and then it has changed nothing.
 * rem_error_text() has the words. Databases and transactions are tokens, rows, drafts and cursors
 * small values that carry their transaction's token: one that has ended is REM_TRANSACTION_ENDED,
 * one of another thread REM_WRONG_THREAD. A row is read where it lies: text and bytes are
 * pointers into the database that are good until the transaction ends. rem_kv_* are key/value
 * databases: tables of a key and a value, which change in the same transactions.
 */


#ifndef REMANENT_H
#define REMANENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Commits are in memory; in a folder, as REM_BUFFERED.
#define REM_MEMORY 1

// Commits are in the log's memory.
#define REM_BUFFERED 2

// The operating system has them.
#define REM_OS 3

// The disk has them.
#define REM_DISK 4

// A majority of the group has them in memory. In a replica only.
#define REM_REPLICATED 5

// A majority of the group has them on their disks. In a replica only.
#define REM_REPLICATED_DISK 6

// Only if the key has no value; `REM_DUPLICATE_KEY` if it has one.
#define REM_KV_NO_OVERWRITE 1

// Only if the key does not have this value; `REM_DUPLICATE_KEY` if it does. For databases with
// duplicates.
#define REM_KV_NO_DUPLICATE 2

// To the first record.
#define REM_KV_FIRST 1

// To the last record.
#define REM_KV_LAST 2

// To the next record; from nowhere to the first.
#define REM_KV_NEXT 3

// To the record before; from nowhere to the last.
#define REM_KV_PREV 4

// The record that it stands at; REM_NOT_FOUND if it was deleted.
#define REM_KV_CURRENT 5

// To a key; of several values to the first.
#define REM_KV_SET 6

// To a key, or else the next greater one; where there is no order, as REM_KV_SET.
#define REM_KV_SET_RANGE 7

// To the record of a key and a value.
#define REM_KV_GET_BOTH 8

// To a key's first value that is not less than the one given; without duplicates, as
// REM_KV_GET_BOTH.
#define REM_KV_GET_BOTH_RANGE 9

// To the next value of the same key.
#define REM_KV_NEXT_DUP 10

// To the first value of the next key.
#define REM_KV_NEXT_NODUP 11

// To the value before of the same key.
#define REM_KV_PREV_DUP 12

// To the last value of the key before.
#define REM_KV_PREV_NODUP 13

// Without an order; look-ups take the same time for every number of records.
#define REM_KV_HASHED 1

// Several values for a key, in the order of their bytes, each once.
#define REM_KV_DUPLICATES 2

// The sequence goes on at the other end of its range when it is used up.
#define REM_KV_SEQUENCE_WRAPS 1

// The sequence begins with `initial`.
#define REM_KV_SEQUENCE_INITIAL 2

// It takes changes.
#define REM_ROLE_LEADER 1

// It follows a leader.
#define REM_ROLE_FOLLOWER 2

// It stands for election, or waits for others to be elected.
#define REM_ROLE_CANDIDATE 3

// It follows and has no vote yet.
#define REM_ROLE_LEARNER 4

// Its database is being opened.
#define REM_ROLE_OPENING 5

// The column may be null.
#define REM_NULLABLE 1

// No two rows have the same key.
#define REM_UNIQUE 1

// Searched by whole keys alone.
#define REM_HASH 2

// The primary key, which is unique.
#define REM_PRIMARY 4

// Nearest row with this key, or whose key begins so.
#define REM_EQUAL 0

// First row at or above.
#define REM_AT_LEAST 1

// First row above.
#define REM_ABOVE 2

// Last row at or below.
#define REM_AT_MOST 3

// Last row below.
#define REM_BELOW 4

// Transactions are as if they ran one after the other.
#define REM_SERIALIZABLE 0

// Of two transactions that change one row, one fails.
#define REM_SNAPSHOT 1

// No value.
#define REM_NULL 0

// Signed, 1 byte.
#define REM_I8 1

// Signed, 2 bytes.
#define REM_I16 2

// Signed, 4 bytes.
#define REM_I32 3

// Signed, 8 bytes.
#define REM_I64 4

// Unsigned, 1 byte.
#define REM_U8 5

// Unsigned, 2 bytes.
#define REM_U16 6

// Unsigned, 4 bytes.
#define REM_U32 7

// Unsigned, 8 bytes.
#define REM_U64 8

// IEEE 754, 4 bytes; as a value, `real`.
#define REM_F32 9

// IEEE 754, 8 bytes; as a value, `real`.
#define REM_F64 10

// As a value, `integer` 0 or 1.
#define REM_BOOL 11

// A scaled integer: `integer`, or `data` to 16 bytes and `length` 16.
#define REM_DECIMAL 12

// Days since 1970: `integer`.
#define REM_DATE 13

// Microseconds since midnight: `integer`.
#define REM_TIME 14

// Microseconds since 1970, UTC: `integer`.
#define REM_TIMESTAMP 15

// UTF-8 of at most `size` bytes, in a fixed place.
#define REM_CHAR 16

// Exactly `size` bytes.
#define REM_BINARY 17

// UTF-8 of any length: `data` and `length`.
#define REM_STRING 18

// Bytes of any length: `data` and `length`.
#define REM_BLOB 19

// `size` elements.
#define REM_ARRAY 20

// Fields.
#define REM_STRUCT 21

// Any number of elements.
#define REM_VECTOR 22

// A database: a token, never a pointer to anything.
typedef struct rem_database rem_database;

// Where the keys of one record go: a token, never a pointer to anything.
typedef struct rem_kv_keys rem_kv_keys;

// A replica: a token, never a pointer to anything.
typedef struct rem_replica rem_replica;

// A transaction: a token, never a pointer to anything.
typedef struct rem_transaction rem_transaction;

// The status that every function returns: 0, or why it failed.
typedef int32_t rem_status;

// How a database is opened. Zeros and nulls are the defaults.
typedef struct rem_options {
    // Bytes that it may hold; 0 for half of the machine's memory.
    uint64_t budget;
    // Bytes that the budget may be raised to; 0 for all of the machine's.
    uint64_t budget_max;
    // Bytes to get from the system beforehand.
    uint64_t commit_ahead;
    // Transactions at the same time; 0 for 4096.
    uint64_t transactions_max;
    // Memory of the caller's to live in, which must outlive the database; or null.
    void *memory;
    // Bytes of that memory, which is the budget then.
    uint64_t memory_size;
    // The folder that the database lies in, UTF-8 with a final NUL, made if it is not there; null
    // for one in memory alone.
    const char *path;
    // What a commit waits for, REM_BUFFERED to REM_DISK; 0 for REM_DISK. In a folder only.
    uint32_t durability;
    // 1 to open a damaged database to write: what lies behind the damage is put aside.
    uint32_t accept_damage;
    // Bytes of log after which a checkpoint is made; 0 for 64 MiB, the largest number for never.
    uint64_t checkpoint_after;
} rem_options;

// Memory in use, in bytes.
typedef struct rem_memory {
    // The most that may be held.
    uint64_t budget;
    // Held for any purpose.
    uint64_t held;
    // Of that, for rows.
    uint64_t rows;
    // Of that, for indexes.
    uint64_t indexes;
    // Got from the system.
    uint64_t committed;
    // The part of the budget that only deletes, rollbacks and reclamation may use.
    uint64_t reserve;
    // Of what is held, for directories of rows.
    uint64_t segments;
    // Of that, for queues, write sets and the catalogue.
    uint64_t internal;
    // Of that, for buffers of the log.
    uint64_t log;
    // Of that, for the head of the region.
    uint64_t overhead;
    // Of that, room that nothing lies in. The seven together are what is held.
    uint64_t free;
    // Of the rows, about how much was superseded or deleted and waits to be freed.
    uint64_t reclaimable;
    // Addresses that the budget may be raised to.
    uint64_t reserved;
} rem_memory;

// A snapshot that a transaction holds.
typedef struct rem_snapshot {
    // The newest commit that it sees.
    uint64_t timestamp;
    // Microseconds since its transaction began.
    uint64_t age_us;
    // Bytes of old rows that are kept for it.
    uint64_t pinned_bytes;
    // Whose it is, with a final NUL.
    char name[40];
} rem_snapshot;

// A table.
typedef struct rem_table {
    // 0 is no table.
    uint64_t id;
} rem_table;

// A row in the making.
typedef struct rem_draft {
    // The token of its transaction.
    uint64_t transaction;
    // Which of the transaction's drafts.
    uint64_t number;
} rem_draft;

// A row that a transaction read, or a draft's content.
typedef struct rem_row {
    // The token of its transaction.
    uint64_t transaction;
    // Its bytes, in Remanent's row format; null in a draft.
    const void *bytes;
    // How many; in a draft, its number.
    uint32_t length;
    // Its number, which names it as long as it lives; in a draft, 0xffffffff.
    uint32_t id;
    // The table.
    struct rem_table table;
} rem_row;

// A column of a table.
typedef struct rem_column {
    // 0 is the first column of no table.
    uint64_t id;
} rem_column;

// The content of a value.
typedef union rem_word {
    // A signed number.
    int64_t integer;
    // An unsigned number.
    uint64_t natural;
    // A floating point number.
    double real;
    // Text or bytes.
    const void *data;
} rem_word;

// A value: see the kinds for what `as_` holds.
typedef struct rem_value {
    // One of REM_NULL .. REM_BLOB.
    uint32_t kind;
    // Bytes of text, of bytes, or of a long decimal.
    uint32_t length;
    // The number, or where the bytes are.
    union rem_word word;
} rem_value;

// A commit, to be asked about later.
typedef struct rem_ticket {
    // Snapshots from this timestamp on see it.
    uint64_t timestamp;
    // The end of it in the log; 0 if it is not there.
    uint64_t position;
} rem_ticket;

// A key/value database.
typedef struct rem_kv {
    // 0 is no key/value database.
    uint64_t id;
} rem_kv;

// Bytes of the program's, or in a database; `data` may be null for none.
typedef struct rem_blob {
    // Their position.
    const void *data;
    // How many.
    size_t length;
} rem_blob;

// A position among the records of a key/value database.
typedef struct rem_kv_cursor {
    // The token of its transaction.
    uint64_t transaction;
    // Which of the transaction's key/value cursors.
    uint64_t number;
} rem_kv_cursor;

// The content of a key/value database, as one transaction sees it.
typedef struct rem_kv_statistics {
    // Different keys.
    uint64_t keys;
    // Records, each duplicate one of its own.
    uint64_t records;
    // Bytes of the records' keys, once for each duplicate.
    uint64_t key_bytes;
    // Bytes of the records' values.
    uint64_t value_bytes;
} rem_kv_statistics;

// Finds the secondary keys of a record and gives them to `rem_kv_key_add`: always the same for the
// same record. It may be called by any thread, and must return.
typedef void (*rem_kv_extract)(void *context,
                               struct rem_blob key,
                               struct rem_blob value,
                               const struct rem_kv_keys *keys);

// A secondary database together with its primary one.
typedef struct rem_kv_secondary {
    // 0 is none.
    uint64_t id;
} rem_kv_secondary;

// How a new sequence counts. Zeros are the defaults.
typedef struct rem_kv_sequence_options {
    // The first number, with REM_KV_SEQUENCE_INITIAL; otherwise the end that it counts from.
    int64_t initial;
    // The least number.
    int64_t least;
    // The greatest number; 0 for INT64_MAX if `least` is 0 too.
    int64_t greatest;
    // By how much each number is greater than the one before; 0 for 1.
    int64_t increment;
    // Numbers that this handle takes out of the database at once; 0 for 1.
    uint32_t cache;
    // REM_KV_SEQUENCE_WRAPS, REM_KV_SEQUENCE_INITIAL.
    uint32_t flags;
} rem_kv_sequence_options;

// A sequence.
typedef struct rem_kv_sequence {
    // 0 is none.
    uint64_t id;
} rem_kv_sequence;

// What has happened in a database since it was opened, and how it stands.
typedef struct rem_statistics {
    // Microseconds since it was opened.
    uint64_t uptime_us;
    // Transactions whose changes were committed.
    uint64_t commits;
    // Changes of rows in them.
    uint64_t changes;
    // Transactions that write which ended without a commit.
    uint64_t rollbacks;
    // Statements and commits refused with REM_CONFLICT.
    uint64_t conflicts;
    // Attempts after the first one, by calls that repeat their work.
    uint64_t retries;
    // Transactions that are active and only read.
    uint64_t readers;
    // Transactions that are active and write.
    uint64_t writers;
    // Microseconds since the oldest snapshot was taken; 0 if there is none.
    uint64_t oldest_snapshot_us;
    // Blocks and rows that wait to be freed or inspected.
    uint64_t backlog;
    // Rows of which an old snapshot needs a version that nobody else does.
    uint64_t pinned_rows;
    // Checkpoints that were made.
    uint64_t checkpoints;
    // Bytes of log since the database was made; 0 in all that follow if there is no log.
    uint64_t log_bytes;
    // Of these, bytes that the operating system has.
    uint64_t log_bytes_written;
    // Of these, bytes that the disk has.
    uint64_t log_bytes_synced;
    // Commits that the log has taken.
    uint64_t log_commits;
    // Writes to files of the log.
    uint64_t log_writes;
    // Syncs of files of the log.
    uint64_t log_syncs;
} rem_statistics;

// The memory of a table, in bytes.
typedef struct rem_table_memory {
    // The table's name with a final NUL, cut where it is too long.
    char name[64];
    // Rows that are there.
    uint64_t rows;
    // Versions of rows: the current ones, old ones and deletions.
    uint64_t versions;
    // Bytes of these versions.
    uint64_t row_bytes;
    // Bytes of the directory of rows.
    uint64_t segment_bytes;
    // Bytes of all indexes.
    uint64_t index_bytes;
} rem_table_memory;

// A member of a group that is to be founded.
typedef struct rem_peer {
    // Its number, from 1 on.
    uint64_t id;
    // Host and port at which it answers the others, UTF-8 with a final NUL.
    const char *address;
} rem_peer;

// How a replica is started. Texts are UTF-8 with a final NUL; zeros and nulls are the defaults.
typedef struct rem_replica_options {
    // Its number, from 1 on, which no other member of the group has.
    uint64_t id;
    // Host and port at which it answers the others.
    const char *address;
    // Host and port at which it answers clients, as others tell them; or null.
    const char *clients;
    // The group's name; null for `remanent`. Members of another group are not talked to.
    const char *group;
    // The others of a group that is to be founded.
    const struct rem_peer *peers;
    // How many those are.
    size_t peers_count;
    // The address of any member of a group that is there, to become one too; or null.
    const char *join;
    // A file with its certificate, in PEM format; with the next two, or null: then it talks on
    // loopback addresses alone.
    const char *certificate;
    // A file with the key of that.
    const char *key;
    // A file with the certificate of the authority that has signed those of all replicas.
    const char *authority;
    // Milliseconds from one word of the leader to the next; 0 for 100.
    uint32_t heartbeat_ms;
    // How its database is opened. `path` must not be null, and `memory` must be.
    struct rem_options database;
} rem_replica_options;

// How a replica does, as of a moment ago.
typedef struct rem_replica_status {
    // Changes whenever its database was opened, or has to be closed: then handles of it are
    // closed.
    uint64_t epoch;
    // The term that it is in.
    uint64_t term;
    // Who leads, as far as it knows; 0 if it does not.
    uint64_t leader;
    // The index of the last entry that it has.
    uint64_t last;
    // The index up to which it knows that a majority has the log.
    uint64_t replicated;
    // The index up to which its database has it.
    uint64_t applied;
    // The timestamp up to which its database can be read.
    uint64_t timestamp;
    // REM_ROLE_LEADER to REM_ROLE_OPENING.
    uint32_t role;
    // 1 if it does not vote until it has caught up: its machine has stopped.
    uint32_t is_unsure;
} rem_replica_status;

// A member of the group, as a replica knows it.
typedef struct rem_member {
    // Its number.
    uint64_t id;
    // The index up to which the leader knows that it has the log; 0 if it does not know, and for
    // those that do not lead.
    uint64_t matched;
    // 1 if it has a vote.
    uint32_t votes;
    // 1 if it leads, as far as the replica knows.
    uint32_t leads;
    // Where it answers the others, with a final NUL; what is longer is cut.
    char address[128];
    // Where it answers clients, with a final NUL; empty if it has not said so.
    char clients[128];
} rem_member;

// A column to be made, or a field of a struct.
typedef struct rem_column_schema {
    // UTF-8 with a final NUL.
    const char *name;
    // REM_I8 .. REM_VECTOR.
    uint32_t kind;
    // REM_NULLABLE.
    uint32_t flags;
    // The size of a char or binary, the count of an array, the precision of a decimal, the most
    // that a string, blob or vector may have (0 for any).
    uint32_t size;
    // The scale of a decimal.
    uint32_t scale;
    // The fields of a struct; the one element of an array or a vector, whose name is not asked.
    const struct rem_column_schema *parts;
    // How many parts.
    size_t parts_count;
} rem_column_schema;

// An index to be made.
typedef struct rem_index_schema {
    // UTF-8 with a final NUL; may be null for the primary key.
    const char *name;
    // The columns of the key, as `a` or `thing.a`; ` desc` behind it for descending order.
    const char *const *columns;
    // How many columns.
    size_t columns_count;
    // REM_UNIQUE, REM_HASH, REM_PRIMARY.
    uint32_t flags;
} rem_index_schema;

// An index of a table.
typedef struct rem_index {
    // 0 is the first index of no table.
    uint64_t id;
} rem_index;

// A position in an ordered index, or a scan of a table.
typedef struct rem_cursor {
    // The token of its transaction.
    uint64_t transaction;
    // Which of the transaction's cursors.
    uint64_t number;
} rem_cursor;

// A set.
typedef struct rem_set {
    // Its database and its number there; 0 for none.
    uint64_t id;
} rem_set;

// How a transaction is begun. Zeros are the defaults.
typedef struct rem_transaction_options {
    // REM_SERIALIZABLE or REM_SNAPSHOT.
    uint32_t isolation;
    // From -2, which yields to all, to 2.
    int32_t priority;
    // Microseconds from now until it has to be over; 0 for no end.
    uint64_t deadline_us;
    // Microseconds to wait for rows that others are changing; 0 to fail at once.
    uint64_t wait_us;
    // Microseconds that the snapshot of a transaction that reads may get old; 0 for any.
    uint64_t snapshot_age_us_max;
    // Bytes of old rows that such a snapshot may keep; 0 for any.
    uint64_t snapshot_pinned_max;
    // Whose it is, UTF-8 with a final NUL; or null.
    const char *name;
    // What the commit waits for, REM_MEMORY to REM_DISK; 0 for what the database does.
    uint32_t durability;
} rem_transaction_options;

// A point in a transaction to roll back to.
typedef struct rem_savepoint {
    // The transaction's token.
    uint64_t transaction;
    // Which of its savepoints.
    uint64_t number;
} rem_savepoint;

// Success.
#define REM_OK 0

// A unique index has another row with this key.
#define REM_DUPLICATE_KEY 1

// Another transaction was first; roll back and try again.
#define REM_CONFLICT 2

// A column that must have a value would be null.
#define REM_NULL_IN_NOT_NULL 3

// A string, blob or vector is longer than its column allows.
#define REM_VALUE_TOO_LONG 4

// A number does not fit its column.
#define REM_VALUE_OUT_OF_RANGE 5

// A value is of another type than its column.
#define REM_WRONG_TYPE 6

// The values of a key do not match the parts of its index.
#define REM_WRONG_KEY_SHAPE 7

// The encoded key is longer than 1024 bytes.
#define REM_KEY_TOO_LONG 8

// The row is longer than 512 MiB.
#define REM_ROW_TOO_LONG 9

// There is no table of this name, or it was dropped.
#define REM_UNKNOWN_TABLE 10

// There is no column of this name.
#define REM_UNKNOWN_COLUMN 11

// There is no index of this name, or it was dropped.
#define REM_UNKNOWN_INDEX 12

// A table of this name exists.
#define REM_TABLE_EXISTS 13

// An index of this name exists.
#define REM_INDEX_EXISTS 14

// A definition contradicts itself.
#define REM_INVALID_SCHEMA 15

// The row is of another table.
#define REM_SCHEMA_MISMATCH 16

// The row to change is not there.
#define REM_ROW_NOT_FOUND 17

// The transaction has ended, or never was.
#define REM_TRANSACTION_ENDED 18

// The memory budget is used up. Deletes and rollbacks still work.
#define REM_BUDGET_REACHED 19

// The operating system has no more memory.
#define REM_OUT_OF_MACHINE_MEMORY 20

// All transaction slots are taken.
#define REM_TOO_MANY_TRANSACTIONS 21

// Writers did not end in time for a change of tables or indexes.
#define REM_TABLE_BUSY 22

// A limit of the engine is reached.
#define REM_LIMIT_REACHED 23

// The kind of index cannot do this.
#define REM_WRONG_INDEX_KIND 24

// The options contradict each other or are out of range.
#define REM_INVALID_OPTIONS 25

// The snapshot was older, or kept more memory, than allowed.
#define REM_SNAPSHOT_EXPIRED 26

// The transaction's deadline has passed.
#define REM_DEADLINE_REACHED 27

// The row has an owner in the set; disconnect it first.
#define REM_ALREADY_MEMBER 28

// A row that owns members is not deleted; disconnect them first.
#define REM_HAS_MEMBERS 29

// A row that is a member is not deleted; disconnect it first.
#define REM_IS_MEMBER 30

// The row has no owner in the set, or another one.
#define REM_NOT_MEMBER 31

// The table holds a set: connect and disconnect change it.
#define REM_RELATION_OF_SET 32

// The table has rows that can be in a set; drop the set first.
#define REM_TABLE_IN_SET 33

// The stream of an image could not be written or read.
#define REM_STREAM_FAILED 34

// The bytes are not a whole image, or one of another version.
#define REM_DAMAGED_IMAGE 35

// The log cannot be read, not even in part, or belongs to another database.
#define REM_DAMAGED_LOG 36

// Writing the log failed. What is in memory can be read; nothing can be committed any more.
#define REM_LOG_FAILED 37

// Files of the database cannot be read, made or renamed.
#define REM_STORAGE_FAILED 38

// Somebody else has the database open.
#define REM_DATABASE_IN_USE 39

// The database can only be read, for something that was logged is missing.
#define REM_DATABASE_READ_ONLY 40

// The log does not reach back so far: a checkpoint has removed what was there.
#define REM_LOG_POSITION_GONE 41

// Another replica of the group takes changes; this one can be read.
#define REM_NOT_LEADER 42

// The group has lost its leader, or a majority, before it was known to have the commit: it may or
// may not be there.
#define REM_NOT_REPLICATED 43

// The handle refers to nothing, or not any more.
#define REM_BAD_HANDLE 1000

// The transaction belongs to another thread.
#define REM_WRONG_THREAD 1001

// The buffer is too small; the length that is needed was given.
#define REM_BUFFER_TOO_SMALL 1002

// The database has transactions or calls under way; or the call would wait for the one in whose
// midst a function of the program was called.
#define REM_OPEN_HANDLES 1003

// An argument is null that must not be.
#define REM_NULL_ARGUMENT 1004

// The column or index is of another table.
#define REM_WRONG_TABLE 1005

// The value is null; what was asked for is zero or empty.
#define REM_NULL_VALUE 1006

// There is no such row or key, or no further one.
#define REM_NOT_FOUND 1007

// The transaction only reads.
#define REM_READ_ONLY 1008

// The text is not UTF-8.
#define REM_BAD_TEXT 1009

// The schema's text is not understood.
#define REM_BAD_SCHEMA 1010

// There are too many handles.
#define REM_TOO_MANY_HANDLES 1011

// An argument is out of range.
#define REM_BAD_ARGUMENT 1012

// A fault of the library: what the call did may be half done, and the transaction is to be rolled
// back. In calls for single rows and values a fault ends the process.
#define REM_INTERNAL 1099

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Lets `mco_db_connect` find the database under this name, with the classes of a dictionary that
// a generated header gives. `mco_db_close` ends that, and the database stays. `REM_BAD_SCHEMA` if
// a table is there with other columns or the name is in use.
rem_status rem_attach_mco(const struct rem_database *db, const char *name, const void *dictionary);

// Lets `d_open` find the database under this name, that of a schema whose generated header the
// program includes. It has no file then. `rem_detach_d` ends that for tasks that open it later.
rem_status rem_attach_d(const struct rem_database *db, const char *name);

// Ends what `rem_attach_d` began.
rem_status rem_detach_d(const char *name);

// Opens a database. `options` may be null.
rem_status rem_open(const struct rem_options *options, const struct rem_database **out);

// Closes a database; `REM_OPEN_HANDLES` while it is used.
rem_status rem_close(const struct rem_database *database);

// How much memory is in use.
rem_status rem_memory_use(const struct rem_database *db, struct rem_memory *out);

// Changes the budget.
rem_status rem_budget_set(const struct rem_database *db, uint64_t bytes);

// Gives free memory back to the system; `released` may be null.
rem_status rem_memory_release(const struct rem_database *db, uint64_t *released);

// Lists the snapshots that are held, oldest first, as many as `capacity`; `count` receives how
// many there are.
rem_status rem_snapshots(const struct rem_database *db,
                         struct rem_snapshot *snapshots,
                         size_t capacity,
                         size_t *count);

// Makes a draft of a new row.
rem_status rem_draft_new(const struct rem_transaction *transaction,
                         struct rem_table table,
                         struct rem_draft *out);

// Makes a draft that is a copy of a row, to be changed.
rem_status rem_draft_load(const struct rem_row *row, struct rem_draft *out);

// Gives a draft up before its transaction ends.
rem_status rem_draft_free(const struct rem_draft *draft);

// The content of a draft, to read. Pointers that getters give are good until the draft changes.
rem_status rem_draft_row(const struct rem_draft *draft, struct rem_row *out);

// Puts a Bool.
rem_status rem_put_bool(const struct rem_draft *draft, struct rem_column column, bool value);

// Puts an I8 into a column of any integer type that it fits.
rem_status rem_put_i8(const struct rem_draft *draft, struct rem_column column, int8_t value);

// Puts an I16 into a column of any integer type that it fits.
rem_status rem_put_i16(const struct rem_draft *draft, struct rem_column column, int16_t value);

// Puts an I32 into a column of any integer type that it fits.
rem_status rem_put_i32(const struct rem_draft *draft, struct rem_column column, int32_t value);

// Puts an I64 into a column of any integer type that it fits.
rem_status rem_put_i64(const struct rem_draft *draft, struct rem_column column, int64_t value);

// Puts a U8 into a column of any integer type that it fits.
rem_status rem_put_u8(const struct rem_draft *draft, struct rem_column column, uint8_t value);

// Puts a U16 into a column of any integer type that it fits.
rem_status rem_put_u16(const struct rem_draft *draft, struct rem_column column, uint16_t value);

// Puts a U32 into a column of any integer type that it fits.
rem_status rem_put_u32(const struct rem_draft *draft, struct rem_column column, uint32_t value);

// Puts a U64 into a column of any integer type that it fits.
rem_status rem_put_u64(const struct rem_draft *draft, struct rem_column column, uint64_t value);

// Puts an F32.
rem_status rem_put_f32(const struct rem_draft *draft, struct rem_column column, float value);

// Puts an F64.
rem_status rem_put_f64(const struct rem_draft *draft, struct rem_column column, double value);

// Puts a date, in days since 1970.
rem_status rem_put_date(const struct rem_draft *draft, struct rem_column column, int32_t value);

// Puts a time, in microseconds since midnight.
rem_status rem_put_time(const struct rem_draft *draft, struct rem_column column, int64_t value);

// Puts a timestamp, in microseconds since 1970.
rem_status rem_put_timestamp(const struct rem_draft *draft,
                             struct rem_column column,
                             int64_t value);

// Puts a decimal, as its scaled integer: the low and the high word.
rem_status rem_put_decimal(const struct rem_draft *draft,
                           struct rem_column column,
                           int64_t low,
                           int64_t high);

// Puts text, which is UTF-8.
rem_status rem_put_text(const struct rem_draft *draft,
                        struct rem_column column,
                        const char *text,
                        size_t length);

// Puts the bytes of a column as they lie in rows: a blob, a binary, the elements of an array or
// a vector, one after the other.
rem_status rem_put_bytes(const struct rem_draft *draft,
                         struct rem_column column,
                         const void *bytes,
                         size_t length);

// Makes a column null.
rem_status rem_put_null(const struct rem_draft *draft, struct rem_column column);

// Puts any value.
rem_status rem_put_value(const struct rem_draft *draft,
                         struct rem_column column,
                         const struct rem_value *value);

// Inserts a draft as a new row; the draft stays. `id` may be null.
rem_status rem_insert(const struct rem_draft *draft, uint32_t *id);

// Puts a draft in the place of a row.
rem_status rem_update(const struct rem_draft *draft, uint32_t id);

// Deletes a row.
rem_status rem_delete(const struct rem_transaction *transaction,
                      struct rem_table table,
                      uint32_t id);

// The durability level that a commit has reached by now, on this machine: none of the two of a
// group.
rem_status rem_durability_of(const struct rem_database *database_token,
                             struct rem_ticket ticket,
                             uint32_t *out);

// What a majority of the group has of a commit, as far as this replica knows: `REM_REPLICATED`,
// `REM_REPLICATED_DISK`, or 0.
rem_status rem_replication_of(const struct rem_database *database_token,
                              struct rem_ticket ticket,
                              uint32_t *out);

// Waits until a commit has reached a durability level; this call sees to it.
rem_status rem_wait_for(const struct rem_database *database_token,
                        struct rem_ticket ticket,
                        uint32_t durability);

// Waits until transactions that begin see the commit with this timestamp, for so many microseconds
// at most: `REM_DEADLINE_REACHED` if they do not by then. Who has written to the leader of a group
// reads on a follower what they wrote.
rem_status rem_wait_for_timestamp(const struct rem_database *database_token,
                                  uint64_t timestamp,
                                  uint64_t time_us);

// Makes everything committed so far durable, at this level.
rem_status rem_flush(const struct rem_database *database_token, uint32_t durability);

// Writes an image beside the log and lets go what it makes needless.
rem_status rem_checkpoint(const struct rem_database *database_token);

// Writes an image into another folder, which is then a database of its own. `path` is UTF-8 with a
// final NUL.
rem_status rem_backup(const struct rem_database *database_token, const char *path);

// What was missing when the database was opened, as a text that stays until the thread asks again;
// null if nothing was. Such a database can only be read.
rem_status rem_damage(const struct rem_database *database_token, const char **out);

// Gives a key a value: in place of its value or, in a database with duplicates, besides those
// that it has. `flags` is 0, REM_KV_NO_OVERWRITE or REM_KV_NO_DUPLICATE.
rem_status rem_kv_put(const struct rem_transaction *transaction,
                      struct rem_kv kv,
                      struct rem_blob key,
                      struct rem_blob value,
                      uint32_t flags);

// Puts bytes in the place of the `length` bytes from `offset` on of a key's value, which grows or
// shrinks if they are more or fewer; beyond its end come zeros first. `REM_INVALID_OPTIONS` in a
// database with duplicates.
rem_status rem_kv_put_part(const struct rem_transaction *transaction,
                           struct rem_kv kv,
                           struct rem_blob key,
                           size_t offset,
                           size_t length,
                           struct rem_blob bytes);

// Removes all values of a key; `REM_NOT_FOUND` if it has none. `removed`, which may be null,
// receives how many.
rem_status rem_kv_delete(const struct rem_transaction *transaction,
                         struct rem_kv kv,
                         struct rem_blob key,
                         uint64_t *removed);

// Removes all records; `removed`, which may be null, receives how many.
rem_status rem_kv_truncate(const struct rem_transaction *transaction,
                           struct rem_kv kv,
                           uint64_t *removed);

// Opens a cursor; it stands nowhere.
rem_status rem_kv_cursor_open(const struct rem_transaction *transaction,
                              struct rem_kv kv,
                              struct rem_kv_cursor *out);

// Gives a cursor up before its transaction ends.
rem_status rem_kv_cursor_close(const struct rem_kv_cursor *cursor);

// Moves and gets the record. `mode` is REM_KV_FIRST .. REM_KV_PREV_NODUP; with REM_KV_SET,
// REM_KV_SET_RANGE and both REM_KV_GET_BOTH, `key` says what is sought, with the last two `value`
// as well. Both receive what was found; what is not sought may be null. With a cursor over a
// secondary database `value` is the primary's, and seeking both is `rem_kv_cursor_get_primary`'s.
rem_status rem_kv_cursor_get(const struct rem_kv_cursor *cursor,
                             uint32_t mode,
                             struct rem_blob *key,
                             struct rem_blob *value);

// As `rem_kv_cursor_get` for a cursor over a secondary database, with the primary key too: with
// both REM_KV_GET_BOTH it is what is sought besides `key`. `value` receives the primary's value.
// `REM_BAD_ARGUMENT` for other cursors.
rem_status rem_kv_cursor_get_primary(const struct rem_kv_cursor *cursor,
                                     uint32_t mode,
                                     struct rem_blob *key,
                                     struct rem_blob *primary_key,
                                     struct rem_blob *value);

// As `rem_kv_put` without flags, and moves to the record. `REM_INVALID_OPTIONS` with a cursor
// over a secondary database.
rem_status rem_kv_cursor_put(const struct rem_kv_cursor *cursor,
                             struct rem_blob key,
                             struct rem_blob value);

// Gives the record that it stands at another value. `REM_ROW_NOT_FOUND` if there is none,
// `REM_INVALID_OPTIONS` for a duplicate, whose place in the order its value is.
rem_status rem_kv_cursor_put_current(const struct rem_kv_cursor *cursor, struct rem_blob value);

// Removes the record that it stands at, over a secondary database the primary's. The next move
// goes to what was beside it. `REM_ROW_NOT_FOUND` if there is none.
rem_status rem_kv_cursor_delete(const struct rem_kv_cursor *cursor);

// How many values the key has that it stands at; 0 if it stands nowhere.
rem_status rem_kv_cursor_count(const struct rem_kv_cursor *cursor, uint64_t *out);

// Opens another cursor at the same position.
rem_status rem_kv_cursor_duplicate(const struct rem_kv_cursor *cursor, struct rem_kv_cursor *out);

// Copies the records that follow into a buffer of `size` bytes, as many as it holds whole, and
// moves to the last of them; `length` receives how many bytes they take, and `rem_kv_bulk_next`
// goes through them. `REM_NOT_FOUND` at the end. `REM_BUFFER_TOO_SMALL` if not even one fits;
// then `length` receives what that one takes. Over a secondary database the values are primary
// keys.
rem_status rem_kv_cursor_bulk(const struct rem_kv_cursor *cursor,
                              void *buffer,
                              size_t size,
                              size_t *length);

// Opens the key/value database of this name. `REM_UNKNOWN_TABLE` if there is none,
// `REM_SCHEMA_MISMATCH` if the table of this name is none.
rem_status rem_kv_find(const struct rem_database *db, const char *name, struct rem_kv *out);

// Opens a key/value database, and creates it if there is none of this name. `flags` are
// REM_KV_HASHED and REM_KV_DUPLICATES, `REM_SCHEMA_MISMATCH` if there is one with others.
rem_status rem_kv_open(const struct rem_database *db,
                       const char *name,
                       uint32_t flags,
                       struct rem_kv *out);

// Creates a key/value database; `REM_TABLE_EXISTS` if a table has this name.
rem_status rem_kv_create(const struct rem_database *db,
                         const char *name,
                         uint32_t flags,
                         struct rem_kv *out);

// Removes a key/value database and its records. It waits for transactions to end, those that only
// read too, and is `REM_TABLE_BUSY` if they do not; `REM_INVALID_OPTIONS` while it is a secondary
// or has some. Handles of it answer `REM_UNKNOWN_TABLE` from then on.
rem_status rem_kv_remove(const struct rem_database *db, const char *name);

// Gives a key/value database another name, by copying its records; `out` may be null. As
// `rem_kv_remove`; `REM_TABLE_EXISTS` if a table has the new name, `REM_CONFLICT` if somebody
// changed it meanwhile.
rem_status rem_kv_rename(const struct rem_database *db,
                         const char *name,
                         const char *new_name,
                         struct rem_kv *out);

// The name of a key/value database by its number, from 0 in the order of the names, with a final
// NUL; `REM_NOT_FOUND` behind the last. `length` receives the name's length, without the NUL.
rem_status rem_kv_name_at(const struct rem_database *db,
                          size_t number,
                          char *buffer,
                          size_t size,
                          size_t *length);

// What sort of key/value database it is: REM_KV_HASHED, REM_KV_DUPLICATES.
rem_status rem_kv_flags(const struct rem_database *db, struct rem_kv kv, uint32_t *out);

// Frees what deleted and replaced records have left behind, and gives unused memory of the whole
// database back to the system; `released`, which may be null, receives how many bytes.
rem_status rem_kv_compact(const struct rem_database *db, struct rem_kv kv, uint64_t *released);

// Gets the value of a key; of several the first.
rem_status rem_kv_get(const struct rem_transaction *transaction,
                      struct rem_kv kv,
                      struct rem_blob key,
                      struct rem_blob *out);

// Copies the value of a key into a buffer of `size` bytes. `length` receives the value's length,
// also where the buffer is too small for it: `REM_BUFFER_TOO_SMALL`, and nothing is copied.
rem_status rem_kv_get_into(const struct rem_transaction *transaction,
                           struct rem_kv kv,
                           struct rem_blob key,
                           void *buffer,
                           size_t size,
                           size_t *length);

// Gets, of the value of a key, the `length` bytes from `offset` on: fewer or none where it ends
// before.
rem_status rem_kv_get_part(const struct rem_transaction *transaction,
                           struct rem_kv kv,
                           struct rem_blob key,
                           size_t offset,
                           size_t length,
                           struct rem_blob *out);

// Gets the values of many keys at once, which overlaps their waits for memory. A key without a
// value gets one whose `data` is null.
rem_status rem_kv_get_batch(const struct rem_transaction *transaction,
                            struct rem_kv kv,
                            const struct rem_blob *keys,
                            size_t count,
                            struct rem_blob *values);

// Whether a key has a value.
rem_status rem_kv_exists(const struct rem_transaction *transaction,
                         struct rem_kv kv,
                         struct rem_blob key,
                         bool *out);

// Counts the records, by going through all of them.
rem_status rem_kv_count(const struct rem_transaction *transaction,
                        struct rem_kv kv,
                        struct rem_kv_statistics *out);

// Makes `secondary` lead from the keys that `extract` finds to the records of `primary`, from now
// on and in step with it. An empty one is filled with what is there already. `context` is handed
// to the function, and must be good until `rem_kv_dissociate` or `rem_close`. To be called anew
// whenever the database is opened, while no transaction is under way that has changed `primary`.
// `REM_INVALID_OPTIONS` if `primary` has duplicates or either is a secondary already.
rem_status rem_kv_associate(const struct rem_database *db,
                            struct rem_kv primary,
                            struct rem_kv secondary,
                            rem_kv_extract extract,
                            void *context,
                            struct rem_kv_secondary *out);

// Ends an association: the secondary database stays as it is and can be changed by itself again.
// Transactions that have changed the primary should have ended.
rem_status rem_kv_dissociate(const struct rem_database *db, struct rem_kv_secondary secondary);

// Adds a secondary key of a record; `keys` is what the function was given, and good until it
// returns. A key that was added already counts once.
rem_status rem_kv_key_add(const struct rem_kv_keys *keys, struct rem_blob key);

// Gets the primary key, which may be null, and the primary value that a secondary key leads to; of
// several the first. `REM_ROW_NOT_FOUND` if the two databases are out of step.
rem_status rem_kv_secondary_get(const struct rem_transaction *transaction,
                                struct rem_kv_secondary secondary,
                                struct rem_blob key,
                                struct rem_blob *primary_key,
                                struct rem_blob *value);

// Removes the primary records that a secondary key leads to; `REM_NOT_FOUND` if there are none.
// `removed`, which may be null, receives how many.
rem_status rem_kv_secondary_delete(const struct rem_transaction *transaction,
                                   struct rem_kv_secondary secondary,
                                   struct rem_blob key,
                                   uint64_t *removed);

// Opens a cursor that goes by secondary keys and gives the primary's records; it stands nowhere.
rem_status rem_kv_secondary_cursor_open(const struct rem_transaction *transaction,
                                        struct rem_kv_secondary secondary,
                                        struct rem_kv_cursor *out);

// Opens the sequence that a key keeps, and creates it if there is none; `options` may be null. Of
// one that is there, all but the cache counts that it was created with. `REM_WRONG_TYPE` if the
// key has another value, `REM_INVALID_OPTIONS` in a database with duplicates.
rem_status rem_kv_sequence_open(const struct rem_database *db,
                                struct rem_kv kv,
                                struct rem_blob key,
                                const struct rem_kv_sequence_options *options,
                                struct rem_kv_sequence *out);

// The next number, from the cache or in a transaction of its own. `REM_LIMIT_REACHED` if the
// sequence is used up, `REM_ROW_NOT_FOUND` if it was removed.
rem_status rem_kv_sequence_next(const struct rem_database *db,
                                struct rem_kv_sequence sequence,
                                int64_t *out);

// The next number in a transaction, past the cache: it is taken back if the transaction is.
rem_status rem_kv_sequence_next_in(const struct rem_transaction *transaction,
                                   struct rem_kv_sequence sequence,
                                   int64_t *out);

// Gives a handle up; the sequence stays. The numbers in its cache are lost.
rem_status rem_kv_sequence_close(const struct rem_database *db, struct rem_kv_sequence sequence);

// Removes a sequence with its record, and gives the handle up. Other handles of it give out what
// they have in their caches, and then answer `REM_ROW_NOT_FOUND`.
rem_status rem_kv_sequence_remove(const struct rem_database *db, struct rem_kv_sequence sequence);

// As `rem_kv_get_into`, in a transaction of its own.
rem_status rem_kv_get_one(const struct rem_database *db,
                          struct rem_kv kv,
                          struct rem_blob key,
                          void *buffer,
                          size_t size,
                          size_t *length);

// As `rem_kv_exists`, in a transaction of its own.
rem_status rem_kv_exists_one(const struct rem_database *db,
                             struct rem_kv kv,
                             struct rem_blob key,
                             bool *out);

// As `rem_kv_put`, in a transaction of its own, which has been committed when this returns.
rem_status rem_kv_put_one(const struct rem_database *db,
                          struct rem_kv kv,
                          struct rem_blob key,
                          struct rem_blob value,
                          uint32_t flags);

// As `rem_kv_delete`, in a transaction of its own.
rem_status rem_kv_delete_one(const struct rem_database *db,
                             struct rem_kv kv,
                             struct rem_blob key,
                             uint64_t *removed);

// What has happened since the database was opened, and how it stands.
rem_status rem_database_statistics(const struct rem_database *db, struct rem_statistics *out);

// Lists what each table takes of the memory, by name, as many as `capacity`; `count` receives how
// many there are. Takes as long as reading all rows and all indexes.
rem_status rem_memory_by_table(const struct rem_database *db,
                               struct rem_table_memory *tables,
                               size_t capacity,
                               size_t *count);

// Starts a replica, which opens its database in threads of its own; what goes wrong there,
// `rem_replica_failure` says. `REM_STORAGE_FAILED` if its folder cannot be made or a certificate
// cannot be read.
rem_status rem_replica_start(const struct rem_replica_options *options,
                             const struct rem_replica **out);

// A handle of the replica's database, which `rem_close` closes; waits for it for so many
// microseconds, and then `REM_DEADLINE_REACHED`. There is none while it is being opened, and it
// is not opened again before all handles of what it was are closed.
rem_status rem_replica_database(const struct rem_replica *token,
                                uint64_t time_us,
                                const struct rem_database **out);

// Waits until the replica leads and takes changes, for so many microseconds at most:
// `REM_DEADLINE_REACHED` if it does not by then.
rem_status rem_replica_wait_for_leadership(const struct rem_replica *token, uint64_t time_us);

// How the replica does.
rem_status rem_replica_status_of(const struct rem_replica *token, struct rem_replica_status *out);

// Lists the members of the group, as many as `capacity`; `count` receives how many there are.
rem_status rem_replica_members(const struct rem_replica *token,
                               struct rem_member *members,
                               size_t capacity,
                               size_t *count);

// The timestamp of a commit: who reads a state that has it, which `rem_wait_for_timestamp` waits
// for, reads all commits that anybody received before this call, on whatever replica.
// `REM_NOT_LEADER` if no leader is known, or no majority has confirmed it within some seconds.
rem_status rem_replica_newest_commit(const struct rem_replica *token, uint64_t *timestamp);

// Has a member leave the group, whether or not it runs: one that is gone for good, or has lost its
// folder. `REM_NOT_LEADER` if no leader is known, or it cannot do so now.
rem_status rem_replica_remove_member(const struct rem_replica *token, uint64_t id);

// Why the replica's database could not be opened or its address not be used, as a text that stays
// until the thread asks again; null if nothing went wrong.
rem_status rem_replica_failure(const struct rem_replica *token, const char **out);

// Ends the replica in order: what it has is on its disk. `REM_OPEN_HANDLES` while a handle of its
// database is open, or another call with the replica is under way.
rem_status rem_replica_stop(const struct rem_replica *token);

// Gets a Bool.
rem_status rem_get_bool(const struct rem_row *row, struct rem_column column, bool *out);

// Gets an I8.
rem_status rem_get_i8(const struct rem_row *row, struct rem_column column, int8_t *out);

// Gets an I16.
rem_status rem_get_i16(const struct rem_row *row, struct rem_column column, int16_t *out);

// Gets an I32.
rem_status rem_get_i32(const struct rem_row *row, struct rem_column column, int32_t *out);

// Gets an I64.
rem_status rem_get_i64(const struct rem_row *row, struct rem_column column, int64_t *out);

// Gets a U8.
rem_status rem_get_u8(const struct rem_row *row, struct rem_column column, uint8_t *out);

// Gets a U16.
rem_status rem_get_u16(const struct rem_row *row, struct rem_column column, uint16_t *out);

// Gets a U32.
rem_status rem_get_u32(const struct rem_row *row, struct rem_column column, uint32_t *out);

// Gets a U64.
rem_status rem_get_u64(const struct rem_row *row, struct rem_column column, uint64_t *out);

// Gets an F32.
rem_status rem_get_f32(const struct rem_row *row, struct rem_column column, float *out);

// Gets an F64.
rem_status rem_get_f64(const struct rem_row *row, struct rem_column column, double *out);

// Gets a date, in days since 1970.
rem_status rem_get_date(const struct rem_row *row, struct rem_column column, int32_t *out);

// Gets a time, in microseconds since midnight.
rem_status rem_get_time(const struct rem_row *row, struct rem_column column, int64_t *out);

// Gets a timestamp, in microseconds since 1970.
rem_status rem_get_timestamp(const struct rem_row *row, struct rem_column column, int64_t *out);

// Gets a decimal, as its scaled integer: the low and the high word. `high` may be null.
rem_status rem_get_decimal(const struct rem_row *row,
                           struct rem_column column,
                           int64_t *low,
                           int64_t *high);

// Gets text, without a final NUL: where it is, and how many bytes.
rem_status rem_get_text(const struct rem_row *row,
                        struct rem_column column,
                        const char **text,
                        size_t *length);

// Gets the bytes of a column as they lie in the row: a blob, a binary, the elements of an array
// or a vector (which need not be aligned), text, a number.
rem_status rem_get_bytes(const struct rem_row *row,
                         struct rem_column column,
                         const void **bytes,
                         size_t *length);

// Whether a column is null.
rem_status rem_is_null(const struct rem_row *row, struct rem_column column, bool *out);

// Gets any value; text and bytes are pointers into the row.
rem_status rem_get_value(const struct rem_row *row,
                         struct rem_column column,
                         struct rem_value *out);

// Makes a table.
rem_status rem_table_create(const struct rem_database *db,
                            const char *name,
                            const struct rem_column_schema *columns,
                            size_t columns_count,
                            const struct rem_index_schema *indexes,
                            size_t indexes_count,
                            struct rem_table *out);

// Makes the tables and sets of a schema text. `dialect`: 0 as the text looks, 1 mco-style,
// 2 d_-style.
rem_status rem_define(const struct rem_database *db,
                      const char *schema,
                      size_t length,
                      uint32_t dialect);

// Finds a table by its name.
rem_status rem_table_find(const struct rem_database *db, const char *name, struct rem_table *out);

// Drops a table with its rows.
rem_status rem_table_drop(const struct rem_database *db, struct rem_table table);

// The name of the table with this number in the order of names, with a final NUL, and its length
// without. `REM_NOT_FOUND` behind the last.
rem_status rem_table_name_at(const struct rem_database *db,
                             size_t number,
                             char *buffer,
                             size_t size,
                             size_t *length);

// Makes an index on a table with all rows that are there.
rem_status rem_index_create(const struct rem_database *db,
                            struct rem_table table,
                            const struct rem_index_schema *index,
                            struct rem_index *out);

// Drops an index.
rem_status rem_index_drop(const struct rem_database *db, struct rem_index index);

// Finds a column by its path, as `a` or `thing.a`.
rem_status rem_column_find(const struct rem_database *db,
                           struct rem_table table,
                           const char *path,
                           struct rem_column *out);

// Finds an index by its name; that of the primary key is `primary`.
rem_status rem_index_find(const struct rem_database *db,
                          struct rem_table table,
                          const char *name,
                          struct rem_index *out);

// Finds a row by a whole key; `REM_NOT_FOUND` if there is none.
rem_status rem_find(const struct rem_transaction *transaction,
                    struct rem_index index,
                    const struct rem_value *key,
                    size_t count,
                    struct rem_row *out);

// The row with this number; `REM_NOT_FOUND` if there is none.
rem_status rem_row_at(const struct rem_transaction *transaction,
                      struct rem_table table,
                      uint32_t id,
                      struct rem_row *out);

// Opens a cursor on an ordered index; it stands nowhere.
rem_status rem_cursor_open(const struct rem_transaction *transaction,
                           struct rem_index index,
                           struct rem_cursor *out);

// Opens a scan of a table, for `rem_cursor_next` alone.
rem_status rem_scan_open(const struct rem_transaction *transaction,
                         struct rem_table table,
                         struct rem_cursor *out);

// Gives a cursor or a scan up before its transaction ends.
rem_status rem_cursor_close(const struct rem_cursor *cursor);

// Goes to the row nearest to a key, or to one that begins so. `way` is REM_EQUAL .. REM_BELOW.
rem_status rem_cursor_find(const struct rem_cursor *cursor,
                           uint32_t way,
                           const struct rem_value *key,
                           size_t count,
                           struct rem_row *out);

// Goes to the first row; `REM_NOT_FOUND` if there is none.
rem_status rem_cursor_first(const struct rem_cursor *cursor, struct rem_row *out);

// Goes to the last row; `REM_NOT_FOUND` if there is none.
rem_status rem_cursor_last(const struct rem_cursor *cursor, struct rem_row *out);

// Goes to the next row; `REM_NOT_FOUND` behind the last.
rem_status rem_cursor_next(const struct rem_cursor *cursor, struct rem_row *out);

// Goes to the previous row; `REM_NOT_FOUND` before the first.
rem_status rem_cursor_previous(const struct rem_cursor *cursor, struct rem_row *out);

// Finds a set by its name.
rem_status rem_set_find(const struct rem_database *db, const char *name, struct rem_set *out);

// Makes a row a member of an owner, at the place that the set's order says; in a set in order
// next, before all others. `REM_ALREADY_MEMBER` if it has an owner.
rem_status rem_connect(const struct rem_transaction *transaction,
                       struct rem_set set,
                       uint32_t owner,
                       struct rem_table table,
                       uint32_t member);

// As `rem_connect`; in a set in order next, behind the member `after` of the same owner.
rem_status rem_connect_after(const struct rem_transaction *transaction,
                             struct rem_set set,
                             uint32_t owner,
                             struct rem_table table,
                             uint32_t member,
                             struct rem_table after_table,
                             uint32_t after);

// Ends a row's membership; `REM_NOT_MEMBER` if it has no owner.
rem_status rem_disconnect(const struct rem_transaction *transaction,
                          struct rem_set set,
                          struct rem_table table,
                          uint32_t member);

// Gives a member another owner.
rem_status rem_reconnect(const struct rem_transaction *transaction,
                         struct rem_set set,
                         uint32_t owner,
                         struct rem_table table,
                         uint32_t member);

// Gets the owner of a member; `REM_NOT_MEMBER` if it has none.
rem_status rem_owner_of(const struct rem_transaction *transaction,
                        struct rem_set set,
                        struct rem_table table,
                        uint32_t member,
                        struct rem_row *out);

// Gets the first member of an owner; `REM_NOT_FOUND` if there is none.
rem_status rem_member_first(const struct rem_transaction *transaction,
                            struct rem_set set,
                            uint32_t owner,
                            struct rem_row *out);

// Gets the last member of an owner; `REM_NOT_FOUND` if there is none.
rem_status rem_member_last(const struct rem_transaction *transaction,
                           struct rem_set set,
                           uint32_t owner,
                           struct rem_row *out);

// Gets the member behind another; `REM_NOT_FOUND` behind the last one, `REM_NOT_MEMBER` if the
// row has no owner. `out` may be where the row came from.
rem_status rem_member_next(const struct rem_transaction *transaction,
                           struct rem_set set,
                           struct rem_table table,
                           uint32_t member,
                           struct rem_row *out);

// Gets the member before another; as `rem_member_next`.
rem_status rem_member_previous(const struct rem_transaction *transaction,
                               struct rem_set set,
                               struct rem_table table,
                               uint32_t member,
                               struct rem_row *out);

// What the thread's last error of the engine was about; valid until the next one.
const char *rem_error_text(void);

// The name of a status, as `REM_CONFLICT`; never null.
const char *rem_status_name(rem_status status);

// The SQLSTATE of a status; never null.
const char *rem_status_sqlstate(rem_status status);

// The version of the library.
const char *rem_version(void);

// Begins a transaction that reads. `options` may be null.
rem_status rem_begin_read(const struct rem_database *database,
                          const struct rem_transaction_options *options,
                          const struct rem_transaction **out);

// Begins a transaction that writes. `options` may be null.
rem_status rem_begin_write(const struct rem_database *database,
                           const struct rem_transaction_options *options,
                           const struct rem_transaction **out);

// Commits, and ends the transaction; it has ended if this fails, too.
rem_status rem_commit(const struct rem_transaction *transaction);

// As `rem_commit`, and gives a ticket to ask about the commit later.
rem_status rem_commit_with_ticket(const struct rem_transaction *transaction,
                                  struct rem_ticket *out);

// Takes back what the transaction wrote, and ends it.
rem_status rem_rollback(const struct rem_transaction *transaction);

// A point to roll back to.
rem_status rem_savepoint_set(const struct rem_transaction *transaction, struct rem_savepoint *out);

// Takes back what was written since a savepoint, which stays; later ones end.
rem_status rem_rollback_to(const struct rem_savepoint *savepoint);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* REMANENT_H */

/* Values of keys, to be written in place: rem_find(tx, index, (rem_value[]){rem_u32(1)}, 1, &row) */
static inline rem_value rem_i32(int32_t number) {
    rem_value value;
    value.kind = REM_I32;
    value.length = 0;
    value.word.integer = number;
    return value;
}
static inline rem_value rem_i64(int64_t number) {
    rem_value value;
    value.kind = REM_I64;
    value.length = 0;
    value.word.integer = number;
    return value;
}
static inline rem_value rem_u32(uint32_t number) {
    rem_value value;
    value.kind = REM_U32;
    value.length = 0;
    value.word.natural = number;
    return value;
}
static inline rem_value rem_u64(uint64_t number) {
    rem_value value;
    value.kind = REM_U64;
    value.length = 0;
    value.word.natural = number;
    return value;
}
static inline rem_value rem_f64(double number) {
    rem_value value;
    value.kind = REM_F64;
    value.length = 0;
    value.word.real = number;
    return value;
}
static inline rem_value rem_text(const char *text, size_t length) {
    rem_value value;
    value.kind = REM_STRING;
    value.length = (uint32_t)length;
    value.word.data = text;
    return value;
}
static inline rem_value rem_bytes(const void *bytes, size_t length) {
    rem_value value;
    value.kind = REM_BLOB;
    value.length = (uint32_t)length;
    value.word.data = bytes;
    return value;
}
/* Keys and values of key/value databases. */
static inline rem_blob rem_blob_of(const void *data, size_t length) {
    rem_blob blob;
    blob.data = data;
    blob.length = length;
    return blob;
}
/* Takes the next record off what rem_kv_cursor_bulk has copied; false if there is none. */
static inline bool rem_kv_bulk_next(rem_blob *rest, rem_blob *key, rem_blob *value) {
    const unsigned char *at = (const unsigned char *)rest->data;
    size_t key_length = 0, value_length = 0, left, i;
    if (rest->length < 8)
        return false;
    left = rest->length - 8;
    for (i = 0; i < 4; i++) {
        key_length |= (size_t)at[i] << (8 * i);
        value_length |= (size_t)at[4 + i] << (8 * i);
    }
    if (left < key_length || left - key_length < value_length)
        return false;
    *key = rem_blob_of(at + 8, key_length);
    *value = rem_blob_of(at + 8 + key_length, value_length);
    *rest = rem_blob_of(at + 8 + key_length + value_length, left - key_length - value_length);
    return true;
}
