"""Makes the data and queries of TPC-DS with DuckDB's extension, which is DuckDB's own port of the
specification's generator.

Arguments: the scale factor, and a folder, in which it writes a file of rows for each table, with
bars between columns and nothing for NULL, and `queries.json`, pairs of a number and a text.
"""

import json
import os
import sys

import duckdb
import duckdb_extension_tpcds


def extension():
    for folder, _, files in os.walk(os.path.dirname(duckdb_extension_tpcds.__file__)):
        for file in files:
            if file.endswith(".duckdb_extension"):
                return os.path.join(folder, file)
    sys.exit("the package has no extension of DuckDB")


def main():
    scale, folder = sys.argv[1:]
    connection = duckdb.connect(config={"allow_unsigned_extensions": True})
    connection.execute(f"load '{extension()}'")
    connection.execute(f"call dsdgen(sf = {scale})")
    for (table,) in connection.execute("select table_name from duckdb_tables()").fetchall():
        options = "format csv, header false, delimiter '|', quote '', escape ''"
        connection.execute(f"copy {table} to '{folder}/{table}.tbl' ({options})")
    queries = connection.execute("select query_nr, query from tpcds_queries()").fetchall()
    with open(os.path.join(folder, "queries.json"), "w") as file:
        json.dump(queries, file)


main()
