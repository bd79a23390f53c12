/* Text of any length in records of fixed length: cut into pieces, which are members of a set.
 *
 * Each measurement owns the pieces of its text in the set Spectra, whose members are records of
 * three types. d_cmtype and d_crtype tell which type a member has. Also here: a transaction that
 * is aborted half way, and what has to be done before an owner or a member may be deleted.
 *
 *   main [--quick]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mcs.h"

#define COUNT_MAX 3000
#define LENGTH_MAX 1000

static char texts[COUNT_MAX][LENGTH_MAX + 1];
static DB_TASK task;

#define EXPECT(expected, call) expect(expected, call, #call, __LINE__)

static void expect(int expected, int status, const char *call, int line)
{
    if (status == expected)
        return;
    printf("line %d: %s is %d, not %d: %s\n", line, call, status, expected, d_errmsg(&task));
    exit(1);
}

static void make_texts(int count)
{
    /* Lengths at which a piece is just full, or just not. */
    static const int borders[] = {0, 1, 99, 100, 101, 199, 200, 299, 300, 301, 600, 999, 1000};
    const int borders_count = (int)(sizeof(borders) / sizeof(borders[0]));
    int i, j;
    for (i = 0; i < count; i++) {
        int length = i < borders_count ? borders[i] : rand() % (LENGTH_MAX + 1);
        for (j = 0; j < length; j++)
            texts[i][j] = (char)('!' + rand() % 94);
    }
}

static void lock_to_write(void)
{
    EXPECT(S_OKAY, d_reclock(MEASURE, "w", &task, CURR_DB));
    EXPECT(S_OKAY, d_reclock(TEXT100, "w", &task, CURR_DB));
    EXPECT(S_OKAY, d_reclock(TEXT200, "w", &task, CURR_DB));
    EXPECT(S_OKAY, d_reclock(TEXT300, "w", &task, CURR_DB));
}

/* Connects a text to the current owner, the largest pieces first; only the last may have room. */
static void put_text(const char *text)
{
    while (*text) {
        size_t left = strlen(text), length;
        struct Text100 text100;
        struct Text200 text200;
        struct Text300 text300;
        if (left >= sizeof(text300.spectra300)) {
            length = sizeof(text300.spectra300);
            memcpy(text300.spectra300, text, length);
            EXPECT(S_OKAY, d_fillnew(TEXT300, &text300, &task, CURR_DB));
        } else if (left >= sizeof(text200.spectra200)) {
            length = sizeof(text200.spectra200);
            memcpy(text200.spectra200, text, length);
            EXPECT(S_OKAY, d_fillnew(TEXT200, &text200, &task, CURR_DB));
        } else {
            length = left < sizeof(text100.spectra100) ? left : sizeof(text100.spectra100);
            memset(&text100, 0, sizeof(text100));
            memcpy(text100.spectra100, text, length);
            EXPECT(S_OKAY, d_fillnew(TEXT100, &text100, &task, CURR_DB));
        }
        EXPECT(S_OKAY, d_connect(SPECTRA, &task, CURR_DB));
        text += length;
    }
}

/* Puts the pieces of the current record's text together again. */
static void get_text(char *text)
{
    int stat;
    EXPECT(S_OKAY, d_setor(SPECTRA, &task, CURR_DB));
    *text = 0;
    for (stat = d_findfm(SPECTRA, &task, CURR_DB); stat == S_OKAY;
         stat = d_findnm(SPECTRA, &task, CURR_DB)) {
        union {
            struct Text100 text100;
            struct Text200 text200;
            struct Text300 text300;
            char letters[300];
        } piece;
        int member, record;
        size_t size;
        EXPECT(S_OKAY, d_cmtype(SPECTRA, &member, &task, CURR_DB));
        EXPECT(S_OKAY, d_crtype(&record, &task, CURR_DB));
        if (member != record)
            EXPECT(member, record);
        size = record == TEXT300 ? 300 : record == TEXT200 ? 200 : 100;
        EXPECT(S_OKAY, d_recread(&piece, &task, CURR_DB));
        /* A piece that is full has no NUL. */
        strncat(text, piece.letters, size);
    }
    EXPECT(S_EOS, stat);
}

static void find(int number)
{
    struct Measure measure;
    memset(&measure, 0, sizeof(measure));
    measure.sensor_id = number / 10;
    measure.m_timestamp = number;
    EXPECT(S_OKAY, d_keyfind(SENSORS, &measure, &task, CURR_DB));
    EXPECT(S_OKAY, d_recread(&measure, &task, CURR_DB));
    EXPECT(number % 7, measure.thing.a);
}

