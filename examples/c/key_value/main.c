/* Carts of a shop in a key/value database, its orders in a table, changed in one transaction.
 *
 * Threads fill carts and check them out. To check out is to draw an order's number from a sequence,
 * to insert the order as a row and to take the cart away: all of it, or nothing where a card is
 * declined or another thread was first. A secondary database finds the carts of a customer. At the
 * end every cent is in an order or still in a cart, and the orders' numbers have no holes.
 *
 *   main [--quick]
 */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <remanent.h>

enum { THREADS = 4, CUSTOMERS = 50, ITEMS = 6, TEXT = 24 };

static const char schema[] =
    "declare database shop;"
    "class Order {"
    "    unsigned<8> number;"
    "    unsigned<4> customer;"
    "    unsigned<8> cents;"
    "    unique tree <number> by_number;"
    "};";

static const rem_database *db;
static rem_kv carts, by_customer, counters;
static rem_kv_secondary of_customer;
static rem_kv_sequence numbers;
static rem_table orders;
static rem_column number, customer, cents;
static rem_index by_number;

struct worker {
    pthread_t thread;
    uint32_t first, sessions;
    uint64_t cents, declined, conflicts;
};

#define OK(call) ok(call, #call, __LINE__)

static void ok(rem_status status, const char *call, int line)
{
    if (status == REM_OK)
        return;
    printf("line %d: %s: %s %s\n", line, call, rem_status_name(status), rem_error_text());
    exit(1);
}

/* A cart's value is its customer, then the price of each item: numbers of four bytes. */
static uint32_t word_at(rem_blob cart, size_t place)
{
    uint32_t word;
    memcpy(&word, (const char *)cart.data + 4 * place, 4);
    return word;
}

static uint64_t sum_of(rem_blob cart)
{
    uint64_t sum = 0;
    size_t place;
    for (place = 1; place < cart.length / 4; place++)
        sum += word_at(cart, place);
    return sum;
}

/* The secondary key of a cart: its customer. */
static void find_customer(void *context, rem_blob key, rem_blob value, const rem_kv_keys *keys)
{
    (void)context;
    (void)key;
    rem_kv_key_add(keys, rem_blob_of(value.data, 4));
}

static void open_shop(void)
{
    rem_kv_sequence_options options;
    memset(&options, 0, sizeof(options));
    options.flags = REM_KV_SEQUENCE_INITIAL;
    options.initial = 1;
    OK(rem_open(NULL, &db));
    OK(rem_define(db, schema, strlen(schema), 0));
    OK(rem_table_find(db, "Order", &orders));
    OK(rem_column_find(db, orders, "number", &number));
    OK(rem_column_find(db, orders, "customer", &customer));
    OK(rem_column_find(db, orders, "cents", &cents));
    OK(rem_index_find(db, orders, "by_number", &by_number));
    OK(rem_kv_open(db, "carts", REM_KV_HASHED, &carts));
    OK(rem_kv_open(db, "by_customer", REM_KV_DUPLICATES, &by_customer));
    OK(rem_kv_open(db, "counters", 0, &counters));
    OK(rem_kv_associate(db, carts, by_customer, find_customer, NULL, &of_customer));
    OK(rem_kv_sequence_open(db, counters, rem_blob_of("orders", 6), &options, &numbers));
}

static rem_blob session_key(char *text, uint32_t session)
{
    return rem_blob_of(text, (size_t)snprintf(text, TEXT, "session %" PRIu32, session));
}

/* Fills a cart: the first item with its customer, the others behind; what they cost. */
static uint64_t fill(rem_blob key, uint32_t whose, unsigned *seed)
{
    uint32_t words[2], item;
    uint64_t sum;
    int items = rand_r(seed) % ITEMS;
    size_t length = sizeof(words);
    words[0] = whose;
    words[1] = 1 + (uint32_t)rand_r(seed) % 10000;
    sum = words[1];
    OK(rem_kv_put_one(db, carts, key, rem_blob_of(words, length), REM_KV_NO_OVERWRITE));
    while (items-- > 0) {
        const rem_transaction *tx;
        item = 1 + (uint32_t)rand_r(seed) % 10000;
        OK(rem_begin_write(db, NULL, &tx));
        OK(rem_kv_put_part(tx, carts, key, length, 0, rem_blob_of(&item, sizeof(item))));
        OK(rem_commit(tx));
        length += sizeof(item);
        sum += item;
    }
    return sum;
}

/* One attempt to make an order of a cart. */
static rem_status try_to_check_out(const rem_transaction *tx, rem_blob key)
{
    rem_blob cart;
    rem_draft draft;
    int64_t drawn;
    rem_status status = rem_kv_get(tx, carts, key, &cart);
    if (status == REM_OK)
        status = rem_kv_sequence_next_in(tx, numbers, &drawn);
    if (status != REM_OK)
        return status;
    OK(rem_draft_new(tx, orders, &draft));
    OK(rem_put_u64(&draft, number, (uint64_t)drawn));
    OK(rem_put_u32(&draft, customer, word_at(cart, 0)));
    OK(rem_put_u64(&draft, cents, sum_of(cart)));
    status = rem_insert(&draft, NULL);
    /* The cart that was read stays readable, here until the commit. */
    return status == REM_OK ? rem_kv_delete(tx, carts, key, NULL) : status;
}

