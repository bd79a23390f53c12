-- The five tables of the Star Schema Benchmark (O'Neil, O'Neil, Chen, Revilak, TPCTC 2009), with
-- amounts in cents where the paper has whole numbers.

create table dates (
    d_datekey integer not null,
    d_date varchar(18) not null,
    d_dayofweek varchar(9) not null,
    d_month varchar(9) not null,
    d_year integer not null,
    d_yearmonthnum integer not null,
    d_yearmonth varchar(7) not null,
    d_daynuminweek integer not null,
    d_daynuminmonth integer not null,
    d_daynuminyear integer not null,
    d_monthnuminyear integer not null,
    d_weeknuminyear integer not null,
    primary key (d_datekey)
);

create table supplier (
    s_suppkey bigint not null,
    s_name varchar(25) not null,
    s_address varchar(40) not null,
    s_city varchar(10) not null,
    s_nation varchar(15) not null,
    s_region varchar(12) not null,
    s_phone varchar(15) not null,
    primary key (s_suppkey)
);

create table customer (
    c_custkey bigint not null,
    c_name varchar(25) not null,
    c_address varchar(40) not null,
    c_city varchar(10) not null,
    c_nation varchar(15) not null,
    c_region varchar(12) not null,
    c_phone varchar(15) not null,
    c_mktsegment varchar(10) not null,
    primary key (c_custkey)
);

create table part (
    p_partkey bigint not null,
    p_name varchar(55) not null,
    p_mfgr varchar(6) not null,
    p_category varchar(7) not null,
    p_brand1 varchar(9) not null,
    p_color varchar(11) not null,
    p_type varchar(25) not null,
    p_size integer not null,
    p_container varchar(10) not null,
    primary key (p_partkey)
);

create table lineorder (
    lo_orderkey bigint not null,
    lo_linenumber integer not null,
    lo_custkey bigint not null,
    lo_partkey bigint not null,
    lo_suppkey bigint not null,
    lo_orderdate integer not null,
    lo_orderpriority varchar(15) not null,
    lo_shippriority integer not null,
    lo_quantity integer not null,
    lo_extendedprice bigint not null,
    lo_ordtotalprice bigint not null,
    lo_discount integer not null,
    lo_revenue bigint not null,
    lo_supplycost bigint not null,
    lo_tax integer not null,
    lo_commitdate integer not null,
    lo_shipmode varchar(10) not null,
    primary key (lo_orderkey, lo_linenumber)
);
