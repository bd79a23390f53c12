-- 1: the first rows by a number; order 0, 1
select l_extendedprice, l_orderkey, l_linenumber, l_shipmode, l_comment
from lineitem
order by l_extendedprice desc, l_orderkey, l_linenumber
limit 10;

-- 2: the first rows by a long text; order 0, 1
select o_comment, o_orderkey, o_totalprice
from orders
order by o_comment, o_orderkey
limit 10;

-- 3: the first rows by a short text of few values, with all columns; order 14, 0, 3
select *
from lineitem
where l_quantity < 20
order by l_shipmode desc, l_orderkey desc, l_linenumber
limit 100;

-- 4: a page far behind the first; order 0, 1
select o_totalprice, o_orderkey, o_clerk
from orders
order by o_totalprice desc, o_orderkey
limit 20 offset 100000;

-- 5: the first rows of a join; order 0, 1
select o_totalprice, o_orderkey, c_name, n_name, c_comment
from orders
join customer on o_custkey = c_custkey
join nation on c_nationkey = n_nationkey
order by o_totalprice desc, o_orderkey
limit 10;

-- 6: some rows of each group; order none
select count(*), sum(o_totalprice)
from (
    select o_totalprice,
        row_number() over (partition by o_custkey order by o_totalprice desc, o_orderkey) as place
    from orders
) ranked
where place <= 3;

-- 7: a sum that runs; order none
select max(running), min(running)
from (
    select sum(o_totalprice) over (order by o_orderdate, o_orderkey) as running from orders
) sums;

-- 8: the row before; order none
select count(*), sum(days)
from (
    select o_orderdate - lag(o_orderdate) over (
        partition by o_custkey order by o_orderdate, o_orderkey
    ) as days
    from orders
) gaps
where days > 300;

-- 9: shares of a whole; order 0
select s_nationkey, sum(share)
from (
    select s_nationkey, s_acctbal / sum(s_acctbal) over (partition by s_nationkey) as share
    from supplier
) shares
group by s_nationkey
order by s_nationkey;

-- 10: different values of each group; order 0
select l_shipmode, count(distinct l_suppkey), count(distinct l_partkey)
from lineitem
group by l_shipmode
order by l_shipmode;

-- 11: how many different values; order none
select count(distinct l_partkey), count(distinct l_extendedprice) from lineitem;

-- 12: sums of sums; order 0, 1, 2
select l_returnflag, l_linestatus, l_shipmode, sum(l_quantity), count(*)
from lineitem
group by rollup (l_returnflag, l_linestatus, l_shipmode)
order by l_returnflag nulls last, l_linestatus nulls last, l_shipmode nulls last;

-- 13: sets of groups; order 0, 1
select o_orderpriority, o_orderstatus, sum(o_totalprice), count(*)
from orders
group by grouping sets ((o_orderpriority), (o_orderstatus), ())
order by o_orderpriority nulls last, o_orderstatus nulls last;

-- 14: different rows; order none
select count(*) from (select distinct l_partkey, l_suppkey, l_shipmode from lineitem) pairs;

-- 15: what is in either; order none
select count(*), sum(k)
from (
    select l_partkey as k from lineitem where l_quantity = 1
    union
    select ps_partkey from partsupp where ps_availqty < 100
) keys;

-- 16: what is in both, and in one alone; order none
select count(*)
from (
    select o_custkey from orders where o_orderdate < date '1993-01-01'
    intersect
    select o_custkey from orders where o_orderdate >= date '1998-01-01'
    except
    select c_custkey from customer where c_acctbal < 0
) customers;

-- 17: many small groups; order 1, 0
select l_orderkey, sum(l_quantity), max(l_extendedprice), min(l_shipdate)
from lineitem
group by l_orderkey
having count(*) = 7
order by sum(l_quantity) desc, l_orderkey
limit 50;

-- 18: groups by what is computed of a text; order 0
select substring(o_comment from 1 for 3), count(*)
from orders
group by substring(o_comment from 1 for 3)
having count(*) > 1000
order by substring(o_comment from 1 for 3);

