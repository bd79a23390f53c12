/* The program of d_readers.c with a database on the disk: its schema is not inmemory. The file
 * rdm.ini says whether a transaction's end waits for the disk, as the document has it.
 */
#define _POSIX_C_SOURCE 200809L
#define LAB_R(name) lab_readers_kept_##name
#define LAB_R_DATABASE "lab_readers_kept"
#include "readers_d_kept.h"

#include "d_readers.c"
