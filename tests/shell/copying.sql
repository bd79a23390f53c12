create table part (id int primary key, name text, price numeric(8,2));
copy part from stdin;
1	bolt	1.50
2	tab\there	\N
\.
copy part (id, name) from stdin with (format csv, header, delimiter ';');
id;name
3;"quoted; twice"
4;
\.
select * from part order by id;
copy part to stdout;
copy (select id, name from part order by id) to stdout (format csv, header);
\copy part to 'part.csv' with (format csv, header)
\copy (select id, price from part where id < 3 order by id) to prices.txt
\! printf '1\t1.50\n2\t%sN\n' '\' | cmp - prices.txt
create table again (id int primary key, name text, price numeric(8,2));
\copy again from part.csv csv header
select count(*), sum(price) from again;
truncate again;
copy again from 'part.csv' (format csv, header);
copy again to 'again.csv' (format csv);
\! tail -n +2 part.csv | cmp - again.csv
\copy again from part.csv csv header
\copy again from missing.csv csv
\copy again
copy again from stdin (format csv);
9,too few
\.
select count(*) from again;
begin;
copy again from stdin (format csv);
7,seven,7
\.
rollback;
select count(*) from again;
\o rows.csv
\pset format csv
select id, name from again order by id;
\o
\! printf 'id,name\n1,bolt\n2,tab\there\n3,quoted; twice\n4,\n' | cmp - rows.csv
\pset format aligned
copy nothing from stdin;
these rows; are of no table
\.
\o |tr a-z A-Z > shouted.txt
select 'shouted' as word;
\o
\! grep -q SHOUTED shouted.txt
\! printf "select 'included' as word;\n\\\\q\nselect 'not reached';\n" > more.sql
\i more.sql
.read more.sql
select 'after' as word;
