//! Runs of inserted rows: taken back as one beside others, and stamped by others piece by piece.

use super::{Rows, check, content, race};
use crate::index::node::{Child, Node};
use crate::index::ordered::OrderedIndex;
use crate::memory::modelled;
use crate::memory::region::Region;

/// Entries of the ordered index.
fn leaves(rows: &Rows) -> usize {
    fn below(region: &Region, node: Node<'_>) -> usize {
        let (mut count, mut from) = (0, 0);
        while let Some((byte, child)) = node.child_from(region, from) {
            count += match child {
                Child::Node(at) => below(region, Node::at(region, at)),
                Child::Leaf(_) => 1,
                Child::Bundle(bundle) => bundle.count(),
                Child::None => 0,
            };
            from = usize::from(byte) + 1;
        }
        count
    }
    modelled::quietly(|| {
        let region = rows.db.instance.memory().region();
        let index = rows.table.core.indexes().next().expect("it has one");
        below(region, OrderedIndex::at(region, index.root).root())
    })
}

/// A run is inserted and taken back while another writer inserts into the same nodes and a reader
/// goes through them: nobody sees any of the run, and nothing of the others is lost.
#[test]
fn shuttle_runs_are_taken_back_whole() {
    check(|| {
        let rows = Rows::unique(&[10, 200]);
        let take_back = || {
            let tx = rows.db.begin_write().expect("there are slots");
            for key in [11, 12, 13] {
                tx.insert_values(&rows.table, &content(key, 0)).expect("there is memory");
            }
            drop(tx);
        };
        let insert = || {
            for key in [14, 201] {
                rows.insert(key, 0).expect("there is memory");
            }
        };
        let read = || {
            for _ in 0..2 {
                let tx = rows.db.begin_read().expect("there are slots");
                let scan = tx.scan(&rows.table).expect("the table is there");
                let keys: Vec<u32> = scan.map(|row| rows.read(row).0).collect();
                assert!(keys.iter().all(|key| ![11, 12, 13].contains(key)), "nobody sees {keys:?}");
                assert!(rows.find(&tx, 12).is_none());
                assert!(rows.find(&tx, 200).is_some());
            }
        };
        race(vec![Box::new(take_back), Box::new(insert), Box::new(read)]);
        assert_eq!(rows.all(), [(10, 0), (14, 0), (200, 0), (201, 0)]);
        assert_eq!(leaves(&rows), 4, "no entry is left of the run");
        // Their keys and row ids are free again.
        modelled::quietly(|| [11, 12, 13].map(|key| rows.insert(key, 7).expect("it is free")));
        assert_eq!(rows.all().len(), 7);
    });
}

/// A commit whose versions others stamp, while they change the same rows again and delete one:
/// readers see it whole, before and after.
#[test]
fn shuttle_others_stamp_what_a_commit_left() {
    check(|| {
        let rows = Rows::ordered(&[]);
        let insert = || {
            let inserted = rows.db.write(|tx| {
                for key in [1, 2, 3] {
                    tx.insert_values(&rows.table, &content(key, 0))?;
                }
                Ok(())
            });
            inserted.expect("nobody else has these keys");
        };
        let change = || {
            for value in 1..3 {
                let changed = rows.db.write(|tx| {
                    if let Some(row) = rows.find(tx, 2) {
                        tx.update_values(&rows.table, row.id(), &rows.changes(2, value))?;
                    }
                    rows.find(tx, 3).map_or(Ok(()), |row| tx.delete(&rows.table, row.id()))
                });
                changed.expect("it is retried");
            }
        };
        let read = || {
            for _ in 0..2 {
                let tx = rows.db.begin_read().expect("there are slots");
                let scan = tx.scan(&rows.table).expect("the table is there");
                let all = scan.map(|row| rows.read(row));
                let read: Vec<(u32, u64)> = all.filter(|&(key, _)| key < 9).collect();
                assert!([0, 2, 3].contains(&read.len()), "a commit is seen whole, not {read:?}");
                assert_eq!(rows.find(&tx, 1).is_some(), !read.is_empty());
                // What changes row 2 deletes row 3.
                let changed = read.iter().any(|&(key, value)| key == 2 && value > 0);
                assert_eq!(changed, read.len() == 2, "{read:?}");
            }
        };
        // Another writer, who stamps at the end of each of its transactions.
        let stamp = || {
            for key in [9, 10, 11] {
                rows.insert(key, 0).expect("nobody else has these keys");
            }
        };
        race(vec![Box::new(insert), Box::new(change), Box::new(read), Box::new(stamp)]);
        assert_eq!(rows.all()[0], (1, 0));
    });
}
