/* The d_-style interface of Remanent: records, keys, network sets, currency, record locks.
 *
 * A header made by `remanent ddl c` from a d_-style schema includes this one, declares the structs
 * and constants of the schema, and registers its dictionary, so that d_open("name", ..) finds it.
 * Compiles as C11 and C++17. docs/d-style.md has every call with its statuses.
 */
#ifndef REMANENT_D_H
#define REMANENT_D_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A context of one thread: currency, locks, a transaction. Serves as value and as pointer:
 *   DB_TASK t;  d_opentask(&t);  d_open("mcs", "s", &t);
 *   DB_TASK *t; d_opentask(&t);  d_open("mcs", "s", t);
 */
typedef struct DB_TASK {
    uint64_t token;
} DB_TASK;

/* The address of a record: its type and its row. */
typedef uint64_t DB_ADDR;
typedef DB_ADDR db_addr;
typedef uint64_t blob_id;
#define NULL_DBA ((DB_ADDR)0)

/* Which database: its place in the list given to d_open, or one of these. */
#define CURR_DB (-1)
#define ALL_DBS (-2)
#define VOID_DB (-3)

/* Statuses. Zero and positive ones are answers; negative ones are also given to the function set
 * by d_set_dberr. */
#define S_OKAY 0
#define S_EOS 1
#define S_NOTFOUND 2
#define S_DUPLICATE 3
#define S_KEYSEQ 4
#define S_UNAVAIL 5
#define S_DELETED 6
#define S_UPDATED 7
#define S_LOCKED 8
#define S_UNLOCKED 9
#define S_SETCLASH 10
#define S_DBOPEN (-1)
#define S_INVSET (-2)
#define S_INVREC (-3)
#define S_INVDB (-4)
#define S_INVFLD (-5)
#define S_NOCR (-7)
#define S_NOCO (-8)
#define S_NOCM (-9)
#define S_BADTYPE (-11)
#define S_HASMEM (-12)
#define S_ISMEM (-13)
#define S_ISOWNED (-14)
#define S_NOTKEY (-17)
#define S_INVOWN (-18)
#define S_NOTFREE (-23)
#define S_NOTLOCKED (-24)
#define S_TRANSID (-25)
#define S_TRACTIVE (-26)
#define S_TRNOTACT (-27)
#define S_TRFREE (-29)
#define S_NOTRANS (-31)
#define S_EXCLUSIVE (-32)
#define S_BADUSERID (-42)
#define S_NOTYPE (-46)
#define S_ROTACTIVE (-76)
#define S_HASWRITELOCKS (-78)
#define S_NOSPACE (-900)
#define S_NOMEMORY (-904)
#define S_NOFILE (-905)
#define S_RECLIMIT (-909)
#define S_DUPUSERID (-921)
/* Of Remanent's own. */
#define S_INVTASK (-990)   /* the task is not open, or is another thread's */
#define S_INVPTR (-991)    /* a pointer is null that must not be */
#define S_DBCLOSE (-992)   /* the database could not be written when it was closed */
#define S_NOTCON (-993)    /* the record is not connected in the set */
#define S_BADDATA (-994)   /* a value that the column refuses */
#define S_DAMAGED (-995)   /* the file is no database, or of another schema */
#define S_INTERNAL (-999)  /* a defect in the library; the message says what to report */

/* What a generated header says of its schema; made by `remanent ddl c` alone. */
#define REM_D_ABI 1
typedef struct rem_d_record {
    const char *name;
    size_t size;             /* of the C struct */
    const uint32_t *offsets; /* of its fields, in order */
    uint32_t count;
} rem_d_record;
typedef struct rem_d_dictionary {
    uint32_t abi;
    const char *name;
    const char *const *text; /* lines of the schema, ended by a null pointer */
    const rem_d_record *records;
    uint32_t record_count;
} rem_d_dictionary;
int rem_d_register(const rem_d_dictionary *dictionary);
#if defined(__GNUC__)
#define REM_D_REGISTER(dictionary)                                                                 \
    __attribute__((constructor, used)) static void rem_d_register_##dictionary(void) {             \
        (void)rem_d_register(&dictionary);                                                         \
    }
#else
#error "no way is known here to run code before main: call rem_d_register yourself"
#endif

