/* The sensor workload in the d_-style with a database on the disk: the program of d.c, whose schema
 * is not inmemory. Opened so that a transaction's end waits for the disk, or for the system alone.
 */
#define _POSIX_C_SOURCE 200809L
#define LAB_D(name) lab_d_kept_##name
#define LAB_D_DATABASE "mcs_kept"
#include "sensors_d_kept.h"

#include "d.c"

void *lab_d_kept_open_synced(const char *folder, uint64_t bytes, char *failure)
{
    (void)bytes;
    return opened(folder, 1, failure);
}
