// pgjdbc against a server that PGHOST and PGPORT name; run from its source, with the driver on the
// class path. What differs from PostgreSQL stands in a comment beside the answer.

import java.math.BigDecimal;
import java.sql.Array;
import java.sql.BatchUpdateException;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.sql.Types;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Properties;
import java.util.UUID;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyManager;

public class JdbcCases {
    interface Case {
        void run(Connection connection) throws Exception;
    }

    static int failures;

    public static void main(String[] args) throws Exception {
        run("values of all types, as text and binary", JdbcCases::values);
        run("tables are described", JdbcCases::tables);
        run("columns are described", JdbcCases::columns);
        run("keys and indexes are described", JdbcCases::keys);
        run("what else is described", JdbcCases::rest);
        run("results and parameters are described", JdbcCases::results);
        run("batches", JdbcCases::batches);
        run("rows fetched a few at a time", JdbcCases::fetching);
        run("statements prepared by the server", JdbcCases::prepared);
        run("transactions and savepoints", JdbcCases::transactions);
        run("an error in a transaction", JdbcCases::errors);
        run("copy in and out", JdbcCases::copying);
        run("cancelling", JdbcCases::cancelling);
        System.exit(failures > 0 ? 1 : 0);
    }

    static Connection connect(String... settings) throws SQLException {
        Properties properties = new Properties();
        properties.setProperty("user", "tester");
        for (int i = 0; i < settings.length; i += 2) {
            properties.setProperty(settings[i], settings[i + 1]);
        }
        String at = System.getenv("PGHOST") + ":" + System.getenv("PGPORT");
        return DriverManager.getConnection("jdbc:postgresql://" + at + "/db", properties);
    }

    static void run(String name, Case body) throws Exception {
        long start = System.nanoTime();
        try (Connection connection = connect()) {
            clear(connection);
            body.run(connection);
            System.out.printf("ok: jdbc: %s (%.1f s)%n", name, (System.nanoTime() - start) / 1e9);
        } catch (Exception | AssertionError error) {
            failures++;
            System.out.println("FAILED: jdbc: " + name);
            System.out.println(error);
            Arrays.stream(error.getStackTrace())
                    .filter(frame -> frame.getClassName().equals("JdbcCases"))
                    .forEach(frame -> System.out.println("    " + frame));
        }
    }

    static void clear(Connection connection) throws SQLException {
        DatabaseMetaData data = connection.getMetaData();
        List<String> all = new ArrayList<>();
        try (ResultSet found = data.getTables(null, "public", "%", new String[] {"VIEW", "TABLE"})) {
            while (found.next()) {
                boolean isView = found.getString("TABLE_TYPE").equals("VIEW");
                String drop = (isView ? "drop view " : "drop table ") + found.getString("TABLE_NAME");
                all.add(isView ? 0 : all.size(), drop + " cascade");
            }
        }
        for (String drop : all) {
            connection.createStatement().execute(drop);
        }
    }

    static void same(Object wanted, Object found) {
        if (!Objects.deepEquals(wanted, found)) {
            throw new AssertionError("wanted " + wanted + ", found " + found);
        }
    }

    static String refused(String state, Case body, Connection connection) throws Exception {
        try {
            body.run(connection);
        } catch (SQLException error) {
            same(state, error.getSQLState());
            return error.getMessage();
        }
        throw new AssertionError("there was no " + state);
    }

    /// The named columns of all rows, joined by blanks.
    static List<String> rows(ResultSet found, String... names) throws SQLException {
        List<String> rows = new ArrayList<>();
        while (found.next()) {
            List<String> values = new ArrayList<>();
            for (String name : names) {
                values.add(String.valueOf(found.getString(name)));
            }
            rows.add(String.join(" ", values));
        }
        found.close();
        return rows;
    }

