/* An order book over the native interface: orders meet by price, then by age.
 *
 * An order that comes in is filled from the best orders of the other side; what is left of it waits
 * in the book. A fill-or-kill order that cannot be filled whole takes nothing: what it has taken
 * is given back by rolling back to a savepoint. At the end nothing may have come into being or got
 * lost: what was ordered is what was traded, cancelled and is still waiting.
 *
 *   main [--quick]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <remanent.h>

enum { BUY = 0, SELL = 1 };

static const char schema[] =
    "declare database book;"
    "class Waiting {"
    "    unsigned<8> number;"
    "    unsigned<1> side;"
    "    signed<8> price;"
    "    unsigned<4> quantity;"
    "    string account;"
    "    unique hash <number> by_number[1000];"
    "    unique tree <side, price, number> cheapest;"
    "    unique tree <side, price desc, number> dearest;"
    "};"
    "class Trade {"
    "    unsigned<8> buyer;"
    "    unsigned<8> seller;"
    "    signed<8> price;"
    "    unsigned<4> quantity;"
    "};";

struct order {
    uint64_t number;
    uint8_t side;
    int64_t price;
    uint32_t quantity;
    int all_or_nothing;
    char account[24];
};

static const rem_database *db;
static rem_table waiting, trades;
static rem_column number, side, price, quantity, account;
static rem_column buyer, seller, trade_price, trade_quantity;
static rem_index by_number, cheapest, dearest;

#define OK(call) ok(call, #call, __LINE__)

static void ok(rem_status status, const char *call, int line)
{
    if (status == REM_OK)
        return;
    printf("line %d: %s: %s %s\n", line, call, rem_status_name(status), rem_error_text());
    exit(1);
}

static void open_book(void)
{
    OK(rem_open(NULL, &db));
    OK(rem_define(db, schema, strlen(schema), 0));
    OK(rem_table_find(db, "Waiting", &waiting));
    OK(rem_column_find(db, waiting, "number", &number));
    OK(rem_column_find(db, waiting, "side", &side));
    OK(rem_column_find(db, waiting, "price", &price));
    OK(rem_column_find(db, waiting, "quantity", &quantity));
    OK(rem_column_find(db, waiting, "account", &account));
    OK(rem_index_find(db, waiting, "by_number", &by_number));
    OK(rem_index_find(db, waiting, "cheapest", &cheapest));
    OK(rem_index_find(db, waiting, "dearest", &dearest));
    OK(rem_table_find(db, "Trade", &trades));
    OK(rem_column_find(db, trades, "buyer", &buyer));
    OK(rem_column_find(db, trades, "seller", &seller));
    OK(rem_column_find(db, trades, "price", &trade_price));
    OK(rem_column_find(db, trades, "quantity", &trade_quantity));
}

static void add_trade(const rem_transaction *tx, const struct order *order, uint64_t other,
                      int64_t at, uint32_t filled)
{
    rem_draft draft;
    OK(rem_draft_new(tx, trades, &draft));
    OK(rem_put_u64(&draft, buyer, order->side == BUY ? order->number : other));
    OK(rem_put_u64(&draft, seller, order->side == BUY ? other : order->number));
    OK(rem_put_i64(&draft, trade_price, at));
    OK(rem_put_u32(&draft, trade_quantity, filled));
    OK(rem_insert(&draft, NULL));
    OK(rem_draft_free(&draft));
}

/* Fills an order from the other side; what is left of it. */
static uint32_t fill(const rem_transaction *tx, const struct order *order)
{
    const rem_value other_side = rem_u32(order->side == BUY ? SELL : BUY);
    uint32_t left = order->quantity;
    while (left > 0) {
        rem_cursor cursor;
        rem_row row;
        rem_status found;
        uint64_t other;
        int64_t at;
        uint32_t there, filled;
        OK(rem_cursor_open(tx, order->side == BUY ? cheapest : dearest, &cursor));
        found = rem_cursor_find(&cursor, REM_EQUAL, &other_side, 1, &row);
        OK(rem_cursor_close(&cursor));
        if (found == REM_NOT_FOUND)
            break;
        OK(found);
        OK(rem_get_i64(&row, price, &at));
        if (order->side == BUY ? at > order->price : at < order->price)
            break;
        OK(rem_get_u64(&row, number, &other));
        OK(rem_get_u32(&row, quantity, &there));
        filled = there < left ? there : left;
        if (filled == there) {
            OK(rem_delete(tx, waiting, row.id));
        } else {
            rem_draft draft;
            OK(rem_draft_load(&row, &draft));
            OK(rem_put_u32(&draft, quantity, there - filled));
            OK(rem_update(&draft, row.id));
            OK(rem_draft_free(&draft));
        }
        add_trade(tx, order, other, at, filled);
        left -= filled;
    }
    return left;
}

