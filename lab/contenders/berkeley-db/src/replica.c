/* A site of Berkeley DB's replication manager, behind a few plain calls.
 *
 * The first site creates the group and is its master; others join it through the first. A commit
 * returns when a quorum has acknowledged it: with `disk`, when it is on disks there, otherwise when
 * they have it in memory, with the log written when the system likes. Where a quorum does not, the
 * commit returns as well, so these are counted.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <db.h>

typedef struct lab_site {
    DB_ENV *env;
    DB *db;
    volatile int is_master;
    /* Commits that no quorum has acknowledged; the library says so by an event alone. */
    volatile int failed;
} lab_site;

static const char TEXT[] = "some text of a row";

static void on_event(DB_ENV *env, u_int32_t event, void *info)
{
    lab_site *site = env->app_private;
    (void)info;
    if (event == DB_EVENT_REP_MASTER)
        site->is_master = 1;
    if (event == DB_EVENT_REP_CLIENT)
        site->is_master = 0;
    if (event == DB_EVENT_REP_PERM_FAILED)
        __atomic_fetch_add(&site->failed, 1, __ATOMIC_RELAXED);
}

int lab_site_close(lab_site *site)
{
    int result = 0, later;
    if (site->db != NULL)
        result = site->db->close(site->db, 0);
    if (site->env != NULL && (later = site->env->close(site->env, 0)) != 0 && result == 0)
        result = later;
    free(site);
    return result;
}

static int add_site(DB_ENV *env, uint16_t port, const u_int32_t *settings)
{
    DB_SITE *site;
    int result = env->repmgr_site(env, "127.0.0.1", port, &site, 0);
    for (; result == 0 && *settings != 0; settings++)
        result = site->set_config(site, *settings, 1);
    return result != 0 ? result : site->close(site);
}

static int open_env(lab_site *site, const char *home, int place, const uint16_t *ports, int disk)
{
    static const u_int32_t creator[] = { DB_LOCAL_SITE, DB_GROUP_CREATOR, 0 };
    static const u_int32_t local[] = { DB_LOCAL_SITE, 0 };
    static const u_int32_t helper[] = { DB_BOOTSTRAP_HELPER, 0 };
    u_int32_t subsystems = DB_CREATE | DB_PRIVATE | DB_THREAD | DB_INIT_LOCK | DB_INIT_LOG
        | DB_INIT_MPOOL | DB_INIT_TXN | DB_INIT_REP | DB_RECOVER;
    DB_ENV *env;
    int result, tries;

    if ((result = db_env_create(&site->env, 0)) != 0)
        return result;
    env = site->env;
    env->app_private = site;
    if ((result = env->set_cachesize(env, 0, 512u << 20, 1)) != 0
        || (result = env->set_lk_detect(env, DB_LOCK_DEFAULT)) != 0
        || (result = env->set_lk_max_locks(env, 100000)) != 0
        || (result = env->set_lk_max_objects(env, 100000)) != 0
        || (result = env->set_lk_max_lockers(env, 10000)) != 0
        || (result = env->set_event_notify(env, on_event)) != 0
        || (result = add_site(env, ports[place], place == 0 ? creator : local)) != 0
        || (place != 0 && (result = add_site(env, ports[0], helper)) != 0)
        || (result = env->repmgr_set_ack_policy(env, DB_REPMGR_ACKS_QUORUM)) != 0
        /* What a transaction logs is sent in one message: the last of several small ones would wait
         * for the acknowledgement of TCP, 40 ms. */
        || (result = env->rep_set_config(env, DB_REP_CONF_BULK, 1)) != 0
        || (result = env->rep_set_priority(env, place == 0 ? 200 : 100)) != 0
        || (result = env->rep_set_timeout(env, DB_REP_ACK_TIMEOUT, 5000000)) != 0
        || (!disk && (result = env->set_flags(env, DB_TXN_NOSYNC, 1)) != 0)
        || (result = env->open(env, home, subsystems, 0600)) != 0)
        return result;
    for (tries = 0; tries < 300; tries++) {
        result = env->repmgr_start(env, 3, place == 0 ? DB_REP_MASTER : DB_REP_CLIENT);
        if (result != DB_REP_UNAVAIL)
            return result;
        /* The first one is not there yet. */
        usleep(100000);
    }
    return result;
}

