// Stock on shelves, over the C++ wrapper: threads move parts between shelves and none gets lost.
//
// Each move is a transaction that reads two rows and changes both. Where two threads change the
// same shelf at once, one of them gets a conflict, and Database::write runs its work once more.
//
//   main [--quick]
#include <cstdint>
#include <iostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <remanent.hpp>

namespace {

constexpr std::uint32_t shelves_count = 20;
constexpr std::int64_t parts_each = 1000;

struct Stock {
    explicit Stock(remanent::Database &db)
        : db(db), shelves(db.table("Shelf")), name(db.column(shelves, "name")),
          parts(db.column(shelves, "parts")), by_name(db.index(shelves, "by_name")) {}

    // Moves parts from shelf to shelf, or fewer if there are not so many.
    void move(const std::string &from, const std::string &to, std::int64_t count) {
        db.write([&](remanent::WriteTransaction &tx) {
            const auto source = tx.find(by_name, {from}), target = tx.find(by_name, {to});
            const std::int64_t there = source->get<std::int64_t>(parts).value();
            const std::int64_t moved = there < count ? there : count;
            tx.draft(*source).put(parts, there - moved).update(source->id());
            const std::int64_t before = target->get<std::int64_t>(parts).value();
            tx.draft(*target).put(parts, before + moved).update(target->id());
        });
    }

    std::int64_t total() const {
        remanent::ReadTransaction tx(db.handle());
        std::int64_t sum = 0;
        for (const auto &row : tx.scan(shelves)) {
            sum += row.get<std::int64_t>(parts).value();
        }
        return sum;
    }

    remanent::Database &db;
    rem_table shelves;
    rem_column name, parts;
    rem_index by_name;
};

std::string shelf(std::uint32_t number) { return "shelf " + std::to_string(number); }

void move_at_random(Stock &stock, unsigned seed, int count) {
    std::mt19937 random(seed);
    for (int i = 0; i < count; ++i) {
        const std::uint32_t from = random() % shelves_count;
        const std::uint32_t to = (from + 1 + random() % (shelves_count - 1)) % shelves_count;
        stock.move(shelf(from), shelf(to), random() % 50);
    }
}

int run(int count) {
    remanent::Database db;
    db.define("declare database stock;"
              "class Shelf { string name; signed<8> parts; unique tree <name> by_name; };");
    Stock stock(db);
    db.write([&](remanent::WriteTransaction &tx) {
        for (std::uint32_t i = 0; i < shelves_count; ++i) {
            tx.draft(stock.shelves).put(stock.name, shelf(i)).put(stock.parts, parts_each).insert();
        }
    });
    std::vector<std::thread> threads;
    for (unsigned seed = 1; seed <= 4; ++seed) {
        threads.emplace_back(move_at_random, std::ref(stock), seed, count);
    }
    bool constant = true;
    for (int i = 0; i < 100; ++i) {
        constant = constant && stock.total() == shelves_count * parts_each;
    }
    for (auto &thread : threads) {
        thread.join();
    }
    constant = constant && stock.total() == shelves_count * parts_each;
    std::cout << 4 * count << " moves between " << shelves_count << " shelves; parts "
              << (constant ? "stay" : "DO NOT STAY") << " the same\n";
    return constant ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
    try {
        return run(argc > 1 && std::string(argv[1]) == "--quick" ? 200 : 20000);
    } catch (const remanent::Error &error) {
        std::cout << error.what() << '\n';
        return 1;
    }
}
