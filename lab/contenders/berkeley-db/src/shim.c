/* Berkeley DB behind five plain calls.
 *
 * DB and DB_ENV are structures of function pointers whose layout belongs to db.h; this file is
 * compiled against the installed one, so that Rust needs to know no layout. Each put and each
 * get is one whole transaction where the environment has transactions. One thread owns the
 * handle: no DB_THREAD, a private environment.
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
    LAB_WRITE_NOSYNC = 16
};

#define LOG_BUFFER_BYTES (8u << 20)
#define PAGE_BYTES 8192u

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

static int configure(DB_ENV *env, int flags, uint64_t cache_bytes)
{
    int result = env->set_cachesize(env, (u_int32_t)(cache_bytes >> 30),
                                    (u_int32_t)(cache_bytes & ((1u << 30) - 1)), 1);
    if (result != 0 || !(flags & LAB_TRANSACTIONS))
        return result;
    if ((result = env->set_lg_bsize(env, LOG_BUFFER_BYTES)) != 0)
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