int lab_site_open(const char *home, int place, const uint16_t *ports, int disk, lab_site **made)
{
    lab_site *site = calloc(1, sizeof *site);
    int result;
    if (site == NULL)
        return DB_RUNRECOVERY;
    result = open_env(site, home, place, ports, disk);
    if (result != 0) {
        lab_site_close(site);
        return result;
    }
    *made = site;
    return 0;
}

int lab_site_is_master(lab_site *site)
{
    return site->is_master;
}

int lab_site_failed(lab_site *site)
{
    return __atomic_load_n(&site->failed, __ATOMIC_RELAXED);
}

static int open_db(lab_site *site, u_int32_t flags)
{
    DB *db;
    int result = db_create(&db, site->env, 0);
    if (result != 0)
        return result;
    result = db->open(db, NULL, "event.db", NULL, DB_BTREE, flags | DB_THREAD, 0600);
    if (result != 0) {
        db->close(db, 0);
        return result;
    }
    site->db = db;
    return 0;
}

int lab_site_create(lab_site *site)
{
    return open_db(site, DB_CREATE | DB_AUTO_COMMIT);
}

static int put_in(lab_site *site, DB_TXN *txn, uint64_t key)
{
    char row[4 + sizeof TEXT - 1];
    DBT key_dbt, row_dbt;
    int32_t number = 7;

    memcpy(row, &number, sizeof number);
    memcpy(row + sizeof number, TEXT, sizeof TEXT - 1);
    memset(&key_dbt, 0, sizeof key_dbt);
    memset(&row_dbt, 0, sizeof row_dbt);
    key_dbt.data = &key;
    key_dbt.size = sizeof key;
    row_dbt.data = row;
    row_dbt.size = sizeof row;
    return site->db->put(site->db, txn, &key_dbt, &row_dbt, DB_NOOVERWRITE);
}

/* Rows in one transaction, for which nobody's acknowledgement is waited. */
int lab_site_load(lab_site *site, const uint64_t *keys, uint32_t count)
{
    DB_ENV *env = site->env;
    DB_TXN *txn;
    uint32_t i;
    int result = env->repmgr_set_ack_policy(env, DB_REPMGR_ACKS_NONE), later;

    if (result == 0 && (result = env->txn_begin(env, NULL, &txn, 0)) == 0) {
        for (i = 0; i < count && result == 0; i++)
            result = put_in(site, txn, keys[i]);
        if (result == 0)
            result = txn->commit(txn, 0);
        else
            txn->abort(txn);
    }
    later = env->repmgr_set_ack_policy(env, DB_REPMGR_ACKS_QUORUM);
    return result != 0 ? result : later;
}

int lab_site_put(lab_site *site, uint64_t key)
{
    int result;

    do {
        DB_TXN *txn;
        if ((result = site->env->txn_begin(site->env, NULL, &txn, 0)) != 0)
            return result;
        if ((result = put_in(site, txn, key)) == 0)
            result = txn->commit(txn, 0);
        else
            txn->abort(txn);
    } while (result == DB_LOCK_DEADLOCK);
    return result;
}

int lab_site_count(lab_site *site, uint64_t *count)
{
    DBT key, row;
    DBC *cursor;
    int result;

    if (site->db == NULL && (result = open_db(site, DB_AUTO_COMMIT)) != 0)
        return result;
    if ((result = site->db->cursor(site->db, NULL, &cursor, 0)) != 0)
        return result;
    memset(&key, 0, sizeof key);
    memset(&row, 0, sizeof row);
    *count = 0;
    while ((result = cursor->get(cursor, &key, &row, DB_NEXT)) == 0)
        (*count)++;
    cursor->close(cursor);
    return result == DB_NOTFOUND ? 0 : result;
}
