/* Berkeley DB behind a few plain calls.
 *
 * DB and DB_ENV are structures of function pointers whose layout belongs to db.h; this file is
 * compiled against the installed one, so that Rust needs to know no layout. lab_bdb_put and
 * lab_bdb_get are one whole transaction each where the environment has transactions, and one
 * thread owns the handle. With LAB_SHARED threads share it (DB_THREAD), and each begins and ends
 * transactions of its own with the calls at the end of this file: pages have versions
 * (DB_MULTIVERSION), readers are snapshots (DB_TXN_SNAPSHOT) that take no lock on a page, and
 * the lock manager looks for deadlocks at every wait. The environment is always private.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <db.h>

enum {
    LAB_TRANSACTIONS = 1, /* TDS: transactions, locks, log; otherwise DS */
    LAB_LOG_IN_MEMORY = 2,
    LAB_FILE = 4, /* the database lies in home, otherwise in memory */
    LAB_NOSYNC = 8,
    LAB_WRITE_NOSYNC = 16,
    LAB_SHARED = 32 /* threads, versions of pages, snapshots */
};

#define LOG_BUFFER_BYTES (8u << 20)
#define PAGE_BYTES 8192u
#define LOCKS_MAX 20000u
#define TRANSACTIONS_MAX 1000u

typedef struct lab_bdb {
    DB_ENV *env;
    DB *db;
    int transactions;
} lab_bdb;

const char *lab_bdb_version(void) { return db_version(NULL, NULL, NULL); }

const char *lab_bdb_error(int code) { return db_strerror(code); }

int lab_bdb_close(lab_bdb *handle)
{
    int result = 0, later;
    if (handle->db != NULL)
        result = handle->db->close(handle->db, 0);
    if (handle->env != NULL) {
        later = handle->env->close(handle->env, 0);
        if (result == 0)
            result = later;
    }
    free(handle);
    return result;
}

/* A snapshot holds its transaction until its versions are gone, hence so many. */
static int configure_shared(DB_ENV *env)
{
    int result = env->set_lk_detect(env, DB_LOCK_DEFAULT);
    if (result == 0)
        result = env->set_lk_max_lockers(env, LOCKS_MAX);
    if (result == 0)
        result = env->set_lk_max_locks(env, LOCKS_MAX);
    if (result == 0)
        result = env->set_lk_max_objects(env, LOCKS_MAX);
    if (result == 0)
        result = env->set_tx_max(env, TRANSACTIONS_MAX);
    return result;
}

static int configure(DB_ENV *env, int flags, uint64_t cache_bytes)
{
    int result = env->set_cachesize(env, (u_int32_t)(cache_bytes >> 30),
                                    (u_int32_t)(cache_bytes & ((1u << 30) - 1)), 1);
    if (result != 0 || !(flags & LAB_TRANSACTIONS))
        return result;
    if ((result = env->set_lg_bsize(env, LOG_BUFFER_BYTES)) != 0)
        return result;
    if ((flags & LAB_SHARED) && (result = configure_shared(env)) != 0)
        return result;
    if (flags & LAB_LOG_IN_MEMORY)
        return env->log_set_config(env, DB_LOG_IN_MEMORY, 1);
    if (flags & LAB_NOSYNC)
        return env->set_flags(env, DB_TXN_NOSYNC, 1);
    if (flags & LAB_WRITE_NOSYNC)
        return env->set_flags(env, DB_TXN_WRITE_NOSYNC, 1);
    return 0;
}

