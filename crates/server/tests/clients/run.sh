#!/bin/sh
# Programs and drivers that people use, each against a server in memory of its own.
#
#   run.sh PATH_OF_REMANENT FOLDER [CLIENT..]
#
# What registries have is installed into FOLDER and stays there. A client that cannot be had is
# named as skipped; a case that fails makes the run end with 1. Clients: psql, pgbench, sysbench,
# psycopg, sqlalchemy, jdbc; and random: random queries, each answered as DuckDB answers it;
# replicas: a group of three that are killed while psycopg and pgjdbc move money, as many times as
# the variable ROUNDS says, 4 otherwise; networks: the same over networks that are cut.
# Packages: postgresql-client, postgresql-contrib, sysbench, python3-venv, default-jdk-headless,
# maven, iproute2, openssl.

remanent=${1:?the path of the program remanent}
folder=${2:?a folder for what is installed}
shift 2
clients=${*:-psql pgbench sysbench psycopg sqlalchemy jdbc random replicas networks}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
remanent=$(cd "$(dirname "$remanent")" && pwd)/$(basename "$remanent")
server=
failures=0
export PGUSER=tester PGDATABASE=db PGHOST=127.0.0.1 PGCONNECT_TIMEOUT=10
export PYTHONPATH="$here" PYTHONDONTWRITEBYTECODE=1

stop() {
    if [ -n "$server" ]; then
        kill "$server"
        wait "$server"
        server=
    fi
}
trap stop EXIT

# Starts a server on a port that is free, which its log says.
start() {
    stop
    : >"$folder/server.log"
    "$remanent" serve :memory: --listen 127.0.0.1:0 --trust --log-level info \
        2>"$folder/server.log" &
    server=$!
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        PGPORT=$(sed -n 's/.*listens at 127\.0\.0\.1:\([0-9]*\).*/\1/p' "$folder/server.log")
        [ -n "$PGPORT" ] && break
        sleep 0.2
    done
    export PGPORT
}

# skipped CLIENT WHY: names what is not tested.
skipped() {
    echo "skipped: $1: $2"
}

# cases CLIENT COMMAND..: runs a program that says `ok` or `FAILED` itself.
cases() {
    client=$1
    shift
    start
    if ! timeout 150 "$@"; then
        echo "FAILED: $client"
        failures=$((failures + 1))
    fi
}

# wanted CASE TEXT COMMAND..: the output has to contain the text.
wanted() {
    name=$1 text=$2
    shift 2
    if timeout 60 "$@" >"$folder/out" 2>&1 && grep -qF -- "$text" "$folder/out"; then
        echo "ok: $name"
    else
        echo "FAILED: $name"
        cat "$folder/out"
        failures=$((failures + 1))
    fi
}

# python CLIENT SCRIPT PACKAGE..: runs a script of this folder with packages from PyPI.
python() {
    client=$1 script=$2
    shift 2
    if ! command -v python3 >/dev/null || ! python3 -m venv "$folder/venv" 2>/dev/null; then
        skipped "$client" "python3 with venv is not installed"
    elif ! "$folder/venv/bin/pip" install -q --disable-pip-version-check "$@" \
        >"$folder/out" 2>&1; then
        tail -n 3 "$folder/out"
        skipped "$client" "PyPI did not give $*"
    else
        cases "$client" "$folder/venv/bin/python" "$here/$script"
    fi
}

psql_cases() {
    case $(psql --version 2>/dev/null) in
        *" 15."*) ;;
        "") skipped psql "it is not installed"; return ;;
        *) skipped psql "psql.out is what psql 15 prints, not $(psql --version)"; return ;;
    esac
    start
    (cd "$here" && timeout 60 psql -X -f psql.sql) >"$folder/out" 2>&1
    if diff "$here/psql.out" "$folder/out"; then
        echo "ok: psql: what its commands say"
    else
        echo "FAILED: psql: what its commands say"
        failures=$((failures + 1))
    fi
}

pgbench_cases() {
    command -v pgbench >/dev/null || { skipped pgbench "it is not installed"; return; }
    start
    wanted "pgbench: makes its tables" "done in" pgbench -i -s 1 -q
    for mode in simple extended prepared; do
        wanted "pgbench: reads, $mode" "number of failed transactions: 0" \
            pgbench -n -S -M $mode -t 200
        wanted "pgbench: TPC-B, $mode" "number of failed transactions: 0" \
            pgbench -n -M $mode -t 50 -c 2 --max-tries 1000
    done
}

sysbench_cases() {
    command -v sysbench >/dev/null || { skipped sysbench "it is not installed"; return; }
    start
    set -- --db-driver=pgsql --pgsql-host=127.0.0.1 --pgsql-port="$PGPORT" --pgsql-user=tester \
        --pgsql-db=db --tables=2 --table-size=1000 --events=100 --time=0
    wanted "sysbench: makes its tables" "Inserting 1000 records into 'sbtest2'" \
        sysbench "$@" oltp_read_write prepare
    for script in oltp_point_select oltp_read_only oltp_read_write; do
        wanted "sysbench: $script" "total number of events:              100" \
            sysbench "$@" $script run
    done
}

jdbc_cases() {
    version=42.7.7
    if ! command -v mvn >/dev/null || ! command -v javac >/dev/null; then
        skipped jdbc "maven and a JDK are not installed"
    elif [ ! -e "$folder/postgresql-$version.jar" ] && ! mvn -q -B dependency:copy \
        -Dartifact=org.postgresql:postgresql:$version "-DoutputDirectory=$folder" \
        >"$folder/out" 2>&1; then
        tail -n 3 "$folder/out"
        skipped jdbc "Maven Central did not give pgjdbc"
    else
        cases jdbc java -cp "$folder/postgresql-$version.jar" "$here/JdbcCases.java"
    fi
}

# groups CLIENT SCRIPT: by the clients of the cases before, if they are there.
groups() {
    if [ ! -x "$folder/venv/bin/python" ]; then
        skipped "$1" "psycopg is not there"
        return
    fi
    stop
    rm -rf "${folder:?}/$1"
    PGJDBC=$(ls "$folder"/postgresql-*.jar 2>/dev/null | head -n 1)
    export PGJDBC
    "$folder/venv/bin/python" "$here/$2" "$remanent" "$folder/$1" "${ROUNDS:-4}" ||
        failures=$((failures + 1))
}

for client in $clients; do
    case $client in
        psql) psql_cases ;;
        pgbench) pgbench_cases ;;
        sysbench) sysbench_cases ;;
        psycopg) python psycopg psycopg_cases.py 'psycopg[binary]==3.3.9' ;;
        sqlalchemy) python sqlalchemy sqlalchemy_cases.py 'psycopg[binary]==3.3.9' sqlalchemy==2.1.9 ;;
        jdbc) jdbc_cases ;;
        replicas) groups replicas replicas.py ;;
        networks) groups networks replicas_networks.py ;;
        random) python random random_queries.py 'psycopg[binary]==3.3.9' duckdb==2.0.0 ;;
        *) echo "there is no client $client"; exit 2 ;;
    esac
done
exit $((failures > 0))
