-- Errors with their state, their place, and the line of the script.
selct 1;
select 1,
       2 +;
select nothing from nowhere;
create table t (a int primary key);
insert into t values (1);
insert into t values (1);
insert into t values (null);
select 1 / 0;
select 'äöü' frm where, x;
begin;
insert into t values (2);
select 1 / 0;
commit;
select count(*) from t;
rollback;
\nonsense
\i missing.sql
\echo state is :SQLSTATE, error is :ERROR
select 1 as one;
\echo state is :SQLSTATE, error is :ERROR, rows are :ROW_COUNT
\set ON_ERROR_STOP on
select 1 / 0;
select 'not reached';
