// Both forms of a task in C++, and a database that is saved for d_changed.c.
#include "ring.h"

static DB_TASK *task;
static const char *error_text() { return d_errmsg(task); }
#define ERROR_TEXT error_text
#include "check.h"

int main() {
    DB_TASK other;
    OK(d_opentask(&task));
    OK(d_opentask(&other));
    OK(d_dbuserid("pointer", task));
    OK(d_dbuserid("value", &other));
    OK(d_open("ring", "s", task));
    OK(d_open("ring", "s", &other));
    OK(d_trbegin("save", task));
    OK(d_reclock(OWNER, "w", task, CURR_DB));
    Owner owner = {};
    owner.code = 7;
    OK(d_fillnew(OWNER, &owner, task, CURR_DB));
    OK(d_trend(task));
    OK(d_keyfind(CODE, &owner.code, &other, CURR_DB));
    OK(d_closetask(&other));
    OK(d_closetask(task));
    STATUS(S_INVTASK, d_closetask(task));
    return 0;
}
