/* The mco-style runtime of Remanent.
 *
 * A schema file is compiled by `remanent ddl c FILE.mco`; the header it writes includes this one
 * and holds static inline functions alone (Class_new, Class_field_put, ..), which call the
 * `rem_mco_*` functions below. Programs call `mco_*` and the generated functions.
 *
 * What always holds: every function returns a status and never reads or writes through a handle
 * before the handle's token was checked; a transaction belongs to the thread that started it.
 * docs/mco-style.md says what each status means and which choices were made.
 * C11 and C++17. Not to be included together with remanent_d.h in one source file.
 */
#ifndef REMANENT_MCO_H
#define REMANENT_MCO_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Names of the style ---------------------------------------------------------------- */

typedef uint8_t uint1;
typedef uint16_t uint2;
typedef uint32_t uint4;
typedef uint64_t uint8;
typedef int8_t int1;
typedef int16_t int2;
typedef int32_t int4;
typedef int64_t int8;
typedef size_t mco_size_t;

typedef int MCO_RET;

/* Statuses: not errors. */
#define MCO_S_OK 0
#define MCO_S_NOTFOUND 10
#define MCO_S_CURSOR_END 11
#define MCO_S_CURSOR_EMPTY 12
#define MCO_S_DUPLICATE 13

/* Errors. */
#define MCO_E_NOMEM 52
#define MCO_E_ACCESS 53
#define MCO_E_TRANSACT 54
#define MCO_E_CURSOR_INVALID 60
#define MCO_E_ILLEGAL_PARAM 62
#define MCO_E_CURSOR_MISMATCH 63
#define MCO_E_DELETED 64
#define MCO_E_INSTANCE_DUPLICATE 66
#define MCO_E_UPGRADE_FAILED 67
#define MCO_E_NOINSTANCE 68
#define MCO_E_OPENED_SESSIONS 69
#define MCO_E_PAGESIZE 70
#define MCO_E_WRITE_STREAM 71
#define MCO_E_READ_STREAM 72
#define MCO_E_LOAD_DICT 73
#define MCO_E_LOAD_DATA 74
#define MCO_E_VOLUNTARY_NOT_EXIST 76
#define MCO_E_SESLIMIT 82
#define MCO_E_INSTANCES_LIMIT 83
#define MCO_E_CONFLICT 87

/* Errors of this implementation. */
#define MCO_E_ILLEGAL_HANDLE 1000   /* an object or connection handle that refers to nothing */
#define MCO_E_WRONG_THREAD 1001     /* the transaction belongs to another thread */
#define MCO_E_ILLEGAL_SCHEMA 1002   /* the dictionary's text or version is not understood */
#define MCO_E_NOT_SUPPORTED 1003    /* this database cannot do that */
#define MCO_E_TOO_LONG 1004         /* a value is longer than its field allows */

/* Fatal codes: passed to the error handler too. */
#define MCO_ERR_BASE 100000
#define MCO_ERR_INTERNAL 100001     /* a fault of the library; roll the transaction back */

typedef enum MCO_TRANS_TYPE {
    MCO_READ_ONLY = 0,
    MCO_UPDATE = 1,
    MCO_READ_WRITE = 2,
    MCO_EXCLUSIVE = 3
} MCO_TRANS_TYPE;

typedef enum MCO_TRANS_PRIORITY {
    MCO_TRANS_IDLE = -2,
    MCO_TRANS_BACKGROUND = -1,
    MCO_TRANS_FOREGROUND = 0,
    MCO_TRANS_HIGH = 1,
    MCO_TRANS_ISR = 2
} MCO_TRANS_PRIORITY;

typedef enum MCO_TRANS_ISOLATION_LEVEL {
    MCO_DEFAULT_ISOLATION_LEVEL = 0,
    MCO_READ_COMMITTED = 1,
    MCO_REPEATABLE_READ = 2,
    MCO_SERIALIZABLE = 4
} MCO_TRANS_ISOLATION_LEVEL;

typedef enum MCO_OPCODE {
    MCO_LT = 1,
    MCO_LE = 2,
    MCO_EQ = 3,
    MCO_GE = 4,
    MCO_GT = 5
} MCO_OPCODE;

typedef enum MCO_EVENT_TYPE {
    MCO_EVENT_NEW = 1,
    MCO_EVENT_UPDATE = 2,
    MCO_EVENT_DELETE = 3,
    MCO_EVENT_DELETE_ALL = 4,
    MCO_EVENT_CHECKPOINT = 5
} MCO_EVENT_TYPE;

/* A schema as the generated header embeds it: canonical text, one string for each line, then 0. */
#define REM_MCO_ABI 1u
typedef struct rem_mco_dictionary {
    uint32_t abi;               /* REM_MCO_ABI */
    const char *name;           /* of the schema */
    const char *const *text;    /* lines with their newlines, ended by a null pointer */
} rem_mco_dictionary;

