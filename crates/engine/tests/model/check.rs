//! Whether a transaction sees what the model says, through every way to look.
//!
//! Ways: the scan, row by row and in batches; of each index the rows in order, forwards and
//! backwards; by whole keys and by their first parts: one row, all rows, many keys at once, and a
//! cursor set by each kind of bound and then moved either way.

use std::collections::BTreeMap;

use remanent_engine::schema::Key;
use remanent_engine::{Cursor, Find, IndexHandle, Piece, ReadTransaction, RowId, TypedTable};

use crate::expected::Visible;
use crate::item::{Content, Item, ItemByCode, ItemByKind, ItemByName, ItemByTag, ItemPrimary};
use crate::keys::{ModelIndex, Part};

/// Cursors are moved so far from where they were set.
const STEPS: usize = 3;

/// A key with its row, in the order of an index.
type Listed = Vec<(Vec<Part>, u64)>;

/// Checks everything, with the keys of `probes` besides those that are there.
pub(crate) fn check(
    view: &ReadTransaction<'_>,
    table: &TypedTable<Item<'static>>,
    indexes: &[ModelIndex],
    visible: &Visible,
    probes: &[Content],
) {
    let mut checker = Checker { view, table, visible, index: &indexes[0] };
    checker.check_rows();
    for index in indexes {
        checker.index = index;
        let handle = table.index(&index.schema.name).expect("the index is there");
        let listed = checker.listed();
        if index.is_ordered() {
            checker.check_order(handle, &listed);
        }
        let present = listed.iter().map(|(key, _)| key).step_by(listed.len() / 4 + 1);
        let keys = probes.iter().map(|probe| index.key(probe)).chain(present.cloned());
        let keys: Vec<_> = keys.collect();
        for key in &keys {
            checker.check_key(handle, &listed, key);
            if index.is_ordered() {
                checker.check_bounds(handle, &listed, key);
            }
        }
        checker.check_keys_together(handle, &listed, &keys);
    }
    checker.check_batches(indexes, probes);
}

struct Checker<'c, 'db> {
    view: &'c ReadTransaction<'db>,
    table: &'c TypedTable<Item<'static>>,
    visible: &'c Visible,
    index: &'c ModelIndex,
}

impl Checker<'_, '_> {
    fn check_rows(&self) {
        let mut scan = self.view.scan(self.table).expect("the table is there");
        let mut rows = BTreeMap::new();
        for row in scan.by_ref().take(3) {
            rows.insert(row.id().number(), Content::of_row(&row));
        }
        while let Some(batch) = scan.next_batch() {
            rows.extend(batch.iter().map(|row| (row.id().number(), Content::of_row(row))));
        }
        assert_eq!(&rows, self.visible, "the scan");
        assert_eq!(self.view.scan(self.table).expect("the table is there").count(), rows.len());
        assert_eq!(&self.pieces(), self.visible, "the pieces");
        let mut rows = BTreeMap::new();
        let visited = self.view.each_row(self.table, |row| {
            rows.insert(row.id().number(), Content::of_row(&row));
            Ok(())
        });
        visited.expect("the table is there");
        assert_eq!(&rows, self.visible, "row by row");
        for (id, content) in self.visible {
            let id = RowId::from_number(*id).expect("the engine made it");
            let record = self.view.record(self.table, id).expect("the table is there");
            assert_eq!(record.as_ref().map(Content::of_item).as_ref(), Some(content));
        }
    }

    /// All rows, from columns where they are in columns.
    fn pieces(&self) -> BTreeMap<u64, Content> {
        let mut all = BTreeMap::new();
        let mut pieces = self.view.scan_pieces(self.table).expect("the table is there");
        while let Some(piece) = pieces.next_piece() {
            let rows: Vec<_> = match piece {
                Piece::Rows(rows) => {
                    rows.iter().map(|row| (row.id().number(), Content::of_row(row))).collect()
                }
                Piece::Frozen(rows) => {
                    let sees = |i: &usize| {
                        rows.visible().is_none_or(|bits| bits[i / 64] >> (i % 64) & 1 == 1)
                    };
                    let columns: Vec<_> = rows.columns().expect("they are in memory").collect();
                    let content = |i: usize| {
                        let mut rooms = vec![Vec::new(); columns.len()];
                        let pairs = columns.iter().zip(&mut rooms);
                        let values: Vec<_> = pairs.map(|(it, room)| it.value(i, room)).collect();
                        (rows.first_row() + i as u64, Content::of_values(&values))
                    };
                    (0..rows.len()).filter(sees).map(content).collect()
                }
            };
            for (id, content) in rows {
                assert_eq!(all.insert(id, content), None, "row {id} comes once");
            }
        }
        all
    }

