-- Every format, with what is hard to write in each.
create table part (id int primary key, name text, price numeric(8,2), is_new boolean, note json);
insert into part values
  (1, 'bolt', 1.50, true, '{"a": [1, 2]}'),
  (2, 'two
lines', 20, false, null),
  (3, 'a|"quoted", 日本', null, null, 'null');
select * from part order by id;
\pset null '(null)'
select id, price from part order by id;
\pset format vertical
select * from part order by id;
\pset format aligned
\x
select id, name from part where id < 3 order by id;
\x
\pset null ''
\pset format csv
select id, name, price from part order by id;
select id from part where false;
\pset format json
select * from part order by id;
select id from part where false;
select 'NaN'::double precision as nan, 0.1::real as tenth, 12345678901234567890.5 as big, array['a', 'b,c'] as list;
\pset format jsonlines
select id, price from part order by id;
\pset format markdown
select id, name from part order by id;
\pset format unaligned
select id, name from part where id = 1;
\t
select id, name from part where id = 1;
\pset format aligned
select id, name from part where id <> 2 order by id;
\t
\a
select 1 as one;
\a
select id from part where false;
\pset format xml
\pset colour on
-- What a terminal would take for a command is shown and not obeyed.
select 'a' || chr(27) || '[31mred' || chr(9) || 'tab' as text;
\pset footer off
select 1 as one;
