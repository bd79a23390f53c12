-- Rows 0 to $n - 1: id and u are the same number, g has ten rows each, e has no index of its own.
create table t (id int primary key, u int unique, g int, e int, v int not null, s text);
create index on t (g);
create index on t (g, e);
create table d (id int primary key, t_id int not null references t, w int);
create index on d (t_id);
insert into t select n, n, n / 10, n, 0, 'x' || n from generate_series(0, $n - 1) as r (n);
insert into d select n, n, 0 from generate_series(0, $n - 1) as r (n);
