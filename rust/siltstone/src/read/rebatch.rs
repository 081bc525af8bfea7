//! Streams whose last rows may belong to the first ones of the next batch.

use arrow_array::RecordBatch;

use crate::{
    Result,
    io::{BatchStream, joined_rows},
};

/// What a step makes of some rows: the finished ones, and those that wait for the next batch.
pub(super) type Rebatched = (RecordBatch, Option<RecordBatch>);

/// Passes batches through `step`, each with the rows that the one before left waiting in front. `step` also learns
/// whether more rows may come; the last time nothing may wait. Empty batches do not come out.
pub(super) fn rebatch(
    rows: BatchStream,
    step: impl FnMut(RecordBatch, bool) -> Result<Rebatched> + Send + 'static,
) -> BatchStream {
    Box::new(Rebatch { rows, step, waiting: None, done: false })
}

struct Rebatch<F> {
    rows: BatchStream,
    step: F,
    waiting: Option<RecordBatch>,
    done: bool,
}

impl<F: FnMut(RecordBatch, bool) -> Result<Rebatched>> Rebatch<F> {
    /// The finished rows of one more batch; `None`: there is none.
    fn more(&mut self) -> Result<Option<RecordBatch>> {
        let next = self.rows.next().transpose()?;
        self.done = next.is_none();
        let rows = match (self.waiting.take(), next) {
            (Some(waiting), Some(next)) => joined_rows(&next.schema(), [&waiting, &next])?,
            (Some(only), None) | (None, Some(only)) => only,
            (None, None) => return Ok(None),
        };
        let (finished, waiting) = (self.step)(rows, !self.done)?;
        self.waiting = waiting;
        Ok(Some(finished))
    }
}

impl<F: FnMut(RecordBatch, bool) -> Result<Rebatched>> Iterator for Rebatch<F> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.done {
            match self.more() {
                Ok(Some(batch)) if batch.num_rows() > 0 => return Some(Ok(batch)),
                Ok(_) => {}
                Err(error) => {
                    self.done = true;
                    return Some(Err(error));
                }
            }
        }
        None
    }
}
