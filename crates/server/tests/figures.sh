#!/bin/sh
# pgbench with 8 clients on loopback against this server and against PostgreSQL 15 with
# synchronous_commit=off, interleaved in three rounds: transactions a second of each. First its own
# scripts, whose statements are about one key; then statements that are planned: a join by a key, a
# range of a key, the first rows by another index, a change of five rows.
#
#   figures.sh PATH_OF_REMANENT [SECONDS]
#
# Build remanent with `--release`. PostgreSQL's programs are looked for in /usr/lib/postgresql/15,
# and run as the user postgres if this is root.

remanent=${1:?the path of the program remanent}
seconds=${2:-5}
bin=/usr/lib/postgresql/15/bin
folder=$(mktemp -d)
chmod 755 "$folder"
mkdir "$folder/data"
as() { if [ "$(id -u)" = 0 ]; then su postgres -s /bin/sh -c "$1"; else sh -c "$1"; fi; }
[ "$(id -u)" = 0 ] && chown postgres "$folder/data"
as "$bin/initdb -D $folder/data -A trust -U tester >/dev/null"
as "$bin/pg_ctl -w -D $folder/data -l $folder/data/log -o '-p 5497 -k $folder/data \
    -c synchronous_commit=off -c shared_buffers=512MB' start >/dev/null"
"$remanent" serve "$folder/db" --listen 127.0.0.1:5498 --trust --log-level warn 2>/dev/null &
server=$!
trap 'kill $server; wait $server; as "$bin/pg_ctl -D $folder/data -m fast stop >/dev/null"
      rm -rf "$folder"' EXIT
sleep 2
export PGUSER=tester PGHOST=127.0.0.1 PGDATABASE=postgres
export PGOPTIONS='-c synchronous_commit=off'
for port in 5497 5498; do
    pgbench -p $port -i -s 10 -q >/dev/null 2>&1
    psql -q -p $port <<'SQL'
create table entries (id int primary key, account int, teller int, delta int);
create index entries_account on entries (account);
insert into entries
select n, (n * 7) % 1000000 + 1, n % 100 + 1, n from generate_series(1, 200000) s(n);
create table notes (owner int, no int, text text, primary key (owner, no));
insert into notes select n / 5, n % 5, 'note ' || n from generate_series(0, 499999) s(n);
analyze;
SQL
done
cat >"$folder/join.sql" <<'SQL'
\set aid random(1, 1000000)
select a.abalance, b.bbalance from pgbench_accounts a
join pgbench_branches b on b.bid = a.bid where a.aid = :aid;
SQL
cat >"$folder/range.sql" <<'SQL'
\set low random(1, 999900)
\set high :low + 20
select sum(abalance) from pgbench_accounts where aid between :low and :high;
SQL
cat >"$folder/index.sql" <<'SQL'
\set aid random(1, 1000000)
select delta, teller from entries where account = :aid order by delta desc limit 10;
SQL
cat >"$folder/update.sql" <<'SQL'
\set owner random(1, 99999)
update notes set text = 'again' where owner = :owner;
SQL
for round in 1 2 3; do
    for mode in simple extended prepared; do
        for script in -S -N '-b tpcb-like' "-f $folder/join.sql" "-f $folder/range.sql" \
            "-f $folder/index.sql" "-f $folder/update.sql"; do
            for port in 5497 5498; do
                # shellcheck disable=SC2086
                tps=$(pgbench -p $port -n $script -M $mode -c 8 -j 2 -T "$seconds" \
                    --max-tries 1000 2>/dev/null | sed -n 's/^tps = \([0-9]*\).*/\1/p')
                who=$([ $port = 5497 ] && echo postgresql || echo remanent)
                echo "round $round, $mode, ${script##*/}: $who $tps"
            done
        done
    done
done