    static void execute(Connection connection, String... texts) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            for (String text : texts) {
                statement.execute(text);
            }
        }
    }

    static void shop(Connection connection) throws SQLException {
        execute(
                connection,
                "create table maker (id int generated by default as identity primary key, "
                        + "name varchar(40) not null unique)",
                "create table part (id bigint primary key, maker_id int not null references maker "
                        + "on delete cascade, name text default 'unnamed', price numeric(10,2))",
                "create index part_by_price on part (price desc, name)",
                "create table line (part_id bigint references part (id), no smallint, "
                        + "primary key (part_id, no))",
                "create view cheap as select id, price from part where price < 1",
                "comment on table part is 'what is sold'",
                "comment on column part.name is 'as sold'");
    }

    static void values(Connection unused) throws Exception {
        OffsetDateTime moment = OffsetDateTime.of(2024, 2, 29, 12, 0, 0, 1000, ZoneOffset.UTC);
        LocalDateTime local = LocalDateTime.of(1969, 7, 20, 20, 17, 40, 123456000);
        UUID uuid = UUID.fromString("123e4567-e89b-12d3-a456-426614174000");
        for (String threshold : new String[] {"0", "-1"}) {
            // -1: binary from the first time.
            try (Connection connection = connect("prepareThreshold", threshold)) {
                execute(
                        connection,
                        "drop table if exists v",
                        "create table v (id int primary key, b boolean, s smallint, l bigint, r real, "
                                + "d double precision, n numeric(20,4), t text, y bytea, da date, "
                                + "ti time, ts timestamp, tz timestamptz, u uuid, j json, a int[])");
                PreparedStatement insert = connection.prepareStatement(
                        "insert into v values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?::json, ?)");
                Object[] given = {1, true, (short) -7, 1L << 40, 1.5f, -2.25, new BigDecimal("12.3400"),
                    "gr\u00fcn '\\", new byte[] {0, -1}, LocalDate.of(1999, 12, 31),
                    LocalTime.of(23, 59, 58), local, moment, uuid, "{\"a\": 1}", null};
                for (int i = 0; i < given.length; i++) {
                    insert.setObject(i + 1, given[i]);
                }
                insert.setArray(16, connection.createArrayOf("int4", new Integer[] {1, 2, -3}));
                same(1, insert.executeUpdate());
                PreparedStatement select = connection.prepareStatement("select * from v where id = ?");
                for (int again = 0; again < 8; again++) {
                    select.setInt(1, 1);
                    ResultSet row = select.executeQuery();
                    same(true, row.next());
                    same(true, row.getBoolean("b"));
                    same((short) -7, row.getShort("s"));
                    same(1L << 40, row.getLong("l"));
                    same(1.5f, row.getFloat("r"));
                    same(-2.25, row.getDouble("d"));
                    same(new BigDecimal("12.3400"), row.getBigDecimal("n"));
                    same("gr\u00fcn '\\", row.getString("t"));
                    same(new byte[] {0, -1}, row.getBytes("y"));
                    same(LocalDate.of(1999, 12, 31), row.getObject("da", LocalDate.class));
                    same(LocalTime.of(23, 59, 58), row.getObject("ti", LocalTime.class));
                    same(local, row.getObject("ts", LocalDateTime.class));
                    same(moment, row.getObject("tz", OffsetDateTime.class));
                    same(uuid, row.getObject("u"));
                    same("{\"a\": 1}", row.getString("j"));
                    Array array = row.getArray("a");
                    same(new Integer[] {1, 2, -3}, array.getArray());
                    same(false, row.next());
                }
            }
        }
    }

    static void tables(Connection connection) throws Exception {
        shop(connection);
        DatabaseMetaData data = connection.getMetaData();
        same(
                List.of("line TABLE null", "maker TABLE null", "part TABLE what is sold", "cheap VIEW null"),
                rows(
                        data.getTables(null, "public", "%", new String[] {"TABLE", "VIEW"}),
                        "TABLE_NAME", "TABLE_TYPE", "REMARKS"));
        same(
                List.of("part"),
                rows(data.getTables(null, null, "pa%", new String[] {"TABLE"}), "TABLE_NAME"));
        same(
                List.of("information_schema", "pg_catalog", "public"),
                rows(data.getSchemas(), "TABLE_SCHEM"));
        same(true, rows(data.getTableTypes(), "TABLE_TYPE").contains("VIEW"));
        same(true, rows(data.getCatalogs(), "TABLE_CAT").contains(connection.getCatalog()));
        same(List.of(), rows(data.getTables(null, "public", "nothing", null), "TABLE_NAME"));
    }

    static void columns(Connection connection) throws Exception {
        shop(connection);
        DatabaseMetaData data = connection.getMetaData();
        same(
                List.of(
                        "id -5 int8 19 0 NO null null 1 NO",
                        "maker_id 4 int4 10 0 NO null null 2 NO",
                        "name 12 text 2147483647 0 YES as sold 'unnamed' 3 NO",
                        "price 2 numeric 10 2 YES null null 4 NO"),
                rows(
                        data.getColumns(null, "public", "part", "%"),
                        "COLUMN_NAME", "DATA_TYPE", "TYPE_NAME", "COLUMN_SIZE", "DECIMAL_DIGITS",
                        "IS_NULLABLE", "REMARKS", "COLUMN_DEF", "ORDINAL_POSITION",
                        "IS_AUTOINCREMENT").stream().map(row -> row.replace("::text", "")).toList());
        same(
                List.of("id int4 YES", "name varchar NO"),
                rows(
                        data.getColumns(null, "public", "maker", "%"),
                        "COLUMN_NAME", "TYPE_NAME", "IS_AUTOINCREMENT"));
    }

    static void keys(Connection connection) throws Exception {
        shop(connection);
        DatabaseMetaData data = connection.getMetaData();
        same(
                List.of("part_id 1 line_pkey", "no 2 line_pkey"),
                rows(data.getPrimaryKeys(null, "public", "line"), "COLUMN_NAME", "KEY_SEQ", "PK_NAME"));
        String[] key = {"PKTABLE_NAME", "PKCOLUMN_NAME", "FKTABLE_NAME", "FKCOLUMN_NAME", "KEY_SEQ",
            "UPDATE_RULE", "DELETE_RULE", "FK_NAME", "PK_NAME", "DEFERRABILITY"};
        List<String> wanted = List.of("maker id part maker_id 1 3 0 part_maker_id_fkey maker_pkey 7");
        same(wanted, rows(data.getImportedKeys(null, "public", "part"), key));
        same(wanted, rows(data.getExportedKeys(null, "public", "maker"), key));
        same(wanted, rows(data.getCrossReference(null, null, "maker", null, null, "part"), key));
        same(
                List.of(
                        "part_pkey f 3 1 id A",
                        "part_by_price t 3 1 price D",
                        "part_by_price t 3 2 name A"),
                rows(
                        data.getIndexInfo(null, "public", "part", false, true),
                        "INDEX_NAME", "NON_UNIQUE", "TYPE", "ORDINAL_POSITION", "COLUMN_NAME",
                        "ASC_OR_DESC"));
        same(
                List.of("id int8"),
                rows(data.getBestRowIdentifier(null, "public", "part", 0, true), "COLUMN_NAME", "TYPE_NAME"));
    }

    static void rest(Connection connection) throws Exception {
        shop(connection);
        DatabaseMetaData data = connection.getMetaData();
        same("PostgreSQL", data.getDatabaseProductName());
        same(15, data.getDatabaseMajorVersion());
        same(true, rows(data.getTypeInfo(), "TYPE_NAME").contains("numeric"));
        same(List.of(), rows(data.getProcedures(null, "public", "%"), "PROCEDURE_NAME"));
        same(List.of(), rows(data.getFunctions(null, "public", "%"), "FUNCTION_NAME"));
        same(true, rows(data.getTablePrivileges(null, "public", "part"), "PRIVILEGE").contains("SELECT"));
        same(true, data.getMaxColumnNameLength() > 60);
        same("public", connection.getSchema());
        same(true, connection.isValid(2));
        connection.setAutoCommit(false);
        connection.setReadOnly(true);
        refused("25006", c -> execute(c, "insert into maker (name) values ('a')"), connection);
    }

    static void results(Connection connection) throws Exception {
        shop(connection);
        PreparedStatement select =
                connection.prepareStatement("select m.name, p.price, 1 as one from part p "
                        + "join maker m on m.id = p.maker_id where p.id = ? and m.name = ?");
        same(2, select.getParameterMetaData().getParameterCount());
        same(Types.BIGINT, select.getParameterMetaData().getParameterType(1));
        same(Types.VARCHAR, select.getParameterMetaData().getParameterType(2));
        ResultSetMetaData data = select.getMetaData();
        same(3, data.getColumnCount());
        same("name", data.getColumnLabel(1));
        same(Types.VARCHAR, data.getColumnType(1));
        same(Types.NUMERIC, data.getColumnType(2));
        same(2, data.getScale(2));
        // Whole numbers in text are BIGINT here, and INTEGER in PostgreSQL.
        same(true, List.of(Types.BIGINT, Types.INTEGER).contains(data.getColumnType(3)));
        PreparedStatement insert = connection.prepareStatement(
                "insert into maker (name) values (?)", Statement.RETURN_GENERATED_KEYS);
        insert.setString(1, "Acme");
        insert.executeUpdate();
        ResultSet keys = insert.getGeneratedKeys();
        keys.next();
        same(1, keys.getInt("id"));
    }

    static void batches(Connection connection) throws Exception {
        for (String rewrite : new String[] {"false", "true"}) {
            try (Connection other = connect("reWriteBatchedInserts", rewrite)) {
                execute(other, "drop table if exists b", "create table b (a int primary key, t text)");
                other.setAutoCommit(false);
                PreparedStatement insert = other.prepareStatement("insert into b values (?, ?)");
                for (int i = 0; i < 1000; i++) {
                    insert.setInt(1, i);
                    insert.setString(2, "row " + i);
                    insert.addBatch();
                }
                same(1000, insert.executeBatch().length);
                other.commit();
                Statement mixed = other.createStatement();
                mixed.addBatch("update b set t = 'x' where a < 10");
                mixed.addBatch("delete from b where a = 0");
                same(new int[] {10, 1}, mixed.executeBatch());
                other.rollback();
                insert.setInt(1, 5000);
                insert.setString(2, "new");
                insert.addBatch();
                insert.setInt(1, 5);
                insert.setString(2, "taken");
                insert.addBatch();
                try {
                    insert.executeBatch();
                    throw new AssertionError("a key was taken twice");
                } catch (BatchUpdateException error) {
                    same("23505", error.getSQLState());
                }
                other.rollback();
                ResultSet count = other.createStatement().executeQuery("select count(*) from b");
                count.next();
                same(1000L, count.getLong(1));
            }
        }
    }

    static void fetching(Connection connection) throws Exception {
        execute(connection, "create table f (a int primary key)");
        execute(connection, "insert into f select * from generate_series(1, 1000)");
        connection.setAutoCommit(false);
        try (PreparedStatement select = connection.prepareStatement("select a from f order by a")) {
            select.setFetchSize(37);
            ResultSet rows = select.executeQuery();
            PreparedStatement other = connection.prepareStatement("select a from f where a = ?");
            int count = 0;
            while (rows.next()) {
                same(++count, rows.getInt(1));
                if (count % 100 == 0) {
                    other.setInt(1, count);
                    same(true, other.executeQuery().next());
                }
            }
            same(1000, count);
        }
        connection.commit();
        connection.setAutoCommit(true);
        Statement limited = connection.createStatement();
        limited.setMaxRows(5);
        same(5, rows(limited.executeQuery("select a from f"), "a").size());
    }

    static void prepared(Connection connection) throws Exception {
        execute(connection, "create table p (a int primary key, t text)");
        execute(connection, "insert into p values (1, 'one'), (2, 'two')");
        PreparedStatement select = connection.prepareStatement("select t from p where a = ?");
        for (int again = 0; again < 12; again++) {
            select.setInt(1, 1 + again % 2);
            same(List.of(again % 2 == 0 ? "one" : "two"), rows(select.executeQuery(), "t"));
        }
        same(true, select.unwrap(org.postgresql.PGStatement.class).isUseServerPrepare());
        execute(connection, "alter table p add column more int default 3");
        select.setInt(1, 1);
        same(List.of("one"), rows(select.executeQuery(), "t"));
        PreparedStatement all = connection.prepareStatement("select * from p where a = ?");
        for (int again = 0; again < 12; again++) {
            if (again == 9) {
                // The driver prepares anew when it is told that the result has other columns.
                execute(connection, "alter table p drop column more");
            }
            all.setInt(1, 2);
            ResultSet row = all.executeQuery();
            same(again < 9 ? 3 : 2, row.getMetaData().getColumnCount());
            same(true, row.next());
        }
        PreparedStatement counted = connection.prepareStatement(
                "select count(*) from p where t = ? or cast(? as text) is null");
        counted.setString(1, "one");
        counted.setNull(2, Types.VARCHAR);
        same(List.of("2"), rows(counted.executeQuery(), "count"));
    }

    static void transactions(Connection connection) throws Exception {
        execute(connection, "create table t (a int primary key)");
        connection.setAutoCommit(false);
        execute(connection, "insert into t values (1)");
        Savepoint savepoint = connection.setSavepoint();
        execute(connection, "insert into t values (2)");
        connection.rollback(savepoint);
        connection.releaseSavepoint(savepoint);
        connection.commit();
        execute(connection, "insert into t values (3)");
        connection.rollback();
        same(List.of("1"), rows(connection.createStatement().executeQuery("select a from t"), "a"));
        connection.commit();
        for (int level : new int[] {Connection.TRANSACTION_READ_COMMITTED,
                Connection.TRANSACTION_REPEATABLE_READ, Connection.TRANSACTION_SERIALIZABLE}) {
            connection.setTransactionIsolation(level);
            same(level, connection.getTransactionIsolation());
            connection.commit();
        }
    }

    static void errors(Connection connection) throws Exception {
        execute(connection, "create table e (a int primary key)");
        refused("42P01", c -> execute(c, "select * from nowhere"), connection);
        refused("42601", c -> execute(c, "selct"), connection);
        refused("22012", c -> execute(c, "select 1 / 0"), connection);
        for (String autosave : new String[] {"never", "always", "conservative"}) {
            try (Connection other = connect("autosave", autosave)) {
                other.setAutoCommit(false);
                execute(other, "insert into e values (1)");
                refused("23505", c -> execute(c, "insert into e values (1)"), other);
                if (autosave.equals("always")) {
                    same(List.of("1"), rows(other.createStatement().executeQuery("select a from e"), "a"));
                }
                other.rollback();
                same(List.of(), rows(other.createStatement().executeQuery("select a from e"), "a"));
                other.commit();
            }
        }
    }

    static void copying(Connection connection) throws Exception {
        execute(connection, "create table c (a int primary key, t text)");
        CopyManager copy = connection.unwrap(PGConnection.class).getCopyAPI();
        java.io.StringReader rows = new java.io.StringReader("1,one\n2,\"a, b\"\n");
        same(2L, copy.copyIn("copy c from stdin with (format csv)", rows));
        java.io.StringWriter out = new java.io.StringWriter();
        same(2L, copy.copyOut("copy c to stdout", out));
        same("1\tone\n2\ta, b\n", out.toString());
    }

    static void cancelling(Connection connection) throws Exception {
        execute(connection, "create table k (a int primary key)");
        execute(connection, "insert into k select * from generate_series(1, 3000)");
        Statement statement = connection.createStatement();
        statement.setQueryTimeout(1);
        String text = "select count(*) from k x, k y, k z where x.a + y.a > z.a";
        refused("57014", c -> statement.executeQuery(text), connection);
        same(List.of("1"), rows(connection.createStatement().executeQuery("select 1 as a"), "a"));
    }
}
