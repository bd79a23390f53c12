/* What is a statement, and what is not: /* comments */ within comments. */
select 1 as a; select 2 as b; ; select 'it''s; one' as c
;
select $$a;b$$ as dollars, $x$ $$ ; $x$ as named, E'\';' as escaped, "name;" from (select 1 as "name;") s; -- not ; here
select (1;
\p
\r
select 1 as one -- a comment ; here
  , 2 as two /* and ; here */;
\set number 41
\set text 'it''s'
\set column odd name
select :number + 1 as sum, :'text' as text, 1 :: int as cast, ':number' as quoted, :"text" from (select 3 as "it's") s;
select :unknown;
\unset number
\echo :number :text 'two  blanks' "kept quotes"
\echo -n no newline
\echo
select 1 as a, 'x' as b \gx
select 5 as five, null as none \gset my_
\echo :my_five :my_none
select :my_five * 2 as ten \g
\echo one \\ select 1 as behind;
select 'no semicolon at the end' as last
