-- Changes of the rows from $k on, at most ten, below $z: a line each. Behind it what becomes of the
-- sum of all numbers v, u and w and the number of rows in d: "+ n" each time, "= n" the first time
-- for a $k, or "once" where it cannot be done again.
update t set v = v + 1 where id = $k;  -- + 1
update t set v = 7 where u = $k;  -- = 7
update t set v = v + 1 where g = $k / 10;  -- + 10
update t set v = v + 1 where id + 0 = $k;  -- + 1
update t set v = v + 1 where e between $k and $z - 1;  -- + 10
update t set v = v + 1 where id in ($k, $k + 1);  -- + 2
update t set v = v + 1 where id = $k returning v, s;  -- + 1
update t set v = d.w + 1 from d where d.id = $k and t.id = d.t_id;  -- = 1
update t set v = (select max(w) from d where t_id = $k) + 1 where id = $k;  -- = 1
update t set u = u + 100000 where id = $k;  -- + 100000
delete from d where id = $k;  -- = -1
delete from d where t_id = $k and w = 0;  -- = -1
delete from d using t where t.id = $k and d.t_id = t.id;  -- = -1
insert into d values (100000 + $k, $k, 1);  -- once
insert into d values ($k, $k, 1) on conflict (id) do update set w = excluded.w;  -- = 1
insert into d select 100000 + id, id, v from t where id = $k;  -- once
merge into d using (select $k as k) as n on d.id = n.k when matched then update set w = 5;  -- = 5
