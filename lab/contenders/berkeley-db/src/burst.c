/* One large transaction in Berkeley DB, behind a few plain calls.
 *
 * One thread owns everything, so that there is no lock manager: its makers say that it is for
 * several threads or processes, and it would hold a lock for every page of the transaction. A log
 * in memory has to hold the whole of a transaction, so that the caller says how long it may grow.
 * Without LAB_TRANSACTIONS there is neither log nor transaction. The flags are those of pairs.c.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <db.h>

enum {
    LAB_TRANSACTIONS = 1,
    LAB_LOG_IN_MEMORY = 2,
    LAB_FILE = 4,
    LAB_NOSYNC = 8,
    LAB_WRITE_NOSYNC = 16
};

#define PAGE_BYTES 32768u

typedef struct lab_burst {
    DB_ENV *env;
    DB *db;
    DB_TXN *txn;
    int transactions;
} lab_burst;

int lab_burst_close(lab_burst *handle)
{
    int result = 0, later;
    if (handle->txn != NULL)
        result = handle->txn->abort(handle->txn);
    if (handle->db != NULL && (later = handle->db->close(handle->db, 0)) != 0 && result == 0)
        result = later;
    if (handle->env != NULL && (later = handle->env->close(handle->env, 0)) != 0 && result == 0)
        result = later;
    free(handle);
    return result;
}

static int open_handles(lab_burst *handle, const char *home, int flags, uint64_t cache_bytes,
                        uint32_t log_bytes)
{
    u_int32_t subsystems = DB_CREATE | DB_PRIVATE | DB_INIT_MPOOL;
    u_int32_t creating = DB_CREATE;
    const char *file = (flags & LAB_FILE) ? "burst.db" : NULL;
    const char *name = (flags & LAB_FILE) ? NULL : "burst";
    DB_ENV *env;
    int result;

    if ((result = db_env_create(&handle->env, 0)) != 0)
        return result;
    env = handle->env;
    if ((result = env->set_cachesize(env, (u_int32_t)(cache_bytes >> 30),
                                     (u_int32_t)(cache_bytes & ((1u << 30) - 1)), 1)) != 0)
        return result;
    if (flags & LAB_TRANSACTIONS) {
        subsystems |= DB_INIT_TXN | DB_INIT_LOG;
        creating |= DB_AUTO_COMMIT;
        if ((result = env->set_lg_bsize(env, log_bytes)) != 0)
            return result;
    }
    if ((flags & LAB_LOG_IN_MEMORY) &&
        (result = env->log_set_config(env, DB_LOG_IN_MEMORY, 1)) != 0)
        return result;
    if ((flags & LAB_NOSYNC) && (result = env->set_flags(env, DB_TXN_NOSYNC, 1)) != 0)
        return result;
    if ((flags & LAB_WRITE_NOSYNC) &&
        (result = env->set_flags(env, DB_TXN_WRITE_NOSYNC, 1)) != 0)
        return result;
    if ((result = env->open(env, home, subsystems, 0644)) != 0)
        return result;
    if ((result = db_create(&handle->db, env, 0)) != 0)
        return result;
    if ((result = handle->db->set_pagesize(handle->db, PAGE_BYTES)) != 0)
        return result;
    return handle->db->open(handle->db, NULL, file, name, DB_BTREE, creating, 0644);
}

int lab_burst_open(const char *home, int flags, uint64_t cache_bytes, uint32_t log_bytes,
                   lab_burst **made)
{
    lab_burst *handle = calloc(1, sizeof *handle);
    int result;
    if (handle == NULL)
        return DB_RUNRECOVERY;
    handle->transactions = (flags & LAB_TRANSACTIONS) != 0;
    if ((result = open_handles(handle, home, flags, cache_bytes, log_bytes)) != 0) {
        lab_burst_close(handle);
        return result;
    }
    *made = handle;
    return 0;
}

int lab_burst_begin(lab_burst *handle)
{
    if (!handle->transactions)
        return 0;
    return handle->env->txn_begin(handle->env, NULL, &handle->txn, 0);
}

/* Pairs of keys and values, each behind its key. */
int lab_burst_insert(lab_burst *handle, const void *pairs, uint64_t count, uint32_t key_len,
                     uint32_t value_len)
{
    const char *at = pairs;
    int result = 0;
    DBT name, data;

    memset(&name, 0, sizeof name);
    memset(&data, 0, sizeof data);
    name.size = key_len;
    data.size = value_len;
    for (; result == 0 && count > 0; count--, at += key_len + value_len) {
        name.data = (void *)at;
        data.data = (void *)(at + key_len);
        result = handle->db->put(handle->db, handle->txn, &name, &data, DB_NOOVERWRITE);
    }
    return result;
}

int lab_burst_commit(lab_burst *handle)
{
    DB_TXN *txn = handle->txn;
    handle->txn = NULL;
    return txn == NULL ? 0 : txn->commit(txn, 0);
}

int lab_burst_abort(lab_burst *handle)
{
    DB_TXN *txn = handle->txn;
    handle->txn = NULL;
    return txn == NULL ? 0 : txn->abort(txn);
}

int lab_burst_cursor(lab_burst *handle, void **opened)
{
    return handle->db->cursor(handle->db, NULL, (DBC **)opened, DB_CURSOR_BULK);
}
