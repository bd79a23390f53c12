//! COPY: rows in one direction, in messages that need not end where rows do.
//!
//! At most one batch of rows is held, and what is still to be sent.

use std::io;

use bytes::{BufMut, BytesMut};
use remanent_sql::{Copy, CopyIn, Datum, Error, SqlState, Statement};

use super::{Connection, Done, Stop, weight};
use crate::value::binary_rows::{self, BinaryRows};
use crate::wire::ConnectionError;
use crate::wire::backend;
use crate::wire::channel::{Channel, SEND_BYTES};
use crate::wire::frontend::Message;

/// Rows in the binary format, or bytes of them, that are inserted at once.
const BATCH_ROWS: usize = 1024;
const BATCH_BYTES: usize = 1 << 20;

/// Rows of a client in the binary format that were not inserted yet.
struct BinaryBatch {
    received: BinaryRows,
    rows: Vec<Vec<Datum>>,
    bytes: usize,
}

/// Sends a row of a copy; one that is long goes out from where it is.
///
/// # Errors
/// `LIMIT_EXCEEDED` for a row that no message holds; of the socket.
fn send_line(channel: &mut Channel, line: &[u8]) -> Result<io::Result<()>, Error> {
    if line.len() <= SEND_BYTES {
        backend::message(&mut channel.out, b'd', |out| out.put_slice(line));
        return Ok(channel.flush_if_much());
    }
    let Ok(length) = i32::try_from(line.len() + 4) else {
        let text = "a row of the copy is longer than a message can be";
        return Err(Error::new(SqlState::LIMIT_EXCEEDED, text));
    };
    channel.out.put_u8(b'd');
    channel.out.put_i32(length);
    Ok(channel.send_through(line))
}

impl Connection {
    pub(super) fn copy(&mut self, statement: &Statement) -> Done {
        let copy = statement.copy()?;
        match copy.to_caller {
            true => self.copy_out(&copy),
            false => self.copy_in(&copy),
        }
    }

    fn copy_out(&mut self, copy: &Copy) -> Done {
        let query = copy.query()?;
        let outcome = Self::run(&self.runtime, &self.cancel, self.session.run(&query, &[]))?;
        let Some(mut rows) = outcome.rows else {
            let text = "COPY needs a query that has rows";
            return Err(Error::new(SqlState::SYNTAX_ERROR, text).into());
        };
        let columns = std::sync::Arc::clone(rows.columns());
        let is_binary = copy.format.is_binary;
        backend::copy_begins(&mut self.channel.out, backend::COPY_OUT, columns.len(), is_binary);
        let channel = &mut self.channel;
        let counted = channel.counted();
        let mut broken = None;
        let sent = Self::run(&self.runtime, &self.cancel, async {
            if copy.format.has_header && !is_binary {
                let names: Vec<Datum> = columns.iter().map(|c| c.name.as_str().into()).collect();
                let mut line = Vec::new();
                copy.format.write_line(&mut line, &names);
                backend::message(&mut channel.out, b'd', |out| out.put_slice(&line));
            }
            let mut sent = 0;
            while let Some(row) = rows.next_row().await? {
                // A long row is there twice while it goes out, and as text with escapes.
                channel.count(2 * weight::of_row(&row))?;
                let mut line = Vec::new();
                match is_binary {
                    true => {
                        let mut bytes = BytesMut::new();
                        if sent == 0 {
                            binary_rows::put_header(&mut bytes);
                        }
                        binary_rows::put_row(&mut bytes, &row, &columns);
                        line = bytes.into();
                    }
                    false => copy.format.write_line(&mut line, &row),
                }
                drop(row);
                sent += 1;
                if let Err(error) = send_line(channel, &line)? {
                    broken = Some(error);
                    break;
                }
                channel.count_down_to(counted);
            }
            Ok(sent)
        });
        if let Some(error) = broken {
            return Err(error.into());
        }
        let sent = sent?;
        if is_binary {
            backend::message(&mut self.channel.out, b'd', |out| {
                if sent == 0 {
                    binary_rows::put_header(out);
                }
                binary_rows::put_end(out);
            });
        }
        backend::bare(&mut self.channel.out, backend::COPY_DONE);
        backend::complete(&mut self.channel.out, &format!("COPY {sent}"));
        Ok(())
    }

    fn copy_in(&mut self, copy: &Copy) -> Done {
        let mut copying = self.session.copy_in(copy)?;
        let (columns, is_binary) = (copying.columns().len(), copy.format.is_binary);
        backend::copy_begins(&mut self.channel.out, backend::COPY_IN, columns, is_binary);
        let held = self.shared.database.hold("a row of the copy");
        let received = BinaryRows::new(held);
        let mut binary = is_binary.then_some(BinaryBatch { received, rows: Vec::new(), bytes: 0 });
        match self.receive(&mut copying, &mut binary) {
            Ok(()) => {
                let outcome = self.session.copy_done(copying)?;
                self.complete(&outcome.tag, 0);
                Ok(())
            }
            Err(Stop::Sql(error)) => {
                self.session.copy_undo(copying, &error)?;
                Err(error.into())
            }
            Err(broken) => Err(broken),
        }
    }

    /// Takes rows until the client has no more.
    fn receive(&mut self, copying: &mut CopyIn, binary: &mut Option<BinaryBatch>) -> Done {
        loop {
            match self.channel.next(None)? {
                Message::CopyData(data) => {
                    let mut data = &data[..];
                    match binary {
                        Some(batch) => self.receive_binary(data, copying, batch)?,
                        None => {
                            while copying.read(&mut data)? {
                                self.insert(copying)?;
                            }
                        }
                    }
                }
                Message::CopyDone => break,
                Message::CopyFail(reason) => {
                    let reason = String::from_utf8_lossy(&reason);
                    let text = format!("COPY from stdin failed: {reason}");
                    return Err(Error::new(SqlState::CANCELLED, text).into());
                }
                Message::Flush | Message::Sync => {}
                Message::Refused(_, error) => return Err(error.into()),
                _ => return Err(ConnectionError::Protocol("another message within COPY").into()),
            }
        }
        match binary {
            Some(batch) => {
                batch.received.end()?;
                self.insert_binary(copying, batch)
            }
            None => {
                copying.read_end()?;
                self.insert(copying)
            }
        }
    }

    fn receive_binary(
        &mut self,
        data: &[u8],
        copying: &mut CopyIn,
        batch: &mut BinaryBatch,
    ) -> Done {
        batch.received.add(data)?;
        while let Some((row, bytes)) = batch.received.next(copying.columns())? {
            batch.rows.push(row);
            batch.bytes += bytes;
            if batch.rows.len() >= BATCH_ROWS || batch.bytes >= BATCH_BYTES {
                self.insert_binary(copying, batch)?;
            }
        }
        Ok(())
    }

    fn insert_binary(&mut self, copying: &mut CopyIn, batch: &mut BinaryBatch) -> Done {
        let inserted = self.session.copy_in_rows(copying, &batch.rows);
        Self::run(&self.runtime, &self.cancel, inserted)?;
        batch.rows.clear();
        batch.bytes = 0;
        Ok(())
    }

    fn insert(&mut self, copying: &mut CopyIn) -> Done {
        Self::run(&self.runtime, &self.cancel, self.session.copy_in_read(copying))?;
        Ok(())
    }
}
