/* Opens the database that d_saved.c wrote, compiled with another schema of it. */
#include "ring.h"

static DB_TASK task;
static const char *error_text(void)
{
    return d_errmsg(&task);
}
#define ERROR_TEXT error_text
#include "check.h"

int main(void)
{
    OK(d_opentask(&task));
    STATUS(S_DAMAGED, d_open("ring", "s", &task));
    STATUS(S_DBOPEN, d_recfrst(OWNER, &task, CURR_DB));
    STATUS(S_DAMAGED, d_open("ring", "x", &task));
    OK(d_closetask(&task));
    return 0;
}