    /// What the index must list.
    fn listed(&self) -> Listed {
        let keys = self.visible.iter().map(|(id, content)| (self.index.key(content), *id));
        let mut listed: Listed = keys.collect();
        listed.sort_by(|(a, a_id), (b, b_id)| self.index.compare(a, b).then(a_id.cmp(b_id)));
        listed
    }

    fn check_order(&self, handle: IndexHandle, listed: &Listed) {
        let mut cursor = self.view.cursor(self.table, handle).expect("an ordered index");
        let mut forwards = Vec::new();
        let mut at = cursor.first().map(|row| row.id().number());
        while let Some(id) = at {
            forwards.push(id);
            at = cursor.next().map(|row| row.id().number());
        }
        assert!(cursor.previous().is_none(), "after the end a cursor stands nowhere");
        let mut backwards = Vec::new();
        let mut at = cursor.last().map(|row| row.id().number());
        while let Some(id) = at {
            backwards.push(id);
            at = cursor.previous().map(|row| row.id().number());
        }
        backwards.reverse();
        let ids: Vec<_> = listed.iter().map(|(_, id)| *id).collect();
        assert_eq!(forwards, ids, "{} forwards", self.index.schema.name);
        assert_eq!(backwards, ids, "{} backwards", self.index.schema.name);
    }

    /// Looks a whole key up, and each of its first parts where the index can.
    fn check_key(&self, handle: IndexHandle, listed: &Listed, key: &[Part]) {
        let name = &self.index.schema.name;
        let lengths = if self.index.is_ordered() { 0 } else { key.len() }..=key.len();
        for length in lengths {
            let values = self.index.values(&key[..length]);
            let equal =
                listed.iter().filter(|(own, _)| self.index.compare(own, &key[..length]).is_eq());
            let expected: Vec<_> = equal.map(|(_, id)| *id).collect();
            let mut found = Vec::new();
            let visited = self.view.each(self.table, handle, &values, |row| {
                found.push(row.id().number());
                Ok(())
            });
            visited.expect("the key has the index's shape");
            if !self.index.is_ordered() {
                found.sort_unstable();
            }
            assert_eq!(found, expected, "each of {name} with {key:?}, {length} parts");
            if length == key.len() {
                let one = self.view.find(self.table, handle, &values).expect("a whole key");
                let one = one.map(|row| row.id().number());
                match one {
                    Some(id) if !self.index.is_ordered() => assert!(expected.contains(&id)),
                    one => assert_eq!(one, expected.first().copied(), "find of {name}, {key:?}"),
                }
            }
        }
    }

    /// Looks whole keys up in one call.
    fn check_keys_together(&self, handle: IndexHandle, listed: &Listed, keys: &[Vec<Part>]) {
        // More than are looked up at once.
        let keys: Vec<_> = keys.iter().cycle().take(keys.len().min(1) * 150).collect();
        let values: Vec<_> = keys.iter().map(|key| self.index.values(key)).collect();
        let mut found = Vec::new();
        let visited = self.view.each_batch(self.table, handle, &values, |place, row| {
            found.push((place, row.id().number()));
            Ok(())
        });
        visited.expect("the keys have the index's shape");
        assert!(found.is_sorted_by_key(|(place, _)| *place), "keys are answered in their order");
        found.sort_unstable();
        let mut expected = Vec::new();
        for (place, key) in keys.iter().enumerate() {
            let equal = listed.iter().filter(|(own, _)| self.index.compare(own, key).is_eq());
            expected.extend(equal.map(|(_, id)| (place, *id)));
        }
        expected.sort_unstable();
        assert_eq!(found, expected, "each of {} together", self.index.schema.name);
    }

    fn check_bounds(&self, handle: IndexHandle, listed: &Listed, key: &[Part]) {
        for length in 1..=key.len() {
            let prefix = &key[..length];
            let place = |wanted: fn(std::cmp::Ordering) -> bool| {
                move |(own, _): &(Vec<Part>, u64)| wanted(self.index.compare(own, prefix))
            };
            let finds = [
                (Find::Equal, listed.iter().position(place(|order| order.is_eq()))),
                (Find::AtLeast, listed.iter().position(place(|order| order.is_ge()))),
                (Find::Above, listed.iter().position(place(|order| order.is_gt()))),
                (Find::AtMost, listed.iter().rposition(place(|order| order.is_le()))),
                (Find::Below, listed.iter().rposition(place(|order| order.is_lt()))),
            ];
            for (find, expected) in finds {
                self.check_find(handle, listed, prefix, find, expected);
            }
        }
    }