static int open_handles(lab_bdb *handle, const char *home, int flags, uint64_t cache_bytes)
{
    u_int32_t subsystems = DB_CREATE | DB_PRIVATE | DB_INIT_MPOOL;
    u_int32_t creating = DB_CREATE;
    int result;

    if ((result = db_env_create(&handle->env, 0)) != 0)
        return result;
    if ((result = configure(handle->env, flags, cache_bytes)) != 0)
        return result;
    if (flags & LAB_TRANSACTIONS) {
        subsystems |= DB_INIT_TXN | DB_INIT_LOG | DB_INIT_LOCK;
        creating |= DB_AUTO_COMMIT;
    }
    if (flags & LAB_SHARED) {
        subsystems |= DB_THREAD;
        creating |= DB_THREAD | DB_MULTIVERSION;
    }
    if ((result = handle->env->open(handle->env, home, subsystems, 0644)) != 0)
        return result;
    if ((result = db_create(&handle->db, handle->env, 0)) != 0)
        return result;
    if ((result = handle->db->set_pagesize(handle->db, PAGE_BYTES)) != 0)
        return result;
    if (flags & LAB_FILE)
        return handle->db->open(handle->db, NULL, "measures.db", NULL, DB_BTREE, creating, 0644);
    /* A named database in memory is never written to a temporary file. */
    return handle->db->open(handle->db, NULL, NULL, "measures", DB_BTREE, creating, 0644);
}

int lab_bdb_open(const char *home, int flags, uint64_t cache_bytes, lab_bdb **made)
{
    lab_bdb *handle = calloc(1, sizeof *handle);
    int result;
    if (handle == NULL)
        return DB_RUNRECOVERY;
    handle->transactions = (flags & LAB_TRANSACTIONS) != 0;
    if ((result = open_handles(handle, home, flags, cache_bytes)) != 0) {
        lab_bdb_close(handle);
        return result;
    }
    *made = handle;
    return 0;
}

int lab_bdb_put(lab_bdb *handle, const void *key, uint32_t key_len, const void *value,
                uint32_t value_len)
{
    DBT name, data;
    DB_TXN *txn = NULL;
    int result;

    memset(&name, 0, sizeof name);
    memset(&data, 0, sizeof data);
    name.data = (void *)key;
    name.size = key_len;
    data.data = (void *)value;
    data.size = value_len;
    if (!handle->transactions)
        return handle->db->put(handle->db, NULL, &name, &data, DB_NOOVERWRITE);
    if ((result = handle->env->txn_begin(handle->env, NULL, &txn, 0)) != 0)
        return result;
    if ((result = handle->db->put(handle->db, txn, &name, &data, DB_NOOVERWRITE)) != 0) {
        txn->abort(txn);
        return result;
    }
    return txn->commit(txn, 0);
}

/* The caller's buffer receives the value: one copy, none in between. */
int lab_bdb_get(lab_bdb *handle, const void *key, uint32_t key_len, void *buffer,
                uint32_t capacity, uint32_t *value_len)
{
    DBT name, data;
    DB_TXN *txn = NULL;
    int result, ended;

    memset(&name, 0, sizeof name);
    memset(&data, 0, sizeof data);
    name.data = (void *)key;
    name.size = key_len;
    data.data = buffer;
    data.ulen = capacity;
    data.flags = DB_DBT_USERMEM;
    if (handle->transactions &&
        (result = handle->env->txn_begin(handle->env, NULL, &txn, 0)) != 0)
        return result;
    result = handle->db->get(handle->db, txn, &name, &data, 0);
    if (txn != NULL && (ended = txn->commit(txn, 0)) != 0 && result == 0)
        result = ended;
    *value_len = data.size;
    return result;
}

int lab_bdb_is_absent(int code) { return code == DB_NOTFOUND; }

/* Whether a transaction was given up for another one and may be tried again. */
int lab_bdb_is_aborted(int code) { return code == DB_LOCK_DEADLOCK || code == DB_LOCK_NOTGRANTED; }

int lab_bdb_begin(lab_bdb *handle, int snapshot, void **begun)
{
    return handle->env->txn_begin(handle->env, NULL, (DB_TXN **)begun,
                                  snapshot ? DB_TXN_SNAPSHOT : 0);
}