static void write_all(int from, int to)
{
    int i;
    for (i = from; i < to; i++) {
        struct Measure measure;
        memset(&measure, 0, sizeof(measure));
        measure.sensor_id = i / 10;
        measure.m_timestamp = i;
        measure.thing.a = (short)(i % 7);
        EXPECT(S_OKAY, d_fillnew(MEASURE, &measure, &task, CURR_DB));
        EXPECT(S_OKAY, d_setor(SPECTRA, &task, CURR_DB));
        put_text(texts[i]);
    }
}

static void verify(int count)
{
    int i, stat, found = 0;
    for (i = 0; i < count; i++) {
        static char text[LENGTH_MAX + 1];
        find(i);
        get_text(text);
        if (strcmp(text, texts[i])) {
            printf("text %d is not what was written: %s\n", i, text);
            exit(1);
        }
    }
    for (stat = d_recfrst(MEASURE, &task, CURR_DB); stat == S_OKAY;
         stat = d_recnext(&task, CURR_DB))
        found++;
    EXPECT(S_NOTFOUND, stat);
    EXPECT(count, found);
}

static void delete_all(int count)
{
    int i, stat;
    EXPECT(S_OKAY, d_trbegin("delete", &task));
    lock_to_write();
    for (i = 0; i < count; i++) {
        find(i);
        if (*texts[i]) {
            EXPECT(S_HASMEM, d_delete(&task, CURR_DB));
            EXPECT(S_OKAY, d_setor(SPECTRA, &task, CURR_DB));
            EXPECT(S_OKAY, d_findlm(SPECTRA, &task, CURR_DB));
            EXPECT(S_ISMEM, d_delete(&task, CURR_DB));
        }
        EXPECT(S_OKAY, (find(i), d_setor(SPECTRA, &task, CURR_DB)));
        /* Every other owner first loses its members one by one; the pieces go with them. */
        while (i % 2 && d_findfm(SPECTRA, &task, CURR_DB) == S_OKAY)
            EXPECT(S_OKAY, d_disdel(&task, CURR_DB));
        find(i);
        EXPECT(S_OKAY, i % 2 ? d_delete(&task, CURR_DB) : d_disdel(&task, CURR_DB));
        EXPECT(S_NOCR, d_delete(&task, CURR_DB));
    }
    /* What was disconnected is still there, on its own. */
    for (stat = d_recfrst(TEXT300, &task, CURR_DB); stat == S_OKAY;
         stat = d_recnext(&task, CURR_DB)) {
        EXPECT(S_EOS, d_ismember(SPECTRA, &task, CURR_DB));
        EXPECT(S_OKAY, d_delete(&task, CURR_DB));
    }
    EXPECT(S_OKAY, d_trend(&task));
    EXPECT(S_NOTFOUND, d_recfrst(MEASURE, &task, CURR_DB));
    EXPECT(S_NOTFOUND, d_recfrst(TEXT300, &task, CURR_DB));
}

int main(int argc, char **argv)
{
    int count = argc > 1 && strcmp(argv[1], "--quick") == 0 ? 100 : COUNT_MAX;
    int half = count / 2;

    make_texts(count);
    if (d_opentask(&task) != S_OKAY)
        return 1;
    /* What an earlier run left goes. */
    EXPECT(S_OKAY, d_open("mcs", "o", &task));
    EXPECT(S_OKAY, d_initialize(&task, CURR_DB));
    EXPECT(S_OKAY, d_close(&task));

    EXPECT(S_OKAY, d_dbuserid("strings", &task));
    EXPECT(S_OKAY, d_open("mcs", "s", &task));
    EXPECT(S_OKAY, d_trbegin("first", &task));
    lock_to_write();
    write_all(0, half);
    EXPECT(S_OKAY, d_trend(&task));
    verify(half);

    EXPECT(S_OKAY, d_trbegin("second", &task));
    lock_to_write();
    write_all(half, half + half / 2);
    EXPECT(S_OKAY, d_trabort(&task));
    verify(half);

    EXPECT(S_OKAY, d_trbegin("third", &task));
    lock_to_write();
    write_all(half, count);
    EXPECT(S_OKAY, d_trend(&task));
    verify(count);

    delete_all(count);
    EXPECT(S_OKAY, d_closetask(&task));
    printf("%d texts in pieces: written, aborted, read back and deleted\n", count);
    return 0;
}
