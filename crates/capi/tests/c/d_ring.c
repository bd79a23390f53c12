/* The d_-style calls in one thread: what each does to currency, and every status that one thread
 * can meet. The database is in the current folder, which the test made. */
#define _DEFAULT_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ring.h"

static DB_TASK task;
static int told_status, told_count;

static const char *error_text(void)
{
    return d_errmsg(&task);
}
#define ERROR_TEXT error_text
#include "check.h"

#define HERE &task, CURR_DB

/* Room that ends where memory does: whoever touches one byte more is stopped. */
static void *at_the_end(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *two = mmap(0, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(two != MAP_FAILED && size <= page);
    CHECK(mprotect(two + page, page, PROT_NONE) == 0);
    return two + page - size;
}

static DB_ADDR current(void)
{
    DB_ADDR address = NULL_DBA;
    int status = d_crget(&address, HERE);
    CHECK(status == S_OKAY || status == S_NOCR);
    return address;
}

static DB_ADDR owner_of(int set)
{
    DB_ADDR address = NULL_DBA;
    int status = d_csoget(set, &address, HERE);
    CHECK(status == S_OKAY || status == S_NOCO);
    return address;
}

static DB_ADDR member_of(int set)
{
    DB_ADDR address = NULL_DBA;
    int status = d_csmget(set, &address, HERE);
    CHECK(status == S_OKAY || status == S_NOCM);
    return address;
}

static DB_ADDR new_owner(long code, short weight)
{
    struct Owner owner;
    memset(&owner, 0, sizeof owner);
    snprintf(owner.name, sizeof owner.name, "owner %ld", code);
    owner.code = code;
    owner.weight = weight;
    owner.tag = (int)code;
    owner.spot.row = (short)-code;
    memcpy(owner.spot.shelf, "shelf", 6);
    OK(d_fillnew(OWNER, &owner, HERE));
    return current();
}

static DB_ADDR new_leaf(long number)
{
    struct Leaf leaf = {number, (double)number / 2};
    OK(d_fillnew(LEAF, &leaf, HERE));
    return current();
}

static long number_now(void)
{
    long number;
    OK(d_crread(NUMBER, &number, HERE));
    return number;
}

static long code_now(void)
{
    long code;
    OK(d_crread(CODE, &code, HERE));
    return code;
}

static void note(int status, const char *message)
{
    CHECK(message && *message);
    told_status = status;
    told_count++;
}

static void tasks_and_opening(void)
{
    DB_TASK copy, made_up = {0x123456789abcdefu}, none = {0}, second;
    STATUS(S_INVTASK, d_open("ring", "s", 0));
    STATUS(S_INVTASK, d_open("ring", "s", &none));
    STATUS(S_INVTASK, d_open("ring", "s", &made_up));
    STATUS(S_INVTASK, d_close(&made_up));
    CHECK(*d_errmsg(0) && *d_errmsg(&made_up));
    STATUS(S_INVPTR, rem_d_opentask(0));
    STATUS(S_INVPTR, rem_d_opentask_pointer(0));
    STATUS(S_INVPTR, rem_d_register(0));
    OK(d_opentask(&task));
    copy = task;
    OK(d_closetask(&task));
    STATUS(S_INVTASK, d_closetask(&task));
    STATUS(S_INVTASK, d_timeout(1, &copy));
    OK(d_opentask(&task));
    CHECK(copy.token != task.token);
    STATUS(S_DBOPEN, d_close(&task));
    STATUS(S_DBOPEN, d_recfrst(OWNER, HERE));
    STATUS(S_DBOPEN, d_trbegin("t", &task));
    STATUS(S_BADUSERID, d_dbuserid("", &task));
    STATUS(S_BADUSERID, d_dbuserid("a b", &task));
    STATUS(S_INVPTR, d_dbuserid(0, &task));
    OK(d_dbuserid("first1", &task));
    STATUS(S_BADTYPE, d_open("ring", "z", &task));
    STATUS(S_BADTYPE, d_open("ring", "", &task));
    STATUS(S_INVPTR, d_open("ring", 0, &task));
    STATUS(S_INVPTR, d_open(0, "s", &task));
    STATUS(S_INVDB, d_open("rung", "s", &task));
    STATUS(S_INVDB, d_open("", "s", &task));
    STATUS(S_NOFILE, d_open("nowhere/ring", "s", &task));
    OK(d_open("ring", "s", &task));
    STATUS(S_DBOPEN, d_open("ring", "s", &task));
    STATUS(S_DBOPEN, d_dbuserid("late", &task));
    STATUS(S_EXCLUSIVE, d_initialize(HERE));
    STATUS(S_INVDB, d_recfrst(OWNER, &task, 1));
    STATUS(S_INVDB, d_recfrst(OWNER, &task, ALL_DBS));
    STATUS(S_INVDB, d_recfrst(OWNER, &task, VOID_DB));
    OK(d_opentask(&second));
    OK(d_dbuserid("first1", &second));
    STATUS(S_DUPUSERID, d_open("ring", "s", &second));
    OK(d_dbuserid("second2", &second));
    STATUS(S_UNAVAIL, d_open("ring", "x", &second));
    STATUS(S_UNAVAIL, d_open("ring", "o", &second));
    OK(d_open("ring", "s", &second));
    OK(d_closetask(&second));
    OK(d_close(&task));
    OK(d_open("ring", "o", &task));
    OK(d_opentask(&second));
    STATUS(S_UNAVAIL, d_open("ring", "s", &second));
    OK(d_closetask(&second));
    OK(d_initialize(HERE));
}

static void handler(void)
{
    STATUS(S_NOTYPE, d_recnext(HERE));
    STATUS(S_NOTYPE, d_recprev(HERE));
    OK(d_set_dberr(note, &task));
    STATUS(S_INVREC, d_recfrst(7, HERE));
    CHECK(told_status == S_INVREC && told_count == 1 && strstr(d_errmsg(&task), "S_INVREC"));
    STATUS(S_NOTFOUND, d_recfrst(OWNER, HERE));
    CHECK(told_count == 1);
    OK(d_set_dberr(0, &task));
    STATUS(S_INVREC, d_recfrst(9999, HERE));
    STATUS(S_INVREC, d_recfrst(10003, HERE));
    STATUS(S_INVREC, d_recfrst(-1, HERE));
    CHECK(told_count == 1);
}

/* Of what is not there: numbers of nothing, and currency that is null. */
static void nothing(void)
{
    struct Owner owner;
    DB_ADDR address;
    long count;
    int type;
    STATUS(S_NOCR, d_crget(&address, HERE));
    STATUS(S_NOCR, d_recread(&owner, HERE));
    STATUS(S_NOCR, d_recwrite(&owner, HERE));
    STATUS(S_NOCR, d_crread(CODE, &owner, HERE));
    STATUS(S_NOCR, d_crwrite(CODE, &owner, HERE));
    STATUS(S_NOCR, d_delete(HERE));
    STATUS(S_NOCR, d_disdel(HERE));
    STATUS(S_NOCR, d_crtype(&type, HERE));
    STATUS(S_NOCR, d_setor(LEAVES, HERE));
    STATUS(S_NOCR, d_setmr(LEAVES, HERE));
    STATUS(S_NOCR, d_connect(LEAVES, HERE));
    STATUS(S_NOCR, d_ismember(LEAVES, HERE));
    STATUS(S_NOCO, d_findfm(LEAVES, HERE));
    STATUS(S_NOCO, d_findnm(LEAVES, HERE));
    STATUS(S_NOCO, d_members(LEAVES, &count, HERE));
    STATUS(S_NOCO, d_discon(LEAVES, HERE));
    STATUS(S_NOCO, d_csoget(LEAVES, &address, HERE));
    STATUS(S_NOCO, d_cotype(LEAVES, &type, HERE));
    STATUS(S_NOCO, d_setro(LEAVES, HERE));
    STATUS(S_NOCM, d_csmget(LEAVES, &address, HERE));
    STATUS(S_NOCM, d_cmtype(LEAVES, &type, HERE));
    STATUS(S_NOCM, d_setrm(LEAVES, HERE));
    STATUS(S_KEYSEQ, d_keyread(&count, &task));
    STATUS(S_INVSET, d_findfm(OWNER, HERE));
    STATUS(S_INVSET, d_setor(20003, HERE));
    STATUS(S_INVFLD, d_keyfind(3000L, &count, HERE));
    STATUS(S_INVFLD, d_keyfind(999L, &count, HERE));
    STATUS(S_INVFLD, d_keyfind(-1L, &count, HERE));
    STATUS(S_NOTKEY, d_keyfind(SIZE, &count, HERE));
    STATUS(S_NOTKEY, d_keyfrst(NAME, HERE));
    STATUS(S_NOTKEY, d_keyfrst(TAG, HERE));
    STATUS(S_NOTKEY, d_keynext(TAG, HERE));
    STATUS(S_NOTFOUND, d_keyfrst(CODE, HERE));
    STATUS(S_NOTFOUND, d_keynext(CODE, HERE));
    STATUS(S_NOTFOUND, d_keyfind(CODE, 0, HERE));
    CHECK(current() == NULL_DBA);
}

static void records(void)
{
    struct Owner *owner = at_the_end(sizeof *owner);
    struct spot spot;
    struct Twig twig;
    DB_ADDR first, second, third;
    long code;
    int type;
    size_t i;
    first = new_owner(1, 10);
    second = new_owner(2, 10);
    third = new_owner(3, 5);
    OK(d_crtype(&type, HERE));
    CHECK(type == OWNER && first != second && second != third && current() == third);
    memset(owner, 0xee, sizeof *owner);
    OK(d_recread(owner, HERE));
    CHECK(owner->code == 3 && owner->weight == 5 && strcmp(owner->name, "owner 3") == 0);
    CHECK(owner->name[19] == 0 && owner->spot.row == -3 && strcmp(owner->spot.shelf, "shelf") == 0);
    owner->code = 1;
    STATUS(S_DUPLICATE, d_recwrite(owner, HERE));
    STATUS(S_DUPLICATE, d_fillnew(OWNER, owner, HERE));
    CHECK(current() == third && code_now() == 3);
    code = 2;
    STATUS(S_DUPLICATE, d_crwrite(CODE, &code, HERE));
    CHECK(code_now() == 3);
    OK(d_crread(SPOT, &spot, HERE));
    CHECK(spot.row == -3);
    spot.row = 77;
    OK(d_crwrite(SPOT, &spot, HERE));
    owner->code = 4;
    owner->spot = spot;
    OK(d_recwrite(owner, HERE));
    code = 3;
    STATUS(S_NOTFOUND, d_keyfind(CODE, &code, HERE));
    code = 4;
    OK(d_keyfind(CODE, &code, HERE));
    CHECK(current() == third);
    /* Text is any bytes up to the first NUL, and need not have one. */
    memset(owner->name, 0xff, sizeof owner->name);
    OK(d_recwrite(owner, HERE));
    memset(owner, 0, sizeof *owner);
    OK(d_recread(owner, HERE));
    for (i = 0; i < sizeof owner->name; i++)
        CHECK((unsigned char)owner->name[i] == 0xff);
    CHECK(owner->spot.row == 77);
    STATUS(S_INVPTR, d_recread(0, HERE));
    STATUS(S_INVPTR, d_recwrite(0, HERE));
    STATUS(S_INVPTR, d_fillnew(OWNER, 0, HERE));
    STATUS(S_INVPTR, d_crread(CODE, 0, HERE));
    STATUS(S_INVPTR, d_crwrite(CODE, 0, HERE));
    STATUS(S_INVPTR, d_crget(0, HERE));
    STATUS(S_INVPTR, d_crtype(0, HERE));
    STATUS(S_INVFLD, d_crread(NUMBER, &code, HERE));
    STATUS(S_INVREC, d_fillnew(LEAVES, owner, HERE));
    OK(d_makenew(TWIG, HERE));
    OK(d_crtype(&type, HERE));
    CHECK(type == TWIG);
    /* A count that is more than there is room for. */
    memset(&twig, 0x11, sizeof twig);
    STATUS(S_BADDATA, d_recwrite(&twig, HERE));
    twig.extra.length = 9;
    STATUS(S_BADDATA, d_crwrite(EXTRA, &twig.extra, HERE));
    twig.extra.length = 3;
    OK(d_recwrite(&twig, HERE));
    memset(&twig, 0, sizeof twig);
    OK(d_recread(&twig, HERE));
    CHECK(twig.extra.length == 3 && twig.extra.data[2] == 0x11 && twig.extra.data[3] == 0);
    CHECK(twig.marks[3] == 0x11 && twig.word[7] == 0x11);
    OK(d_delete(HERE));
    CHECK(current() == NULL_DBA);
    OK(d_crset(&second, HERE));
    CHECK(code_now() == 2);
    first = (DB_ADDR)99 << 32;
    STATUS(S_INVREC, d_crset(&first, HERE));
    CHECK(current() == second);
}

/* From record to record, in the order of addresses. */
static void walks(void)
{
    DB_ADDR second;
    long code;
    OK(d_recfrst(OWNER, HERE));
    CHECK(code_now() == 1);
    OK(d_recnext(HERE));
    second = current();
    OK(d_recnext(HERE));
    CHECK(code_now() == 4);
    STATUS(S_NOTFOUND, d_recnext(HERE));
    CHECK(code_now() == 4);
    OK(d_recprev(HERE));
    CHECK(current() == second);
    /* Behind a record that was deleted the walk goes on. */
    OK(d_delete(HERE));
    CHECK(current() == NULL_DBA);
    STATUS(S_NOCR, d_recread(&code, HERE));
    OK(d_recnext(HERE));
    CHECK(code_now() == 4);
    OK(d_recprev(HERE));
    CHECK(code_now() == 1);
    STATUS(S_NOTFOUND, d_recprev(HERE));
    OK(d_crset(&second, HERE));
    STATUS(S_DELETED, d_crread(CODE, &code, HERE));
    STATUS(S_DELETED, d_crwrite(CODE, &code, HERE));
    STATUS(S_DELETED, d_delete(HERE));
    STATUS(S_NOTFOUND, d_recfrst(LEAF, HERE));
    OK(d_reclast(OWNER, HERE));
    CHECK(code_now() == 4);
    OK(d_recset(OWNER, HERE));
    OK(d_recprev(HERE));
    CHECK(code_now() == 1);
    STATUS(S_INVREC, d_recset(20000, HERE));
}

static void keys(void)
{
    struct place *place = at_the_end(sizeof *place);
    long *code = at_the_end(sizeof *code);
    int i, tag = 13;
    DB_ADDR before;
    for (i = 10; i < 20; i++)
        new_owner(i, (short)(i % 3));
    /* A compound key takes the struct of its parts, and not one byte more. */
    place->weight = 1;
    place->code = 13;
    OK(d_keyfind(PLACE, place, HERE));
    CHECK(code_now() == 13);
    OK(d_keynext(PLACE, HERE));
    CHECK(code_now() == 10);
    OK(d_keyread(place, &task));
    CHECK(place->weight == 1 && place->code == 10);
    OK(d_keynext(PLACE, HERE));
    CHECK(code_now() == 17);
    OK(d_crread(PLACE, place, HERE));
    CHECK(place->weight == 2 && place->code == 17);
    OK(d_keyfind(TAG, &tag, HERE));
    CHECK(code_now() == 13);
    /* Each key has a place of its own. */
    *code = 15;
    OK(d_keyfind(CODE, code, HERE));
    OK(d_keynext(PLACE, HERE));
    CHECK(code_now() == 14);
    OK(d_keynext(CODE, HERE));
    CHECK(code_now() == 16);
    /* A value that nobody has: the next is the next higher one. */
    *code = 5;
    before = current();
    STATUS(S_NOTFOUND, d_keyfind(CODE, code, HERE));
    CHECK(current() == before);
    OK(d_keynext(CODE, HERE));
    CHECK(code_now() == 10);
    STATUS(S_NOTFOUND, d_keyfind(CODE, code, HERE));
    OK(d_keyprev(CODE, HERE));
    CHECK(code_now() == 4);
    /* Past an end it begins at the other. */
    OK(d_keylast(CODE, HERE));
    CHECK(code_now() == 19);
    STATUS(S_NOTFOUND, d_keynext(CODE, HERE));
    CHECK(code_now() == 19);
    STATUS(S_KEYSEQ, d_keyread(code, &task));
    OK(d_keynext(CODE, HERE));
    CHECK(code_now() == 1);
    STATUS(S_NOTFOUND, d_keyprev(CODE, HERE));
    OK(d_keyprev(CODE, HERE));
    CHECK(code_now() == 19);
    /* The place outlives its record, and null puts it before the first. */
    *code = 12;
    OK(d_keyfind(CODE, code, HERE));
    OK(d_delete(HERE));
    OK(d_keynext(CODE, HERE));
    CHECK(code_now() == 13);
    STATUS(S_NOTFOUND, d_keyfind(CODE, 0, HERE));
    OK(d_keynext(CODE, HERE));
    CHECK(code_now() == 1);
    STATUS(S_INVPTR, d_keyread(0, &task));
}

static void equal_keys(void)
{
    long number = 7;
    DB_ADDR first = new_leaf(7), second = new_leaf(7), third = new_leaf(7);
    OK(d_keyfind(NUMBER, &number, HERE));
    CHECK(current() == first);
    OK(d_keynext(NUMBER, HERE));
    CHECK(current() == second);
    OK(d_keynext(NUMBER, HERE));
    CHECK(current() == third);
    STATUS(S_NOTFOUND, d_keynext(NUMBER, HERE));
    while (d_recfrst(LEAF, HERE) == S_OKAY)
        OK(d_delete(HERE));
}

static void sets(void)
{
    DB_ADDR owner = new_owner(100, 1), other, leaf, twig, third;
    long count;
    int type;
    STATUS(S_INVOWN, d_setmr(LEAVES, HERE));
    STATUS(S_INVOWN, d_ismember(LEAVES, HERE));
    OK(d_setor(LEAVES, HERE));
    CHECK(owner_of(LEAVES) == owner && member_of(LEAVES) == NULL_DBA && current() == owner);
    STATUS(S_INVOWN, d_connect(LEAVES, HERE));
    STATUS(S_EOS, d_isowner(LEAVES, HERE));
    STATUS(S_EOS, d_findfm(LEAVES, HERE));
    STATUS(S_EOS, d_findlm(LEAVES, HERE));
    STATUS(S_NOCM, d_discon(LEAVES, HERE));
    leaf = new_leaf(1);
    STATUS(S_INVOWN, d_setor(LEAVES, HERE));
    STATUS(S_INVOWN, d_isowner(LEAVES, HERE));
    STATUS(S_NOTCON, d_setmr(LEAVES, HERE));
    STATUS(S_NOTCON, d_findco(LEAVES, HERE));
    STATUS(S_EOS, d_ismember(LEAVES, HERE));
    CHECK(owner_of(LEAVES) == owner && current() == leaf);
    OK(d_connect(LEAVES, HERE));
    CHECK(member_of(LEAVES) == leaf && current() == leaf);
    STATUS(S_ISOWNED, d_connect(LEAVES, HERE));
    OK(d_ismember(LEAVES, HERE));
    OK(d_makenew(TWIG, HERE));
    twig = current();
    STATUS(S_NOCO, d_connect(SORTED, HERE));
    OK(d_csoset(SORTED, &owner, HERE));
    STATUS(S_INVOWN, d_connect(SORTED, HERE));
    OK(d_connect(LEAVES, HERE));
    third = new_leaf(3);
    OK(d_connect(LEAVES, HERE));
    OK(d_members(LEAVES, &count, HERE));
    CHECK(count == 3);
    STATUS(S_INVPTR, d_members(LEAVES, 0, HERE));
    /* First, next, to the end; then the record stays and there is no member. */
    OK(d_findfm(LEAVES, HERE));
    CHECK(current() == leaf && member_of(LEAVES) == leaf);
    OK(d_findnm(LEAVES, HERE));
    OK(d_cmtype(LEAVES, &type, HERE));
    CHECK(type == TWIG && current() == twig);
    OK(d_cotype(LEAVES, &type, HERE));
    CHECK(type == OWNER);
    OK(d_findnm(LEAVES, HERE));
    CHECK(current() == third);
    STATUS(S_EOS, d_findnm(LEAVES, HERE));
    CHECK(current() == third && member_of(LEAVES) == NULL_DBA);
    OK(d_findnm(LEAVES, HERE));
    CHECK(current() == leaf);
    STATUS(S_EOS, d_findpm(LEAVES, HERE));
    OK(d_findpm(LEAVES, HERE));
    CHECK(current() == third);
    STATUS(S_ISMEM, d_delete(HERE));
    OK(d_findco(LEAVES, HERE));
    CHECK(current() == owner && member_of(LEAVES) == third);
    STATUS(S_HASMEM, d_delete(HERE));
    OK(d_setrm(LEAVES, HERE));
    CHECK(current() == third);
    OK(d_setro(LEAVES, HERE));
    CHECK(current() == owner);
    /* Who leaves is the record; the one behind is the member. */
    OK(d_csmset(LEAVES, &leaf, HERE));
    OK(d_discon(LEAVES, HERE));
    CHECK(current() == leaf && member_of(LEAVES) == twig);
    STATUS(S_EOS, d_ismember(LEAVES, HERE));
    OK(d_csmset(LEAVES, &third, HERE));
    STATUS(S_EOS, d_discon(LEAVES, HERE));
    CHECK(current() == third && member_of(LEAVES) == NULL_DBA);
    /* A member that went to another owner. */
    OK(d_findfm(LEAVES, HERE));
    other = new_owner(101, 1);
    OK(d_crset(&twig, HERE));
    OK(d_setmr(LEAVES, HERE));
    STATUS(S_EOS, d_discon(LEAVES, HERE));
    OK(d_csoset(LEAVES, &other, HERE));
    CHECK(member_of(LEAVES) == NULL_DBA);
    OK(d_connect(LEAVES, HERE));
    STATUS(S_INVOWN, d_csoset(LEAVES, &twig, HERE));
    STATUS(S_INVOWN, d_csmset(LEAVES, &other, HERE));
    STATUS(S_NOTCON, d_csmset(LEAVES, &leaf, HERE));
    CHECK(owner_of(LEAVES) == other && member_of(LEAVES) == twig);
    /* Both go, with what they own. */
    OK(d_crset(&other, HERE));
    OK(d_disdel(HERE));
    CHECK(current() == NULL_DBA && owner_of(LEAVES) == NULL_DBA);
    OK(d_crset(&twig, HERE));
    OK(d_delete(HERE));
}

static void orders(void)
{
    static const long numbers[] = {5, 1, 3, 1};
    long count, expected;
    int i, status;
    DB_ADDR owner = new_owner(200, 1), leaf;
    OK(d_setor(SORTED, HERE));
    OK(d_setor(CHAIN, HERE));
    for (i = 0; i < 4; i++) {
        leaf = new_leaf(numbers[i]);
        OK(d_connect(SORTED, HERE));
        /* Behind the first one, each time. */
        if (i > 1)
            OK(d_findfm(CHAIN, HERE));
        OK(d_crset(&leaf, HERE));
        OK(d_connect(CHAIN, HERE));
    }
    expected = 1135;
    for (status = d_findfm(SORTED, HERE), count = 0; !status; status = d_findnm(SORTED, HERE))
        count = count * 10 + number_now();
    CHECK(count == expected);
    expected = 5131;
    for (status = d_findfm(CHAIN, HERE), count = 0; !status; status = d_findnm(CHAIN, HERE))
        count = count * 10 + number_now();
    CHECK(count == expected);
    /* A sorted set follows its field. */
    OK(d_findlm(SORTED, HERE));
    count = 0;
    OK(d_crwrite(NUMBER, &count, HERE));
    OK(d_findfm(SORTED, HERE));
    CHECK(number_now() == 0);
    leaf = NULL_DBA;
    OK(d_csmset(CHAIN, &leaf, HERE));
    OK(d_csmset(CHAIN, 0, HERE));
    CHECK(member_of(CHAIN) == NULL_DBA);
    OK(d_csoset(CHAIN, &leaf, HERE));
    CHECK(owner_of(CHAIN) == NULL_DBA);
    OK(d_crset(&leaf, HERE));
    CHECK(current() == NULL_DBA);
    OK(d_crset(&owner, HERE));
    OK(d_disdel(HERE));
    while (d_recfrst(LEAF, HERE) == S_OKAY)
        OK(d_delete(HERE));
}

/* The current member was deleted by another task: the place is lost, and said to be. */
static void clash(void)
{
    DB_TASK second;
    DB_ADDR owner, leaf;
    OK(d_close(&task));
    OK(d_open("ring", "s", &task));
    OK(d_opentask(&second));
    OK(d_open("ring", "s", &second));
    OK(d_trbegin("t", &task));
    OK(d_reclock(OWNER, "w", HERE));
    OK(d_reclock(LEAF, "w", HERE));
    owner = new_owner(300, 0);
    OK(d_setor(LEAVES, HERE));
    OK(d_setor(CHAIN, HERE));
    leaf = new_leaf(9);
    OK(d_connect(LEAVES, HERE));
    OK(d_connect(CHAIN, HERE));
    OK(d_trend(&task));
    OK(d_trbegin("t", &second));
    OK(d_reclock(OWNER, "w", &second, CURR_DB));
    OK(d_reclock(LEAF, "w", &second, CURR_DB));
    OK(d_crset(&leaf, &second, CURR_DB));
    OK(d_disdel(&second, CURR_DB));
    OK(d_trend(&second));
    STATUS(S_SETCLASH, d_findnm(LEAVES, HERE));
    CHECK(member_of(LEAVES) == NULL_DBA && owner_of(LEAVES) == owner);
    STATUS(S_EOS, d_findnm(LEAVES, HERE));
    OK(d_closetask(&second));
    STATUS(S_DELETED, d_recread(&leaf, HERE));
}

static void transactions(void)
{
    uint64_t id = 0;
    char mode = '?';
    long code = 1;
    struct Owner owner;
    STATUS(S_TRNOTACT, d_trend(&task));
    STATUS(S_TRNOTACT, d_trabort(&task));
    STATUS(S_TRNOTACT, d_trroend(&task));
    STATUS(S_TRANSID, d_trbegin("", &task));
    STATUS(S_TRANSID, d_trbegin(0, &task));
    STATUS(S_NOTRANS, d_reclock(OWNER, "w", HERE));
    STATUS(S_BADTYPE, d_reclock(OWNER, "z", HERE));
    STATUS(S_INVPTR, d_reclock(OWNER, 0, HERE));
    STATUS(S_INVREC, d_reclock(CHAIN, "r", HERE));
    STATUS(S_NOTLOCKED, d_reclock(OWNER, "k", HERE));
    STATUS(S_NOTLOCKED, d_recfree(OWNER, HERE));
    OK(d_reclstat(OWNER, &mode, HERE));
    CHECK(mode == 'f');
    STATUS(S_INVPTR, d_reclstat(OWNER, 0, HERE));
    memset(&owner, 0, sizeof owner);
    STATUS(S_NOTLOCKED, d_fillnew(OWNER, &owner, HERE));
    OK(d_reclock(OWNER, "x", HERE));
    STATUS(S_TRNOTACT, d_fillnew(OWNER, &owner, HERE));
    STATUS(S_HASWRITELOCKS, d_trrobegin(HERE, &id));
    STATUS(S_NOTFREE, d_reclock(OWNER, "r", HERE));
    OK(d_recfree(OWNER, HERE));
    OK(d_reclock(OWNER, "r", HERE));
    STATUS(S_NOTFREE, d_reclock(OWNER, "r", HERE));
    OK(d_trbegin("one", &task));
    STATUS(S_TRACTIVE, d_trbegin("two", &task));
    STATUS(S_TRACTIVE, d_trrobegin(HERE, &id));
    STATUS(S_TRFREE, d_recfree(OWNER, HERE));
    STATUS(S_NOTLOCKED, d_fillnew(OWNER, &owner, HERE));
    OK(d_reclock(OWNER, "w", HERE));
    OK(d_reclstat(OWNER, &mode, HERE));
    CHECK(mode == 'w');
    STATUS(S_NOTFREE, d_reclock(OWNER, "w", HERE));
    OK(d_keyfind(CODE, &code, HERE));
    new_owner(400, 0);
    OK(d_trend(&task));
    /* Currency outlives the transaction, places in keys and in walks too. */
    CHECK(code_now() == 400);
    OK(d_keynext(CODE, HERE));
    CHECK(code_now() == 4);
    OK(d_recset(OWNER, HERE));
    OK(d_recnext(HERE));
    OK(d_reclstat(OWNER, &mode, HERE));
    CHECK(mode == 'f');
    OK(d_trbegin("three", &task));
    OK(d_reclock(OWNER, "w", HERE));
    OK(d_reclock(OWNER, "k", HERE));
    new_owner(401, 0);
    OK(d_trend(&task));
    OK(d_reclstat(OWNER, &mode, HERE));
    CHECK(mode == 'k');
    OK(d_recfree(OWNER, HERE));
    OK(d_trbegin("four", &task));
    OK(d_reclock(OWNER, "w", HERE));
    new_owner(402, 0);
    OK(d_trabort(&task));
    STATUS(S_DELETED, d_recread(&owner, HERE));
    code = 402;
    STATUS(S_NOTFOUND, d_keyfind(CODE, &code, HERE));
    OK(d_trrobegin(HERE, &id));
    STATUS(S_ROTACTIVE, d_trrobegin(HERE, &id));
    STATUS(S_ROTACTIVE, d_trbegin("five", &task));
    STATUS(S_ROTACTIVE, d_reclock(OWNER, "r", HERE));
    STATUS(S_TRNOTACT, d_trend(&task));
    OK(d_keylast(CODE, HERE));
    CHECK(code_now() == 401);
    OK(d_trroend(&task));
    OK(d_trrobegin(HERE, 0));
    OK(d_trroend(&task));
    OK(d_reclock(OWNER, "x", HERE));
    OK(d_trbegin("six", &task));
    OK(d_keylast(CODE, HERE));
    OK(d_delete(HERE));
    OK(d_trend(&task));
    OK(d_reclstat(OWNER, &mode, HERE));
    CHECK(mode == 'x');
    OK(d_close(&task));
}

static void write_file(const char *file, const char *text)
{
    FILE *stream = fopen(file, "wb");
    CHECK(stream && fputs(text, stream) >= 0 && fclose(stream) == 0);
}

static void files(void)
{
    DB_TASK *pointer = 0;
    struct stat status;
    CHECK(stat("ring.db", &status) == 0 && S_ISDIR(status.st_mode));
    CHECK(rename("ring.db", "kept.db") == 0);
    /* What is no image is not made a database of; what is no folder is none. */
    write_file("ring.image", "RMNTIMG1 and no more");
    STATUS(S_DAMAGED, d_open("ring", "s", &task));
    STATUS(S_DBOPEN, d_recfrst(OWNER, HERE));
    CHECK(stat("ring.image", &status) == 0 && stat("ring.db", &status) != 0);
    CHECK(truncate("ring.image", 0) == 0);
    STATUS(S_DAMAGED, d_open("ring", "o", &task));
    CHECK(remove("ring.image") == 0 && mkdir("ring.image", 0700) == 0);
    STATUS(S_NOFILE, d_open("ring", "s", &task));
    CHECK(rmdir("ring.image") == 0);
    write_file("ring.db", "a file");
    STATUS(S_NOFILE, d_open("ring", "s", &task));
    CHECK(remove("ring.db") == 0);
    OK(d_open("ring", "s", &task));
    STATUS(S_NOTFOUND, d_recfrst(OWNER, HERE));
    OK(d_close(&task));
    /* The folder goes away while the database is open. */
    CHECK(mkdir("here", 0700) == 0);
    OK(d_open("here/ring", "o", &task));
    new_owner(1, 1);
    CHECK(rename("here", "there") == 0);
    OK(d_close(&task));
    STATUS(S_DBOPEN, d_close(&task));
    CHECK(rename("there", "here") == 0);
    OK(d_open("here/ring", "o", &task));
    OK(d_recfrst(OWNER, HERE));
    OK(d_closetask(&task));
    /* A task that is a pointer. */
    OK(d_opentask(&pointer));
    OK(d_open("ring", "o", pointer));
    OK(d_syncfiles(0, pointer));
    STATUS(S_NOTFOUND, d_recfrst(OWNER, pointer, CURR_DB));
    OK(d_closetask(pointer));
    STATUS(S_INVTASK, d_closetask(pointer));
}

int main(void)
{
    tasks_and_opening();
    handler();
    nothing();
    records();
    walks();
    keys();
    equal_keys();
    sets();
    orders();
    clash();
    transactions();
    files();
    return 0;
}
