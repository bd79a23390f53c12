// The C++ wrapper: a table written, read, scanned, and an error thrown.
#include <remanent.hpp>

#define ERROR_TEXT rem_error_text
#include "check.h"

int main() {
    remanent::Database db;
    db.define("declare database d;\n"
              "class City { string name; nullable unsigned<4> people; unique tree <name> by_name; };");
    const rem_table cities = db.table("City");
    const rem_column name = db.column(cities, "name"), people = db.column(cities, "people");
    const rem_index by_name = db.index(cities, "by_name");
    db.write([&](remanent::WriteTransaction &tx) {
        tx.draft(cities).put(name, "Ulm").put(people, 126000u).insert();
        tx.draft(cities).put(name, "Bonn").insert();
    });
    {
        remanent::ReadTransaction tx(db.handle());
        const auto ulm = tx.find(by_name, {"Ulm"});
        CHECK(ulm && ulm->text(name) == "Ulm" && ulm->get<std::uint32_t>(people) == 126000u);
        CHECK(!tx.find(by_name, {"Aalen"}));
        std::size_t count = 0;
        for (const auto &row : tx.scan(cities)) {
            count += row.is_null(people) ? 10 : 1;
        }
        CHECK(count == 11);
        auto cursor = tx.cursor(by_name);
        CHECK(cursor.first()->text(name) == "Bonn" && cursor.next()->text(name) == "Ulm");
        CHECK(!cursor.next() && cursor.find(REM_AT_LEAST, {"C"})->text(name) == "Ulm");
    }
    try {
        remanent::WriteTransaction tx(db.handle());
        tx.draft(cities).put(name, "Ulm").insert();
        CHECK(false);
    } catch (const remanent::Error &error) {
        CHECK(error.status() == REM_DUPLICATE_KEY);
    }
    return 0;
}