-- 19: groups by month; order 0
select date_trunc('month', l_shipdate), sum(l_extendedprice * (1 - l_discount)), count(*)
from lineitem
group by date_trunc('month', l_shipdate)
order by date_trunc('month', l_shipdate);

-- 20: conditions in sums; order 0
select o_orderpriority,
    sum(case when o_orderstatus = 'F' then o_totalprice else 0 end),
    sum(case when o_orderdate >= date '1996-01-01' then 1 else 0 end),
    count(*) filter (where o_totalprice > 200000),
    avg(case when o_clerk like '%1' then o_totalprice end)
from orders
group by o_orderpriority
order by o_orderpriority;

-- 21: how far values are spread; order 0
select l_shipmode, avg(l_discount), stddev_samp(l_quantity), min(l_comment), max(l_comment)
from lineitem
group by l_shipmode
order by l_shipmode;

-- 22: what is in the middle; order 0
select o_orderpriority, percentile_cont(0.5) within group (order by o_totalprice)
from orders
group by o_orderpriority
order by o_orderpriority;

-- 23: functions of texts; order none
select count(*), sum(length(p_name)), min(upper(p_name))
from part
where position('green' in p_name) > 0 or lower(p_mfgr) like '%er#3';

-- 24: texts in either case; order none
select count(*) from orders where o_comment ilike '%SPECIAL%requests%';

-- 25: one condition or another; order none
select count(*), sum(l_extendedprice)
from lineitem
where (l_shipdate < date '1992-03-01' and l_quantity > 10)
    or (l_shipdate > date '1998-10-01' and l_discount > 0.05)
    or (l_partkey between 1000 and 1100);

-- 26: all but what a query gives; order none
select count(*)
from customer
where c_custkey not in (select o_custkey from orders where o_orderdate > date '1995-06-01');

-- 27: rows between two values of another table; order 0
select p_brand, count(*)
from part
join (select c_nationkey, avg(c_acctbal) as low from customer group by c_nationkey) bounds
    on p_retailprice - 500 > low and p_size = c_nationkey
group by p_brand
order by p_brand;

-- 28: a table with itself; order none
select count(*)
from lineitem one
join lineitem other on one.l_orderkey = other.l_orderkey
where one.l_suppkey < other.l_suppkey and one.l_shipdate = other.l_shipdate;

-- 29: all of both sides; order none
select count(*), sum(coalesce(early, 0)), sum(coalesce(late, 0))
from (select o_custkey as one, count(*) as early from orders
      where o_orderdate < date '1994-01-01' group by o_custkey) before
full join (select o_custkey as other, count(*) as late from orders
      where o_orderdate > date '1997-01-01' group by o_custkey) behind on one = other;

-- 30: texts put together; order 0
select n_regionkey, string_agg(n_name, ', ' order by n_name)
from nation
group by n_regionkey
order by n_regionkey;

-- 31: the ends of columns; order none
select min(l_shipdate), max(l_shipdate), min(o), max(o), count(*)
from lineitem, (select max(o_orderkey) as o from orders) last;

-- 32: few rows by a column without an index; order 0, 1
select l_orderkey, l_linenumber, l_partkey, l_comment
from lineitem
where l_partkey = 1234
order by l_orderkey, l_linenumber;

-- 33: many rows that go out; order none
select l_orderkey, l_linenumber, l_extendedprice, l_shipmode, l_comment
from lineitem
where l_shipdate between date '1995-03-01' and date '1995-03-20';

-- 34: functions of numbers; order 0
select l_returnflag, sum(sqrt(cast(l_extendedprice as double precision))),
    max(abs(l_quantity - 25)), sum(l_orderkey % 7)
from lineitem
group by l_returnflag
order by l_returnflag;

-- 35: a query for each row; order none
select count(*)
from part
where p_retailprice > (select 1.4 * avg(l_extendedprice / l_quantity) - 500
                       from lineitem where l_partkey = p_partkey);

-- 36: parts of dates; order 0, 1
select extract(year from o_orderdate), extract(month from o_orderdate), count(*),
    sum(o_totalprice)
from orders
group by extract(year from o_orderdate), extract(month from o_orderdate)
order by 1, 2;