static void check_out(struct worker *worker, rem_blob key, int is_declined)
{
    for (;;) {
        const rem_transaction *tx;
        rem_status status;
        OK(rem_begin_write(db, NULL, &tx));
        status = try_to_check_out(tx, key);
        if (status == REM_OK && is_declined) {
            OK(rem_rollback(tx));
            worker->declined++;
            return;
        }
        if (status == REM_OK)
            status = rem_commit(tx);
        else
            OK(rem_rollback(tx));
        if (status == REM_OK)
            return;
        if (status != REM_CONFLICT)
            OK(status);
        worker->conflicts++;
    }
}

static void *work(void *argument)
{
    struct worker *worker = (struct worker *)argument;
    unsigned seed = worker->first;
    uint32_t session;
    for (session = worker->first; session < worker->sessions; session += THREADS) {
        char text[TEXT];
        rem_blob key = session_key(text, session);
        worker->cents += fill(key, (uint32_t)rand_r(&seed) % CUSTOMERS, &seed);
        /* Every fifth customer leaves; every seventh of the others has no money. */
        if (session % 5 != 0)
            check_out(worker, key, session % 7 == 0);
    }
    return NULL;
}

/* What is in orders, whose numbers are 1, 2, 3 and so on. */
static uint64_t in_orders(const rem_transaction *tx, uint64_t *count)
{
    rem_cursor cursor;
    rem_row row;
    rem_status status;
    uint64_t sum = 0, found, amount;
    *count = 0;
    OK(rem_cursor_open(tx, by_number, &cursor));
    for (status = rem_cursor_first(&cursor, &row); status == REM_OK;
         status = rem_cursor_next(&cursor, &row)) {
        OK(rem_get_u64(&row, number, &found));
        OK(rem_get_u64(&row, cents, &amount));
        sum += amount;
        if (found != ++*count) {
            printf("order %" PRIu64 " has the number %" PRIu64 "\n", *count, found);
            exit(1);
        }
    }
    if (status != REM_NOT_FOUND)
        OK(status);
    return sum;
}

/* What is in carts, read many at once. */
static uint64_t in_carts(const rem_transaction *tx, uint64_t *count)
{
    static char buffer[4096];
    rem_kv_cursor cursor;
    rem_blob rest, key, cart;
    rem_status status;
    uint64_t sum = 0;
    size_t length;
    *count = 0;
    OK(rem_kv_cursor_open(tx, carts, &cursor));
    while ((status = rem_kv_cursor_bulk(&cursor, buffer, sizeof(buffer), &length)) == REM_OK) {
        rest = rem_blob_of(buffer, length);
        while (rem_kv_bulk_next(&rest, &key, &cart)) {
            sum += sum_of(cart);
            ++*count;
        }
    }
    if (status != REM_NOT_FOUND)
        OK(status);
    return sum;
}

/* The same, from customer to customer through the secondary database. */
static uint64_t in_carts_of_customers(const rem_transaction *tx)
{
    uint64_t sum = 0;
    uint32_t whose;
    rem_kv_cursor cursor;
    OK(rem_kv_secondary_cursor_open(tx, of_customer, &cursor));
    for (whose = 0; whose < CUSTOMERS; whose++) {
        rem_blob key = rem_blob_of(&whose, sizeof(whose)), cart;
        rem_status status = rem_kv_cursor_get(&cursor, REM_KV_SET, &key, &cart);
        for (; status == REM_OK; status = rem_kv_cursor_get(&cursor, REM_KV_NEXT_DUP, &key, &cart))
            sum += word_at(cart, 0) == whose ? sum_of(cart) : 0;
        if (status != REM_NOT_FOUND)
            OK(status);
    }
    OK(rem_kv_cursor_close(&cursor));
    return sum;
}

int main(int argc, char **argv)
{
    const uint32_t sessions = argc > 1 && strcmp(argv[1], "--quick") == 0 ? 400 : 40000;
    struct worker workers[THREADS];
    const rem_transaction *tx;
    uint64_t put = 0, declined = 0, conflicts = 0, ordered, waiting, found;
    uint64_t orders_count, carts_count;
    uint32_t i;
    open_shop();
    memset(workers, 0, sizeof(workers));
    for (i = 0; i < THREADS; i++) {
        workers[i].first = i;
        workers[i].sessions = sessions;
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            return 1;
    }
    for (i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        put += workers[i].cents;
        declined += workers[i].declined;
        conflicts += workers[i].conflicts;
    }
    OK(rem_begin_read(db, NULL, &tx));
    ordered = in_orders(tx, &orders_count);
    waiting = in_carts(tx, &carts_count);
    found = in_carts_of_customers(tx);
    OK(rem_rollback(tx));
    printf("%" PRIu32 " carts: %" PRIu64 " ordered, %" PRIu64 " waiting, of which %" PRIu64
           " were declined; %" PRIu64 " conflicts\n", sessions, orders_count, carts_count, declined,
           conflicts);
    OK(rem_kv_sequence_close(db, numbers));
    OK(rem_kv_dissociate(db, of_customer));
    OK(rem_close(db));
    if (put != ordered + waiting || waiting != found || orders_count + carts_count != sessions) {
        printf("%" PRIu64 " put, but %" PRIu64 " ordered, %" PRIu64 " waiting, %" PRIu64
               " found by customer\n", put, ordered, waiting, found);
        return 1;
    }
    return 0;
}
