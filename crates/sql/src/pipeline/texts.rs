//! Arrays of texts that share the bytes of others.
//!
//! A text of a build side is a view of bytes that many rows share, in batch after batch. Arrays
//! that are put together keep each such buffer once: else their number would multiply from join to
//! join. What goes out to others has not many more bytes than it shows, so that it can be counted.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanBufferBuilder, ByteView, RecordBatch, RecordBatchOptions,
    StringViewArray, make_view,
};
use datafusion::arrow::buffer::{Buffer, NullBuffer, ScalarBuffer};

use crate::error::{Error, Result};

/// Bytes of a text that its view has itself.
const INLINE_MAX: u32 = 12;

/// Texts of several arrays one behind the other.
///
/// # Errors
/// More buffers than a view can tell apart.
pub(crate) fn concat_texts(parts: &[&dyn Array]) -> Result<ArrayRef> {
    let mut buffers: Vec<Buffer> = Vec::new();
    let mut places: HashMap<(usize, usize), u32> = HashMap::new();
    let rows = parts.iter().map(|part| part.len()).sum();
    let mut views: Vec<u128> = Vec::with_capacity(rows);
    let mut valid = BooleanBufferBuilder::new(rows);
    for part in parts.iter().map(|part| part.as_string_view()) {
        // Where each buffer of this part is among those of all.
        let mut moved = Vec::with_capacity(part.data_buffers().len());
        for buffer in part.data_buffers() {
            let place = match places.entry((buffer.as_ptr() as usize, buffer.len())) {
                Entry::Occupied(place) => *place.get(),
                Entry::Vacant(place) => {
                    let next = u32::try_from(buffers.len());
                    let next = next.map_err(|_| Error::internal("too many buffers of texts"))?;
                    buffers.push(buffer.clone());
                    *place.insert(next)
                }
            };
            moved.push(place);
        }
        views.extend(part.views().iter().map(|view| {
            let view = ByteView::from(*view);
            match view.length <= INLINE_MAX {
                true => view.as_u128(),
                // What null has for a view may lead anywhere.
                false => match moved.get(view.buffer_index as usize) {
                    Some(place) => ByteView { buffer_index: *place, ..view }.as_u128(),
                    None => 0,
                },
            }
        }));
        match part.nulls() {
            Some(nulls) => valid.append_buffer(nulls.inner()),
            None => valid.append_n(part.len(), true),
        }
    }
    let nulls = Some(NullBuffer::new(valid.finish())).filter(|nulls| nulls.null_count() > 0);
    // SAFETY: each view is one of a part's, whose own buffer it leads to: `buffers` has that under
    // the number that stands in the view now, with all of its bytes.
    Ok(Arc::new(unsafe {
        StringViewArray::new_unchecked(ScalarBuffer::from(views), buffers, nulls)
    }))
}

/// Different texts, each with a number, of which arrays are made.
pub(crate) struct NumberedTexts {
    bytes: Buffer,
    /// The view of each.
    views: Vec<u128>,
}

impl NumberedTexts {
    /// Texts that lie one behind the other, of which it is said where each ends; `None` if there is
    /// no room for them in one buffer.
    ///
    /// # Errors
    /// They are no texts.
    pub(crate) fn new(bytes: &[u8], ends: &[usize]) -> Result<Option<Self>> {
        if bytes.len() > i32::MAX as usize {
            return Ok(None);
        }
        let no_text = || Error::internal("a key that is no text");
        let text = std::str::from_utf8(bytes).map_err(|_| no_text())?;
        let mut start = 0;
        let views = ends.iter().map(|end| {
            let part = text.get(start..*end).ok_or_else(no_text)?;
            let view = make_view(part.as_bytes(), 0, start as u32);
            start = *end;
            Ok(view)
        });
        Ok(Some(Self { views: views.collect::<Result<_>>()?, bytes: Buffer::from(bytes) }))
    }

    /// Bytes that it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len() + size_of_val(self.views.as_slice())
    }

    /// The texts with these numbers; any for those that are null.
    pub(crate) fn array(&self, numbers: &[u64], nulls: Option<NullBuffer>) -> ArrayRef {
        let view = |number: &u64| self.views.get(*number as usize).copied().unwrap_or_default();
        let views: Vec<u128> = numbers.iter().map(view).collect();
        let (views, bytes) = (ScalarBuffer::from(views), vec![self.bytes.clone()]);
        // SAFETY: each view is that of no text, or was made of a part of these bytes between two
        // characters.
        Arc::new(unsafe { StringViewArray::new_unchecked(views, bytes, nulls) })
    }
}

/// A batch whose texts have buffers of their own, where those that they share with others have
/// many more bytes than they show.
///
/// # Errors
/// None that is expected.
pub(crate) fn without_others(batch: RecordBatch) -> Result<RecordBatch> {
    let mut arrays = batch.columns().to_vec();
    for array in &mut arrays {
        if let Some(own) = wide(array).map(StringViewArray::gc) {
            *array = Arc::new(own);
        }
    }
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(batch.schema(), arrays, &options)?)
}

/// Texts that share many more bytes than they show.
fn wide(array: &ArrayRef) -> Option<&StringViewArray> {
    let texts = array.as_string_view_opt()?;
    let shared: usize = texts.data_buffers().iter().map(Buffer::len).sum();
    (shared > 2 * texts.total_buffer_bytes_used()).then_some(texts)
}
