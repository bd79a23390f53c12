/* Small pairs in Berkeley DB, behind a few plain calls.
 *
 * As shim.c, but with the settings of its makers' own paper on small pairs: pages of 32 KiB, a log
 * buffer of 8 MiB, and a cache whose size the caller says. A write is one operation, which commits
 * by itself where there are transactions; a read begins and ends one. With LAB_THREADS the handles
 * are free-threaded and the lock manager looks for deadlocks at every wait. With LAB_RECOVER the
 * log is replayed as the environment is opened. The environment is always private.
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
    LAB_WRITE_NOSYNC = 16,
    LAB_THREADS = 32,
    LAB_RECOVER = 64
};

#define LOG_BUFFER_BYTES (8u << 20)
#define PAGE_BYTES 32768u
#define LOCKS_MAX 20000u

typedef struct lab_pairs {
    DB_ENV *env;
    DB *db;
    int transactions;
} lab_pairs;

int lab_pairs_close(lab_pairs *handle)
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

static int configure(DB_ENV *env, int flags, uint64_t cache_bytes)
{
    int result = env->set_cachesize(env, (u_int32_t)(cache_bytes >> 30),
                                    (u_int32_t)(cache_bytes & ((1u << 30) - 1)), 1);
    if (result != 0 || !(flags & LAB_TRANSACTIONS))
        return result;
    if ((result = env->set_lg_bsize(env, LOG_BUFFER_BYTES)) != 0)
        return result;
    if ((result = env->set_lk_max_locks(env, LOCKS_MAX)) != 0 ||
        (result = env->set_lk_max_objects(env, LOCKS_MAX)) != 0 ||
        (result = env->set_lk_max_lockers(env, LOCKS_MAX)) != 0)
        return result;
    if ((flags & LAB_THREADS) && (result = env->set_lk_detect(env, DB_LOCK_DEFAULT)) != 0)
        return result;
    if (flags & LAB_LOG_IN_MEMORY)
        return env->log_set_config(env, DB_LOG_IN_MEMORY, 1);
    if (flags & LAB_NOSYNC)
        return env->set_flags(env, DB_TXN_NOSYNC, 1);
    if (flags & LAB_WRITE_NOSYNC)
        return env->set_flags(env, DB_TXN_WRITE_NOSYNC, 1);
    return 0;
}

static int open_handles(lab_pairs *handle, const char *home, int flags, uint64_t cache_bytes)
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
    if (flags & LAB_THREADS) {
        subsystems |= DB_THREAD;
        creating |= DB_THREAD;
    }
    if (flags & LAB_RECOVER)
        subsystems |= DB_RECOVER;
    if ((result = handle->env->open(handle->env, home, subsystems, 0644)) != 0)
        return result;
    if ((result = db_create(&handle->db, handle->env, 0)) != 0)
        return result;
    if ((result = handle->db->set_pagesize(handle->db, PAGE_BYTES)) != 0)
        return result;
    if (flags & LAB_FILE)
        return handle->db->open(handle->db, NULL, "pairs.db", NULL, DB_BTREE, creating, 0644);
    /* A named database in memory is never written to a temporary file. */
    return handle->db->open(handle->db, NULL, NULL, "pairs", DB_BTREE, creating, 0644);
}

int lab_pairs_open(const char *home, int flags, uint64_t cache_bytes, lab_pairs **made)
{
    lab_pairs *handle = calloc(1, sizeof *handle);
    int result;
    if (handle == NULL)
        return DB_RUNRECOVERY;
    handle->transactions = (flags & LAB_TRANSACTIONS) != 0;
    if ((result = open_handles(handle, home, flags, cache_bytes)) != 0) {
        lab_pairs_close(handle);
        return result;
    }
    *made = handle;
    return 0;
}

static int put_in(lab_pairs *handle, DB_TXN *txn, const void *key, uint32_t key_len,
                  const void *value, uint32_t value_len)
{
    DBT name, data;

    memset(&name, 0, sizeof name);
    memset(&data, 0, sizeof data);
    name.data = (void *)key;
    name.size = key_len;
    data.data = (void *)value;
    data.size = value_len;
    return handle->db->put(handle->db, txn, &name, &data, 0);
}

int lab_pairs_put(lab_pairs *handle, const void *key, uint32_t key_len, const void *value,
                  uint32_t value_len)
{
    return put_in(handle, NULL, key, key_len, value, value_len);
}

/* Pairs of keys and values, each behind its key, in one transaction. */
int lab_pairs_put_many(lab_pairs *handle, const void *pairs, uint64_t count, uint32_t key_len,
                       uint32_t value_len)
{
    const char *at = pairs;
    DB_TXN *txn = NULL;
    int result = 0;
    uint64_t done;

    if (handle->transactions &&
        (result = handle->env->txn_begin(handle->env, NULL, &txn, 0)) != 0)
        return result;
    for (done = 0; result == 0 && done < count; done++, at += key_len + value_len)
        result = put_in(handle, txn, at, key_len, at + key_len, value_len);
    if (txn == NULL)
        return result;
    if (result == 0)
        return txn->commit(txn, 0);
    txn->abort(txn);
    return result;
}

/* The caller's buffer receives the value: one copy, none in between. */
int lab_pairs_get(lab_pairs *handle, const void *key, uint32_t key_len, void *buffer,
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

int lab_pairs_cursor(lab_pairs *handle, void **opened)
{
    return handle->db->cursor(handle->db, NULL, (DBC **)opened, DB_CURSOR_BULK);
}

int lab_pairs_cursor_close(void *opened)
{
    DBC *cursor = opened;
    return cursor->close(cursor);
}

/* Fills the buffer with the next keys and values, as DB_MULTIPLE_KEY_NEXT expects them. */
int lab_pairs_next_many(void *opened, void *buffer, uint32_t capacity)
{
    DBC *cursor = opened;
    DBT name, data;

    memset(&name, 0, sizeof name);
    memset(&data, 0, sizeof data);
    data.data = buffer;
    data.ulen = capacity;
    data.flags = DB_DBT_USERMEM;
    return cursor->get(cursor, &name, &data, DB_NEXT | DB_MULTIPLE_KEY);
}

/* How often the log was synced, by the engine's own statistics. */
int lab_pairs_syncs(lab_pairs *handle, uint64_t *syncs)
{
    DB_LOG_STAT *statistics;
    int result = handle->env->log_stat(handle->env, &statistics, 0);
    if (result != 0)
        return result;
    *syncs = statistics->st_scount;
    free(statistics);
    return 0;
}
