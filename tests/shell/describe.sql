create schema other;
create table part (id int primary key, name varchar(20) not null default 'x', price numeric(8,2), check (price > 0));
create table line (no bigint generated always as identity, part int references part (id) on delete cascade, unique (part, no), twice int generated always as (part * 2) stored);
create table other.part (a int);
create table "Odd Name" (a int);
create index part_name on part (name desc);
create view cheap as select id, name from part where price < 10;
create sequence counted increment by 2 start with 5;
comment on table part is 'what is sold';
comment on column part.name is 'as customers say it';
create role reader login password 'secret';
\d
\dt
\dt+ part
\dt other.*
\di
\dv
\ds
\dn
\du
\d part
\d+ part
\d line
\d other.part
\d "Odd Name"
\d+ cheap
\d counted
\d part_name
\dt nothing
\d nothing
.tables p*
\pset format csv
\dt
\d part
