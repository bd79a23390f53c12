/* What every program here offers to the laboratory: one call is one transaction.
 *
 * A failure is told in words: they are written to `failure`, FAILURE_SIZE bytes of the caller's.
 */
#ifndef LAB_STORE_H
#define LAB_STORE_H

#include <stdint.h>
#include <stdio.h>

#define FAILURE_SIZE 256
#define SPECTRA_MAX 1000

enum { LAB_ABSENT = 0, LAB_DONE = 1, LAB_FAILED = -1 };

/* The application's record; `MeasureBuffer` of the harness. */
struct lab_measure {
    uint32_t sensor_id;
    uint32_t timestamp;
    int16_t thing;
    uint16_t spectra_len;
    char spectra[SPECTRA_MAX];
};

static inline int lab_fail(char *failure, const char *what, int status, const char *words)
{
    snprintf(failure, FAILURE_SIZE, "%s: %d %s", what, status, words ? words : "");
    return LAB_FAILED;
}

#endif
