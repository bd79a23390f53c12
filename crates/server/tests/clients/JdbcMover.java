import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.Random;

/**
 * Moves money by pgjdbc until its input ends, beside the threads of replicas.py: a line for each
 * transfer that was acknowledged, and for each error that a client should not meet.
 *
 * <p>Arguments: a URL with all replicas, the number of accounts, a seed.
 */
public class JdbcMover {
    /** Numbers of transfers that nobody else uses. */
    private static final int FIRST = 1_000_000_000;

    public static void main(String[] arguments) throws Exception {
        String url = arguments[0];
        int accounts = Integer.parseInt(arguments[1]);
        Random draws = new Random(Long.parseLong(arguments[2]));
        Thread ending = new Thread(JdbcMover::awaitEnd);
        ending.start();
        Connection connection = null;
        for (int number = FIRST; ending.isAlive(); number++) {
            try {
                if (connection == null) {
                    connection = DriverManager.getConnection(url);
                    connection.setAutoCommit(false);
                }
                move(connection, number, accounts, draws);
            } catch (SQLException error) {
                judge(error);
                close(connection);
                connection = null;
                Thread.sleep(10);
            }
        }
        close(connection);
    }

    private static void awaitEnd() {
        try {
            while (System.in.read() >= 0) {}
        } catch (java.io.IOException error) {
            // Nobody is there any more.
        }
    }

    private static void move(Connection connection, int number, int accounts, Random draws)
            throws SQLException {
        int one = draws.nextInt(accounts);
        int other = (one + 1 + draws.nextInt(accounts - 1)) % accounts;
        int amount = 1 + draws.nextInt(50);
        String less = "update account set money = money - ? where id = ?";
        String more = "update account set money = money + ? where id = ?";
        run(connection, less, amount, one);
        run(connection, more, amount, other);
        run(connection, "insert into moved values (?, ?, ?, ?)", number, one, other, amount);
        connection.commit();
        System.out.println("moved " + number + " " + one + " " + other + " " + amount);
        System.out.flush();
    }

    private static void run(Connection connection, String text, int... values)
            throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(text)) {
            for (int place = 0; place < values.length; place++) {
                statement.setInt(place + 1, values[place]);
            }
            statement.executeUpdate();
        }
    }

    /** Upon 40001 a client tries again, upon 57P0x and 08xxx, which the driver makes, it connects. */
    private static void judge(SQLException error) {
        String state = String.valueOf(error.getSQLState());
        if (!state.equals("40001") && !state.startsWith("57P0") && !state.startsWith("08")) {
            System.out.println("fault " + state + " " + error.getMessage().replace('\n', ' '));
            System.out.flush();
        }
    }

    private static void close(Connection connection) {
        try {
            if (connection != null) {
                connection.close();
            }
        } catch (SQLException error) {
            // It is gone.
        }
    }
}
