//! One owner and its members, through the engine's own network sets.
//!
//! Rows are named by their ids, as an application keeps them. A member's number is read from the
//! row that the set leads to. In order `Next` each member is put behind the one before it.

use lab_harness::Outcome;
use lab_harness::sets::{End, NOBODY, SetOrder, SetStore};
use remanent::schema::{SetOrder as Order, SetSchema};
use remanent::{ColumnHandle, Database, Member, Options, Record, RowId, Set, TypedTable};

/// Rows inserted in one transaction.
const INSERTED_AT_ONCE: usize = 1000;

#[derive(Record)]
struct Holder {
    id: u32,
}

#[derive(Record)]
struct Item {
    number: u32,
}

/// The database, its set, and where its rows are.
pub(crate) struct Sets {
    db: Database,
    holders: TypedTable<Holder>,
    items: TypedTable<Item>,
    number: ColumnHandle,
    set: Set,
    order: SetOrder,
    owner: Option<RowId>,
    rows: Vec<RowId>,
    /// The member that was connected last.
    current: Option<RowId>,
}

impl Sets {
    pub(crate) fn open(options: Options, order: SetOrder) -> Outcome<Self> {
        let db = Database::open(options)?;
        let (holders, items) = (db.create_table_of::<Holder>()?, db.create_table_of::<Item>()?);
        let number = items.column("number")?;
        let set = |order| SetSchema::new("Items", "Holder", order);
        let set = db.create_set(match order {
            SetOrder::Last => set(Order::Last).member("Item"),
            SetOrder::First => set(Order::First).member("Item"),
            SetOrder::Next => set(Order::Next).member("Item"),
            SetOrder::Ascending => set(Order::Ascending).member_by("Item", ["number"]),
        })?;
        let (owner, rows, current) = (None, Vec::new(), None);
        Ok(Self { db, holders, items, number, set, order, owner, rows, current })
    }

    fn owner(&self) -> Outcome<RowId> {
        self.owner.ok_or_else(|| "there is no owner".into())
    }

    fn number_of(&self, member: Option<Member<'_>>) -> u32 {
        member.and_then(|member| member.row().get(self.number)).unwrap_or(NOBODY)
    }
}

impl SetStore for Sets {
    fn fill(&mut self, members: u32) -> Outcome<()> {
        self.owner = Some(self.db.write(|tx| tx.insert(&self.holders, &Holder { id: 1 }))?);
        let numbers: Vec<u32> = (0..members).collect();
        for numbers in numbers.chunks(INSERTED_AT_ONCE) {
            let rows = self.db.write(|tx| {
                numbers.iter().map(|&number| tx.insert(&self.items, &Item { number })).collect()
            });
            let rows: Vec<RowId> = rows?;
            self.rows.extend(rows);
        }
        Ok(())
    }

    fn connect(&mut self, members: &[u32]) -> Outcome<()> {
        let owner = self.owner()?;
        let behind = self.order == SetOrder::Next;
        self.current = self.db.write(|tx| {
            let mut current = self.current;
            for &member in members {
                let row = self.rows[member as usize];
                let after = current.filter(|_| behind).map(|row| (&*self.items, row));
                tx.connect_after(&self.set, owner, (&self.items, row), after)?;
                current = Some(row);
            }
            Ok(current)
        })?;
        Ok(())
    }

    fn disconnect(&mut self, members: &[u32]) -> Outcome<()> {
        self.db.write(|tx| {
            for &member in members {
                tx.disconnect(&self.set, &self.items, self.rows[member as usize])?;
            }
            Ok(())
        })?;
        self.current = None;
        Ok(())
    }

    fn walk(&mut self, out: &mut [u32]) -> Outcome<usize> {
        let owner = self.owner()?;
        let count = self.db.read(|tx| {
            let mut members = tx.members(&self.set, owner)?;
            let mut member = members.first()?;
            let mut count = 0;
            while member.is_some() && count < out.len() {
                out[count] = self.number_of(member);
                count += 1;
                member = members.next()?;
            }
            Ok(count)
        })?;
        Ok(count)
    }

    fn go_to(&mut self, end: End, out: &mut [u32]) -> Outcome<()> {
        let owner = self.owner()?;
        self.db.read(|tx| {
            let mut members = tx.members(&self.set, owner)?;
            for number in out.iter_mut() {
                *number = self.number_of(match end {
                    End::First => members.first()?,
                    End::Last => members.last()?,
                });
            }
            Ok(())
        })?;
        Ok(())
    }

    fn next_of(&mut self, members: &[u32], out: &mut [u32]) -> Outcome<()> {
        self.db.read(|tx| {
            for (&member, number) in members.iter().zip(&mut *out) {
                let row = self.rows[member as usize];
                let siblings = tx.siblings(&self.set, &self.items, row)?;
                *number = match siblings {
                    Some(mut siblings) => self.number_of(siblings.next()?),
                    None => NOBODY,
                };
            }
            Ok(())
        })?;
        Ok(())
    }

    fn close(self: Box<Self>) -> Outcome<()> {
        Ok(())
    }
}