typedef const rem_mco_dictionary *mco_dictionary_h;
typedef struct rem_mco_connection *mco_db_h;        /* a token, never a pointer to anything */
typedef struct rem_mco_transaction *mco_trans_h;    /* a token, never a pointer to anything */

/* A position in an index or in a class's list, within one transaction. A plain value: copies of
 * it move the same position. Its members are not for programs. */
typedef struct mco_cursor_t {
    uint64_t transaction;
    uint32_t slot;
    uint32_t number;
    uint32_t class_id;
    uint32_t index;
} mco_cursor_t, *mco_cursor_h;

/* ---- Runtime, databases, connections --------------------------------------------------- */

typedef void (*mco_error_handler)(MCO_RET fatal);

MCO_RET mco_runtime_start(void);    /* not needed: the first call starts it */
MCO_RET mco_runtime_stop(void);     /* E_OPENED_SESSIONS while a database is open */
mco_error_handler mco_error_set_handler(mco_error_handler handler);  /* returns the one before */
const char *mco_strerror(MCO_RET status);       /* never null, valid for ever */
const char *mco_error_text(void);               /* what the thread's last error was about */
const char *mco_get_version(void);

/* Makes a database in the caller's memory, which stays the caller's and must outlive it. */
MCO_RET mco_db_open(const char *name, mco_dictionary_h dictionary, void *memory, mco_size_t size,
                    uint2 page_size);
MCO_RET mco_db_close(const char *name);         /* E_OPENED_SESSIONS while somebody is connected */
MCO_RET mco_db_connect(const char *name, mco_db_h *out);
MCO_RET mco_db_disconnect(mco_db_h db);         /* E_TRANSACT while it has a transaction */
MCO_RET mco_db_extend(mco_db_h db, void *memory, mco_size_t size);
MCO_RET mco_page_size(mco_db_h db, uint2 *out);
MCO_RET mco_db_total_pages(mco_db_h db, uint4 *out);
MCO_RET mco_db_free_pages(mco_db_h db, uint4 *out);

/* Both return the number of bytes moved; less than asked for ends the stream. */
typedef mco_size_t (*mco_stream_write)(void *stream, const void *from, mco_size_t nbytes);
typedef mco_size_t (*mco_stream_read)(void *stream, void *to, mco_size_t nbytes_max);

MCO_RET mco_db_save(void *stream, mco_stream_write write, mco_db_h db);
/* As mco_db_open, with the content that was saved. Nothing is open after a failure. */
MCO_RET mco_db_load(void *stream, mco_stream_read read, const char *name,
                    mco_dictionary_h dictionary, void *memory, mco_size_t size, uint2 page_size);

/* ---- Transactions ---------------------------------------------------------------------- */

MCO_RET mco_trans_start(mco_db_h db, MCO_TRANS_TYPE type, MCO_TRANS_PRIORITY priority,
                        mco_trans_h *out);
MCO_RET mco_trans_start_ex(mco_db_h db, MCO_TRANS_TYPE type, MCO_TRANS_PRIORITY priority,
                           MCO_TRANS_ISOLATION_LEVEL isolation, mco_trans_h *out);
MCO_RET mco_trans_upgrade(mco_trans_h t);
MCO_RET mco_trans_commit(mco_trans_h t);        /* the transaction has ended, whatever it returns */
MCO_RET mco_trans_rollback(mco_trans_h t);

/* ---- Cursors --------------------------------------------------------------------------- */

MCO_RET mco_cursor_first(mco_trans_h t, mco_cursor_h cursor);
MCO_RET mco_cursor_last(mco_trans_h t, mco_cursor_h cursor);
MCO_RET mco_cursor_next(mco_trans_h t, mco_cursor_h cursor);
MCO_RET mco_cursor_prev(mco_trans_h t, mco_cursor_h cursor);
MCO_RET mco_cursor_close(mco_trans_h t, mco_cursor_h cursor);

/* ==== What generated functions call ===================================================== */

/* class_id: ordinal of the class in the schema. leaf: ordinal in the row layout of the class's
 * table (struct columns count as their fields; an optional struct has one leaf more, before them,
 * which says whether it is there). index: ordinal of the index in the table's schema. */

/* An object of a class: the row that was found, or the draft that is being edited. */
typedef struct rem_mco_object {
    uint64_t transaction;
    const void *row;
    uint32_t length;
    uint32_t class_id;
    uint32_t row_id;
    uint32_t draft;
} rem_mco_object;

#define REM_MCO_NO_ELEMENT 0xffffffffu

/* A struct within an object. element == REM_MCO_NO_ELEMENT: its fields are leaves of the row from
 * `leaf` on. Else an element of an array (stride != 0, fields at their C offsets) or of a
 * vector<struct> (stride == 0, fields by number). `field` and `offset` are where a struct within
 * that element begins. */