/* How much of the order was taken into the book or filled: all of it, or nothing. */
static uint32_t submit(const struct order *order)
{
    const rem_transaction *tx;
    rem_savepoint before;
    uint32_t left, taken = order->quantity;
    OK(rem_begin_write(db, NULL, &tx));
    OK(rem_savepoint_set(tx, &before));
    left = fill(tx, order);
    if (left > 0 && order->all_or_nothing) {
        OK(rem_rollback_to(&before));
        taken = 0;
    } else if (left > 0) {
        rem_draft draft;
        OK(rem_draft_new(tx, waiting, &draft));
        OK(rem_put_u64(&draft, number, order->number));
        OK(rem_put_u8(&draft, side, order->side));
        OK(rem_put_i64(&draft, price, order->price));
        OK(rem_put_u32(&draft, quantity, left));
        OK(rem_put_text(&draft, account, order->account, strlen(order->account)));
        OK(rem_insert(&draft, NULL));
    }
    OK(rem_commit(tx));
    return taken;
}

/* Takes an order out of the book; how much of it was still there. */
static uint32_t cancel(uint64_t which)
{
    const rem_transaction *tx;
    const rem_value key = rem_u64(which);
    rem_row row;
    uint32_t there = 0;
    rem_status found;
    OK(rem_begin_write(db, NULL, &tx));
    found = rem_find(tx, by_number, &key, 1, &row);
    if (found != REM_NOT_FOUND) {
        OK(found);
        OK(rem_get_u32(&row, quantity, &there));
        OK(rem_delete(tx, waiting, row.id));
    }
    OK(rem_commit(tx));
    return there;
}

static uint64_t total(const rem_transaction *tx, rem_table table, rem_column column, long *rows)
{
    rem_cursor scan;
    rem_row row;
    uint64_t sum = 0;
    *rows = 0;
    OK(rem_scan_open(tx, table, &scan));
    while (rem_cursor_next(&scan, &row) == REM_OK) {
        uint32_t amount;
        OK(rem_get_u32(&row, column, &amount));
        sum += amount;
        ++*rows;
    }
    OK(rem_cursor_close(&scan));
    return sum;
}

static void show_best(const rem_transaction *tx, rem_index index, uint32_t of, const char *title)
{
    const rem_value key = rem_u32(of);
    rem_cursor cursor;
    rem_row row;
    OK(rem_cursor_open(tx, index, &cursor));
    if (rem_cursor_find(&cursor, REM_EQUAL, &key, 1, &row) == REM_OK) {
        const char *text;
        size_t length;
        int64_t at;
        uint32_t there;
        OK(rem_get_i64(&row, price, &at));
        OK(rem_get_u32(&row, quantity, &there));
        OK(rem_get_text(&row, account, &text, &length));
        printf("%s: %" PRIu32 " at %" PRId64 " from %.*s\n", title, there, at, (int)length, text);
    }
    OK(rem_cursor_close(&cursor));
}

int main(int argc, char **argv)
{
    const uint64_t count = argc > 1 && strcmp(argv[1], "--quick") == 0 ? 1000 : 50000;
    const rem_transaction *tx;
    uint64_t i, ordered = 0, cancelled = 0, traded, left;
    long trades_count, waiting_count;
    open_book();
    for (i = 1; i <= count; i++) {
        struct order order;
        order.number = i;
        order.side = rand() % 2 ? BUY : SELL;
        order.price = 10000 + rand() % 100 - (order.side == BUY ? 60 : 40);
        order.quantity = 1 + (uint32_t)rand() % 500;
        order.all_or_nothing = rand() % 10 == 0;
        snprintf(order.account, sizeof(order.account), "account %d", rand() % 100);
        ordered += submit(&order);
        if (i % 7 == 0)
            cancelled += cancel(1 + (uint64_t)rand() % i);
    }
    OK(rem_begin_read(db, NULL, &tx));
    show_best(tx, dearest, BUY, "best bid");
    show_best(tx, cheapest, SELL, "best offer");
    traded = total(tx, trades, trade_quantity, &trades_count);
    left = total(tx, waiting, quantity, &waiting_count);
    OK(rem_rollback(tx));
    printf("%" PRIu64 " orders, %ld trades, %ld orders waiting\n", count, trades_count,
           waiting_count);
    OK(rem_close(db));
    /* A trade takes its quantity from an order of each side. */
    if (ordered != 2 * traded + cancelled + left) {
        printf("%" PRIu64 " ordered, but %" PRIu64 " traded, %" PRIu64 " cancelled, %" PRIu64
               " waiting\n", ordered, traded, cancelled, left);
        return 1;
    }
    return 0;
}