/* Tasks and databases */
int rem_d_opentask(DB_TASK *task);
int rem_d_opentask_pointer(DB_TASK **task);
int d_closetask(DB_TASK *task);
int d_dbuserid(const char *id, DB_TASK *task);
int d_open(const char *names, const char *mode, DB_TASK *task);
int d_close(DB_TASK *task);
int d_initialize(DB_TASK *task, int dbn);
/* Seconds to wait for a lock: 10 unless set, 0 not at all, negative for ever. */
int d_timeout(int seconds, DB_TASK *task);
/* Whether d_trend waits until the disk has what was changed, as it does unless rdm.ini says
 * SYNCFILES=0; 0: until the system has it. */
int d_syncfiles(int on, DB_TASK *task);
/* Called with every negative status; null for none. */
int d_set_dberr(void (*handler)(int status, const char *message), DB_TASK *task);
/* The words for the task's last status. */
const char *d_errmsg(DB_TASK *task);

/* Transactions and locks */
int d_trbegin(const char *id, DB_TASK *task);
int d_trend(DB_TASK *task);
int d_trabort(DB_TASK *task);
int d_trrobegin(DB_TASK *task, int dbn, uint64_t *id);
int d_trroend(DB_TASK *task);
int d_reclock(int record, const char *mode, DB_TASK *task, int dbn);
int d_recfree(int record, DB_TASK *task, int dbn);
int d_reclstat(int record, char *mode, DB_TASK *task, int dbn);

/* Records */
int d_fillnew(int record, const void *value, DB_TASK *task, int dbn);
int d_makenew(int record, DB_TASK *task, int dbn);
int d_recread(void *value, DB_TASK *task, int dbn);
int d_recwrite(const void *value, DB_TASK *task, int dbn);
int d_crread(long field, void *value, DB_TASK *task, int dbn);
int d_crwrite(long field, const void *value, DB_TASK *task, int dbn);
int d_delete(DB_TASK *task, int dbn);
int d_disdel(DB_TASK *task, int dbn);
int d_recfrst(int record, DB_TASK *task, int dbn);
int d_reclast(int record, DB_TASK *task, int dbn);
int d_recnext(DB_TASK *task, int dbn);
int d_recprev(DB_TASK *task, int dbn);
int d_recset(int record, DB_TASK *task, int dbn);

/* Keys */
int d_keyfind(long field, const void *value, DB_TASK *task, int dbn);
int d_keyfrst(long field, DB_TASK *task, int dbn);
int d_keylast(long field, DB_TASK *task, int dbn);
int d_keynext(long field, DB_TASK *task, int dbn);
int d_keyprev(long field, DB_TASK *task, int dbn);
int d_keyread(void *value, DB_TASK *task);

/* Sets */
int d_setor(int set, DB_TASK *task, int dbn);
int d_setmr(int set, DB_TASK *task, int dbn);
int d_setro(int set, DB_TASK *task, int dbn);
int d_setrm(int set, DB_TASK *task, int dbn);
int d_connect(int set, DB_TASK *task, int dbn);
int d_discon(int set, DB_TASK *task, int dbn);
int d_findfm(int set, DB_TASK *task, int dbn);
int d_findlm(int set, DB_TASK *task, int dbn);
int d_findnm(int set, DB_TASK *task, int dbn);
int d_findpm(int set, DB_TASK *task, int dbn);
int d_findco(int set, DB_TASK *task, int dbn);
int d_members(int set, long *count, DB_TASK *task, int dbn);
int d_ismember(int set, DB_TASK *task, int dbn);
int d_isowner(int set, DB_TASK *task, int dbn);

/* Currency */
int d_crget(DB_ADDR *address, DB_TASK *task, int dbn);
int d_crset(const DB_ADDR *address, DB_TASK *task, int dbn);
int d_csoget(int set, DB_ADDR *address, DB_TASK *task, int dbn);
int d_csoset(int set, const DB_ADDR *address, DB_TASK *task, int dbn);
int d_csmget(int set, DB_ADDR *address, DB_TASK *task, int dbn);
int d_csmset(int set, const DB_ADDR *address, DB_TASK *task, int dbn);
int d_crtype(int *record, DB_TASK *task, int dbn);
int d_cotype(int set, int *record, DB_TASK *task, int dbn);
int d_cmtype(int set, int *record, DB_TASK *task, int dbn);

#ifdef __cplusplus
} /* extern "C" */

static inline int d_opentask(DB_TASK *task) { return rem_d_opentask(task); }
static inline int d_opentask(DB_TASK **task) { return rem_d_opentask_pointer(task); }
#else
#define d_opentask(task)                                                                           \
    _Generic((task), DB_TASK *: rem_d_opentask, DB_TASK **: rem_d_opentask_pointer)(task)
#endif

#endif /* REMANENT_D_H */