int lab_bdb_commit(void *begun)
{
    DB_TXN *txn = begun;
    return txn->commit(txn, 0);
}

int lab_bdb_abort(void *begun)
{
    DB_TXN *txn = begun;
    return txn->abort(txn);
}

int lab_bdb_insert_in(lab_bdb *handle, void *txn, const void *key, uint32_t key_len,
                      const void *value, uint32_t value_len)
{
    DBT name, data;

    memset(&name, 0, sizeof name);
    memset(&data, 0, sizeof data);
    name.data = (void *)key;
    name.size = key_len;
    data.data = (void *)value;
    data.size = value_len;
    return handle->db->put(handle->db, txn, &name, &data, DB_NOOVERWRITE);
}

int lab_bdb_get_in(lab_bdb *handle, void *txn, const void *key, uint32_t key_len, void *buffer,
                   uint32_t capacity, uint32_t *value_len)
{
    DBT name, data;
    int result;

    memset(&name, 0, sizeof name);
    memset(&data, 0, sizeof data);
    name.data = (void *)key;
    name.size = key_len;
    data.data = buffer;
    data.ulen = capacity;
    data.flags = DB_DBT_USERMEM;
    result = handle->db->get(handle->db, txn, &name, &data, 0);
    *value_len = data.size;
    return result;
}

/* Finds the key for writing and replaces the bytes of its value from offset on; the value keeps
 * its length, and what lies before offset is not touched. */
int lab_bdb_change_in(lab_bdb *handle, void *txn, const void *key, uint32_t key_len,
                      uint32_t offset, const void *bytes, uint32_t len)
{
    DBT name, data;
    DBC *cursor;
    int result, closed;

    if ((result = handle->db->cursor(handle->db, txn, &cursor, 0)) != 0)
        return result;
    memset(&name, 0, sizeof name);
    memset(&data, 0, sizeof data);
    name.data = (void *)key;
    name.size = key_len;
    data.flags = DB_DBT_USERMEM | DB_DBT_PARTIAL; /* the position alone, no byte of the value */
    if ((result = cursor->get(cursor, &name, &data, DB_SET | DB_RMW)) == 0) {
        memset(&data, 0, sizeof data);
        data.flags = DB_DBT_PARTIAL;
        data.doff = offset;
        data.dlen = len;
        data.data = (void *)bytes;
        data.size = len;
        result = cursor->put(cursor, &name, &data, DB_CURRENT);
    }
    closed = cursor->close(cursor);
    return result != 0 ? result : closed;
}

int lab_bdb_cursor(lab_bdb *handle, void *txn, void **opened)
{
    return handle->db->cursor(handle->db, txn, (DBC **)opened, 0);
}

int lab_bdb_cursor_close(void *opened)
{
    DBC *cursor = opened;
    return cursor->close(cursor);
}

/* Moves to the first entry whose key is not less than key, or to the next one; copies the key
 * there into key and the value into buffer, which may have no capacity. */
int lab_bdb_cursor_move(void *opened, int next, int for_writing, void *key, uint32_t key_len,
                        void *buffer, uint32_t capacity, uint32_t *value_len)
{
    DBC *cursor = opened;
    DBT name, data;
    int result;

    memset(&name, 0, sizeof name);
    memset(&data, 0, sizeof data);
    name.data = key;
    name.size = name.ulen = key_len;
    name.flags = DB_DBT_USERMEM;
    data.data = buffer;
    data.ulen = capacity;
    data.flags = capacity != 0 ? DB_DBT_USERMEM : DB_DBT_USERMEM | DB_DBT_PARTIAL;
    result = cursor->get(cursor, &name, &data,
                         (u_int32_t)(next ? DB_NEXT : DB_SET_RANGE) | (for_writing ? DB_RMW : 0u));
    *value_len = data.size;
    return result;
}

int lab_bdb_cursor_delete(void *opened)
{
    DBC *cursor = opened;
    return cursor->del(cursor, 0);
}
