\pset
\set
\timing on
\timing off
.mode json
select 1 as one;
.mode table
.headers off
select 1 as one;
.headers on
select 1 as one;
.help nonsense
\h sel
\h nonsense
\x on
select 1 as one;
\x auto
select 1 as one;
\x sideways
\quit
select 'not reached';
