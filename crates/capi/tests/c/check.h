/* What the test programs check with. */
#ifndef CHECK_H
#define CHECK_H
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                          \
    do {                                                                                          \
        if (!(condition)) {                                                                       \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                       \
            exit(1);                                                                              \
        }                                                                                         \
    } while (0)

#define STATUS(expected, call)                                                                    \
    do {                                                                                          \
        int status_ = (int)(call);                                                                \
        if (status_ != (expected)) {                                                              \
            fprintf(stderr, "%s:%d: %s is %d, not %s (%s)\n", __FILE__, __LINE__, #call, status_, \
                    #expected, ERROR_TEXT());                                                     \
            exit(1);                                                                              \
        }                                                                                         \
    } while (0)

#define OK(call) STATUS(0, call)
#endif