    /// Sets a cursor, looks where it stands, and moves it a few rows either way.
    fn check_find(
        &self,
        handle: IndexHandle,
        listed: &Listed,
        prefix: &[Part],
        find: Find,
        expected: Option<usize>,
    ) {
        let name = &self.index.schema.name;
        let values = self.index.values(prefix);
        let mut cursor = self.view.cursor(self.table, handle).expect("an ordered index");
        let set = |cursor: &mut Cursor<'_>| {
            let row = cursor.find(find, &values).expect("the key has the index's shape");
            row.map(|row| row.id().number())
        };
        let id = |place: usize| listed.get(place).map(|(_, id)| *id);
        assert_eq!(set(&mut cursor), expected.and_then(id), "{find:?} of {name}, {prefix:?}");
        let Some(place) = expected else { return };
        for step in 1..=STEPS {
            let row = cursor.next().map(|row| row.id().number());
            assert_eq!(row, id(place + step), "{find:?} of {name}, {prefix:?}, {step} on");
            if row.is_none() {
                break;
            }
        }
        set(&mut cursor);
        for step in 1..=STEPS {
            let row = cursor.previous().map(|row| row.id().number());
            let expected = place.checked_sub(step).and_then(id);
            assert_eq!(row, expected, "{find:?} of {name}, {prefix:?}, {step} back");
            if row.is_none() {
                break;
            }
        }
        // There and back again.
        set(&mut cursor);
        if cursor.next().is_some() {
            assert_eq!(cursor.previous().map(|row| row.id().number()), id(place));
        }
    }

    fn check_batches(&self, indexes: &[ModelIndex], probes: &[Content]) {
        let contents: Vec<_> = probes.iter().chain(self.visible.values()).collect();
        let items: Vec<_> = contents.iter().map(|content| content.as_item()).collect();
        let index = |name: &str| {
            let found = indexes.iter().find(|index| index.schema.name == name);
            found.expect("a fixed index")
        };
        let keys: Vec<_> =
            items.iter().map(|i| ItemPrimary { group: i.group, number: i.number }).collect();
        self.check_batch(index("primary"), &contents, &keys);
        let keys: Vec<_> =
            items.iter().map(|i| ItemByName { name: i.name, number: i.number }).collect();
        self.check_batch(index("by_name"), &contents, &keys);
        let keys: Vec<_> = items.iter().map(|i| ItemByCode { code: i.code }).collect();
        self.check_batch(index("by_code"), &contents, &keys);
        let keys: Vec<_> = items.iter().map(|i| ItemByTag { tag: i.tag }).collect();
        self.check_batch(index("by_tag"), &contents, &keys);
        let keys: Vec<_> = items.iter().map(|i| ItemByKind { kind: i.kind }).collect();
        self.check_batch(index("by_kind"), &contents, &keys);
    }

    /// Looks the keys up in one call and one by one; each must give a row of its key, or none.
    fn check_batch<'k, K>(&self, index: &ModelIndex, contents: &[&Content], keys: &[K])
    where
        K: Key<Record = Item<'k>>,
    {
        let mut next = 0;
        let batch = self.view.get_batch(self.table, keys, |i, found| {
            assert_eq!(i, next, "keys are answered in their order");
            next += 1;
            let key = index.key(contents[i]);
            match found.as_ref().map(Content::of_item) {
                Some(found) => {
                    assert_eq!(index.key(&found), key);
                    assert!(self.visible.values().any(|content| *content == found));
                }
                None => {
                    let mut others = self.visible.values();
                    let held = others.any(|content| index.key(content) == key);
                    assert!(!held, "batch of {}, {key:?}", index.schema.name);
                }
            }
        });
        batch.expect("the keys fit");
        assert_eq!(next, keys.len());
        for (key, content) in keys.iter().zip(contents).take(8) {
            let found = self.view.get(self.table, key).expect("the key fits");
            let found = found.as_ref().map(|item| index.key(&Content::of_item(item)));
            let held = self.visible.values().any(|other| index.key(other) == index.key(content));
            assert_eq!(found, held.then(|| index.key(content)));
        }
    }
}
