/* Writes to a database and says what was acknowledged, until it is killed; with the word "check" it
 * says whether all of that is there. Owner N has N leaves or none: both come in one transaction. */
#include <string.h>

#include "ring.h"

static DB_TASK task;

static const char *error_text(void)
{
    return d_errmsg(&task);
}
#define ERROR_TEXT error_text
#include "check.h"

#define HERE &task, CURR_DB
#define LEAVES_MAX 5

static long leaves_of(long code)
{
    return code % LEAVES_MAX;
}

/* Whether an owner is there; its leaves are, too. */
static int is_whole(long code)
{
    long count, number;
    int status = d_keyfind(CODE, &code, HERE);
    if (status == S_NOTFOUND)
        return 0;
    OK(status);
    OK(d_setor(LEAVES, HERE));
    OK(d_members(LEAVES, &count, HERE));
    CHECK(count == leaves_of(code));
    for (status = d_findfm(LEAVES, HERE); !status; status = d_findnm(LEAVES, HERE)) {
        OK(d_crread(NUMBER, &number, HERE));
        CHECK(number == code);
    }
    STATUS(S_EOS, status);
    return 1;
}

/* From this code on; the number of each transaction follows when it was acknowledged. */
static void write_on(long code)
{
    for (;; code++) {
        struct Owner owner;
        long number;
        OK(d_trbegin("write", &task));
        OK(d_reclock(OWNER, "w", HERE));
        OK(d_reclock(LEAF, "w", HERE));
        memset(&owner, 0, sizeof owner);
        owner.code = code;
        OK(d_fillnew(OWNER, &owner, HERE));
        OK(d_setor(LEAVES, HERE));
        for (number = 0; number < leaves_of(code); number++) {
            struct Leaf leaf = {code, 0.5};
            OK(d_fillnew(LEAF, &leaf, HERE));
            OK(d_connect(LEAVES, HERE));
        }
        if (code % 7 == 0) {
            OK(d_trabort(&task));
            continue;
        }
        OK(d_trend(&task));
        printf("%ld\n", code);
        fflush(stdout);
    }
}

/* d_killed write FIRST, or d_killed check LAST: all codes up to LAST, and none behind the next. */
int main(int argc, char **argv)
{
    long code, end;
    CHECK(argc == 3);
    end = atol(argv[2]);
    OK(d_opentask(&task));
    OK(d_open("ring", "s", &task));
    if (end % 2)
        OK(d_syncfiles(0, &task));
    if (strcmp(argv[1], "write") == 0)
        write_on(end);
    for (code = 1; code <= end; code++)
        CHECK(is_whole(code) == (code % 7 != 0));
    /* One more may be there, that was not acknowledged; behind it none. */
    code = end + 1 + ((end + 1) % 7 == 0);
    if (is_whole(code))
        end = code;
    CHECK(!is_whole(end + 1) && !is_whole(end + 2));
    printf("%ld\n", end);
    OK(d_closetask(&task));
    return 0;
}