typedef struct rem_mco_struct {
    rem_mco_object object;
    uint32_t leaf;
    uint32_t element;
    uint32_t stride;
    uint32_t field;
    uint32_t offset;
} rem_mco_struct;

/* One part of a key: the bytes of a scalar as C has it, or text. */
typedef struct rem_mco_key {
    const void *value;
    uint32_t length;
} rem_mco_key;

/* ---- Objects. E_ACCESS in a transaction that only reads. */
MCO_RET rem_mco_new(mco_trans_h t, uint32_t class_id, rem_mco_object *out);
MCO_RET rem_mco_delete(rem_mco_object *o);
MCO_RET rem_mco_delete_all(mco_trans_h t, uint32_t class_id);
/* Makes the changes of this object visible to indexes within the transaction. */
MCO_RET rem_mco_checkpoint(rem_mco_object *o);

/* ---- Scalars: the bytes as C has them; `size` must be the field's.
 * numeric and decimal: the scaled integer, 8 bytes up to 18 digits, else 16 (low word first).
 * bool: one byte. date: days since 1970, int32. time, datetime: microseconds, int64. */
MCO_RET rem_mco_put_fixed(rem_mco_object *o, uint32_t leaf, const void *value, uint32_t size);
MCO_RET rem_mco_get_fixed(const rem_mco_object *o, uint32_t leaf, void *value, uint32_t size);

/* ---- Text: any bytes. What does not fit the buffer is cut, the length is always the full one;
 * NUL is added if there is room. `length` may be null. */
MCO_RET rem_mco_put_text(rem_mco_object *o, uint32_t leaf, const char *text, uint32_t length);
MCO_RET rem_mco_get_text(const rem_mco_object *o, uint32_t leaf, char *buffer, uint32_t size,
                         uint2 *length);
/* The same in characters of `width` bytes (2: UTF-16, 4: UTF-32); lengths count characters. */
MCO_RET rem_mco_put_wide(rem_mco_object *o, uint32_t leaf, const void *text, uint32_t length,
                         uint32_t width);
MCO_RET rem_mco_get_wide(const rem_mco_object *o, uint32_t leaf, void *buffer, uint32_t size,
                         uint32_t width, uint2 *length);

/* ---- Size of a field: bytes of text, blobs and binaries; elements of arrays and vectors. */
MCO_RET rem_mco_size(const rem_mco_object *o, uint32_t leaf, uint32_t *out);

/* ---- Null. Setting not-null makes a null field zero or empty, an absent struct present. */
MCO_RET rem_mco_get_null(const rem_mco_object *o, uint32_t leaf, uint1 *is_null);
MCO_RET rem_mco_put_null(rem_mco_object *o, uint32_t leaf, uint1 is_null);

/* ---- Blobs and binaries (a binary is filled up with zeros). */
MCO_RET rem_mco_blob_put(rem_mco_object *o, uint32_t leaf, const void *from, uint32_t length);
MCO_RET rem_mco_blob_append(rem_mco_object *o, uint32_t leaf, const void *from, uint32_t length);
MCO_RET rem_mco_blob_get(const rem_mco_object *o, uint32_t leaf, uint32_t offset, void *buffer,
                         uint32_t size, uint32_t *length);

/* ---- Parts of a fixed array, by byte offset: an element, a range, a field of an element.
 * The text forms are for char<n> within arrays: `capacity` bytes, filled up with NUL. */
MCO_RET rem_mco_part_put(rem_mco_object *o, uint32_t leaf, uint32_t offset, const void *value,
                         uint32_t size);
MCO_RET rem_mco_part_get(const rem_mco_object *o, uint32_t leaf, uint32_t offset, void *value,
                         uint32_t size);
MCO_RET rem_mco_part_put_text(rem_mco_object *o, uint32_t leaf, uint32_t offset,
                              uint32_t capacity, const char *text, uint32_t length);
MCO_RET rem_mco_part_get_text(const rem_mco_object *o, uint32_t leaf, uint32_t offset,
                              uint32_t capacity, char *buffer, uint32_t size, uint2 *length);

/* ---- vector<scalar>: `size` is that of one element. E_ILLEGAL_PARAM outside the vector. */
MCO_RET rem_mco_vector_alloc(rem_mco_object *o, uint32_t leaf, uint32_t count);
MCO_RET rem_mco_vector_put(rem_mco_object *o, uint32_t leaf, uint32_t index, uint32_t count,
                           const void *from, uint32_t size);
MCO_RET rem_mco_vector_get(const rem_mco_object *o, uint32_t leaf, uint32_t index,
                           uint32_t count, void *to, uint32_t size);
/* Removes elements; those behind move up. */
MCO_RET rem_mco_vector_erase(rem_mco_object *o, uint32_t leaf, uint32_t index, uint32_t count);

/* ---- vector<string> and vector<struct>: packed in a blob, elements of any length. */
MCO_RET rem_mco_packed_alloc(rem_mco_object *o, uint32_t leaf, uint32_t count);
MCO_RET rem_mco_packed_size(const rem_mco_object *o, uint32_t leaf, uint32_t *count);
MCO_RET rem_mco_packed_erase(rem_mco_object *o, uint32_t leaf, uint32_t index, uint32_t count);
MCO_RET rem_mco_packed_put_text(rem_mco_object *o, uint32_t leaf, uint32_t index,
                                const char *text, uint32_t length);
MCO_RET rem_mco_packed_get_text(const rem_mco_object *o, uint32_t leaf, uint32_t index,
                                char *buffer, uint32_t size, uint2 *length);

/* ---- Structs. _read_handle: `write` 0; S_NOTFOUND if an optional struct is absent.
 * _write_handle: `write` 1; makes an optional struct present, E_ACCESS when only reading.
 * `presence`: leaf that says whether it is there, or REM_MCO_NO_ELEMENT. */
MCO_RET rem_mco_struct_of(rem_mco_object *o, uint32_t presence, uint32_t leaf, uint32_t element,
                          uint32_t stride, int write, rem_mco_struct *out);
/* A struct within a struct: its first field's number and its C offset within the outer one. */
MCO_RET rem_mco_struct_within(const rem_mco_struct *outer, uint32_t field, uint32_t offset,
                              rem_mco_struct *out);
/* Fields: `field` is the number of the leaf within the struct, `offset` its C offset (of use in
 * arrays alone), `capacity` the n of a char<n> (of use in arrays alone). */
MCO_RET rem_mco_struct_put_fixed(rem_mco_struct *s, uint32_t field, uint32_t offset,
                                 const void *value, uint32_t size);
MCO_RET rem_mco_struct_get_fixed(const rem_mco_struct *s, uint32_t field, uint32_t offset,
                                 void *value, uint32_t size);
MCO_RET rem_mco_struct_put_text(rem_mco_struct *s, uint32_t field, uint32_t offset,
                                uint32_t capacity, const char *text, uint32_t length);
MCO_RET rem_mco_struct_get_text(const rem_mco_struct *s, uint32_t field, uint32_t offset,
                                uint32_t capacity, char *buffer, uint32_t size, uint2 *length);

/* ---- Indexes and lists. */
/* S_CURSOR_EMPTY if there is nothing in it; the cursor can be used all the same. */
MCO_RET rem_mco_index_cursor(mco_trans_h t, uint32_t class_id, uint32_t index,
                             mco_cursor_t *out);
MCO_RET rem_mco_list_cursor(mco_trans_h t, uint32_t class_id, mco_cursor_t *out);
MCO_RET rem_mco_search(mco_trans_h t, mco_cursor_t *cursor, uint32_t class_id, uint32_t index,
                       MCO_OPCODE opcode, const rem_mco_key *keys, uint32_t count);
MCO_RET rem_mco_find(mco_trans_h t, uint32_t class_id, uint32_t index, const rem_mco_key *keys,
                     uint32_t count, rem_mco_object *out);
MCO_RET rem_mco_from_cursor(mco_trans_h t, const mco_cursor_t *cursor, uint32_t class_id,
                            rem_mco_object *out);
/* Puts a cursor on an object that was found. */
MCO_RET rem_mco_locate(mco_trans_h t, mco_cursor_t *cursor, uint32_t class_id, uint32_t index,
                       const rem_mco_object *o);
/* The key at the cursor against the given one: below 0, 0, above 0, in the index's order. */
MCO_RET rem_mco_compare(mco_trans_h t, const mco_cursor_t *cursor, uint32_t class_id,
                        uint32_t index, const rem_mco_key *keys, uint32_t count, int *result);

/* ---- Events: handlers are called by the thread and within the transaction that caused them:
 * new and update when the change reaches the indexes, delete before, checkpoint after. `leaf`:
 * for updates of one field, else REM_MCO_NO_ELEMENT. What a handler returns, if not S_OK, latches
 * as the failure of a put does. */
typedef MCO_RET (*rem_mco_handler)(mco_trans_h t, rem_mco_object *o, MCO_EVENT_TYPE type,
                                   void *param);
MCO_RET rem_mco_register(mco_trans_h t, uint32_t class_id, MCO_EVENT_TYPE type, uint32_t leaf,
                         rem_mco_handler handler, void *param);
MCO_RET rem_mco_unregister(mco_trans_h t, uint32_t class_id, MCO_EVENT_TYPE type, uint32_t leaf,
                           rem_mco_handler handler);

#ifdef __cplusplus
}
#endif

#endif
