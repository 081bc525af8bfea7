//! Rows of tables whose primary key lacks a partition column, without a number of buckets (`bucket = -1`): a key is in one
//! partition and one bucket of the whole table, and rows of another partition find it.
//!
//! ```text
//! first row     ─ where each key is, from the newest version (`bootstrap`), in an index that spills to local disk
//! a key in the row's partition    the row goes to the key's bucket
//! a key in another partition      deduplicate                   -D there, the row goes to its own partition
//!                                 partial-update, aggregation   the row goes there, with that partition's columns
//!                                 first-row                     the row is left out
//! a new key                       the first bucket of the row's partition with room (`buckets`)
//! the message   ─ the version that was looked at: the commit looks whether others have moved keys since
//! reset         ─ the next row asks whether only compactions and own commits came since; else the index is made anew
//! ```
//!
//! A row that takes back (-D, -U) goes to where its key is; Java writes it into its own partition besides, where it does nothing.
//! One assigner for all rows of a writer, as in Java with a parallelism of one. An overwrite begins with nothing.
//!
//! Source: `GlobalIndexAssigner`, `ExistingProcessor`.

mod bootstrap;
mod buckets;
mod partitions;
mod rows;

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
    path::PathBuf,
};

use arrow_array::{ArrayRef, Int8Array, RecordBatch};

use self::{bootstrap::Bootstrap, buckets::Rules, partitions::Partitions, rows::Moved};
use super::route::Portion;
use crate::{
    cancel,
    env::{new_uuid, now_millis},
    error::{Error, ErrorKind, Result},
    index::{KeyHash, KeyPlaces},
    io::TableContext,
    manifest::EntryKind,
    options::KeyElsewhere,
    row::{RowKind, binary_rows},
    scan::{changes_since, has_key_places, overtaken::at_newest},
    snapshot::RemovedSnapshot,
    types::DataType,
    wire::{Assigned, AssignedBy, CommitMessage, Seen},
};

/// Rows between two questions whether to stop.
const STRETCH: usize = 1 << 16;
/// Keys that are remembered where they were.
const MOST_LEFT: usize = 1 << 18;

/// What an index of keys may use.
pub(super) struct IndexRoom {
    /// Bytes of memory.
    pub(super) memory: usize,
    pub(super) spill_dir: PathBuf,
    pub(super) threads: usize,
}

/// Gives keys their partition and bucket.
pub(super) struct KeyAssigner {
    ctx: TableContext,
    key: KeyColumns,
    rules: Rules,
    existing: KeyElsewhere,
    /// Tells its messages from those of others.
    id: String,
    /// What is there is replaced: it is not looked at.
    replaces: bool,
    room: IndexRoom,
    known: Option<Known>,
    /// Files that were handed out since the version that was looked at.
    made: Vec<String>,
    /// Nobody has looked since the last reset whether the keys of the table are the same.
    stale: bool,
    /// Rows were left out since the last messages, and there are files that were handed out.
    left_out: bool,
    /// Where keys were that have moved since the last messages: one that comes back goes there, so that readers of changes see
    /// it go before it comes.
    left: HashMap<KeyHash, u64>,
}

/// Where keys are.
struct Known {
    places: KeyPlaces,
    partitions: Partitions,
    /// The version that was looked at.
    base: RemovedSnapshot,
    /// Epoch milliseconds.
    made_at: i64,
}

impl Known {
    fn empty(places: KeyPlaces) -> Self {
        let base = RemovedSnapshot { id: 0, delta_manifest_list: String::new(), commit: None };
        Self { places, partitions: Partitions::default(), base, made_at: now_millis() }
    }
}

/// The columns of the primary key.
struct KeyColumns {
    at: Vec<usize>,
    types: Vec<DataType>,
}

impl KeyColumns {
    fn of(ctx: &TableContext) -> Result<Self> {
        let find = |name: &String| ctx.schema.fields.iter().position(|field| field.name == *name);
        let at: Option<Vec<usize>> = ctx.schema.primary_keys.iter().map(find).collect();
        let at = at.ok_or_else(|| Error::new(ErrorKind::IllegalSchema, "a key column is no column of the table"))?;
        let types = at.iter().filter_map(|at| ctx.schema.fields.get(*at)).map(|f| f.data_type.clone()).collect();
        Ok(Self { at, types })
    }

    /// The hashes of the keys of rows that have the key columns alone.
    fn hashes(&self, columns: &[ArrayRef], hasher: &impl Fn(&[u8]) -> KeyHash) -> Result<Vec<KeyHash>> {
        let rows = binary_rows(&self.types, columns)?;
        Ok((0..rows.len()).map(|at| hasher(rows.row(at))).collect())
    }
}

impl KeyAssigner {
    /// Of a table whose keys may come in any partition. `replaces`: the rows take the place of what is there.
    pub(super) fn of(ctx: &TableContext, replaces: bool, room: IndexRoom) -> Result<Option<Self>> {
        if !has_key_places(ctx) {
            return Ok(None);
        }
        Ok(Some(Self {
            ctx: ctx.clone(),
            key: KeyColumns::of(ctx)?,
            rules: Rules::of(&ctx.options),
            existing: ctx.options.merge_engine.key_elsewhere(),
            id: new_uuid(),
            replaces,
            room,
            known: None,
            made: Vec::new(),
            stale: false,
            left_out: false,
            left: HashMap::new(),
        }))
    }

    /// Splits rows among buckets: `stretches` says which of the partitions each row has.
    pub(super) fn split(
        &mut self,
        rows: &RecordBatch,
        kinds: &Int8Array,
        partitions: &[Vec<u8>],
        stretches: &[(Range<usize>, usize)],
    ) -> Result<Vec<Portion>> {
        self.know()?;
        let (rules, existing, waits) = (self.rules, self.existing, !self.made.is_empty());
        let Some(Known { places, partitions: known, .. }) = &mut self.known else {
            return Err(Error::new(ErrorKind::Internal, "the keys of the table were not looked at"));
        };
        let numbers = partitions.iter().map(|partition| known.number(partition)).collect::<Result<Vec<u32>>>()?;
        let columns = rows.project(&self.key.at)?;
        let hashes = self.key.hashes(columns.columns(), &places.hasher())?;
        let mut found = places.find(&hashes)?.into_iter().zip(&hashes);
        // keys that have come or moved within these rows
        let mut moved: HashMap<KeyHash, u64> = HashMap::new();
        let mut out = Moved::default();
        for (stretch, partition) in stretches {
            let own = numbers.get(*partition).copied().unwrap_or_default();
            for (row, (before, hash)) in stretch.clone().zip(found.by_ref()) {
                if row.is_multiple_of(STRETCH) {
                    cancel::check()?;
                }
                let kind = kinds.values().get(row).copied().unwrap_or_default();
                let place = moved.get(hash).copied().or(before);
                match place.map(|place| (place, partitions::partition_of(place) == own, existing)) {
                    Some((place, true, _)) => out.add(place, row, kind, false)?,
                    Some((_, false, KeyElsewhere::IsLeftOut)) => self.left_out |= waits,
                    Some((place, false, KeyElsewhere::Stays)) => out.add(place, row, kind, true)?,
                    Some((place, false, KeyElsewhere::Moves)) if takes_back(kind) => out.add(place, row, kind, true)?,
                    Some((place, false, KeyElsewhere::Moves)) => {
                        out.add(place, row, RowKind::Delete.to_byte(), true)?;
                        known.remove(place);
                        let before = self.left.get(hash).copied().filter(|left| partitions::partition_of(*left) == own);
                        let new = before.inspect(|place| known.add(*place, 1));
                        let new = new.unwrap_or_else(|| known.assign(own, rules));
                        if self.left.len() < MOST_LEFT {
                            self.left.entry(*hash).or_insert(place);
                        }
                        moved.insert(*hash, new);
                        out.add(new, row, kind, false)?;
                    }
                    None => {
                        let new = known.assign(own, rules);
                        moved.insert(*hash, new);
                        out.add(new, row, kind, false)?;
                    }
                }
            }
        }
        for (hash, place) in moved {
            places.put(hash, place)?;
        }
        out.portions(&self.ctx, rows, |place| known.bucket(place))
    }

    /// Looks at the table, unless what is known of it still holds.
    fn know(&mut self) -> Result<()> {
        if self.stale && self.known.is_some() && (self.has_expired() || !self.holds()?) {
            self.known = None;
        }
        self.stale = false;
        if self.known.is_some() {
            return Ok(());
        }
        self.made.clear();
        let room = &self.room;
        if self.replaces {
            self.known = Some(Known::empty(KeyPlaces::new(room.memory, room.spill_dir.clone())));
            return Ok(());
        }
        let places = || KeyPlaces::of_unique(room.memory, room.spill_dir.clone());
        let boot = Bootstrap { ctx: &self.ctx, key: &self.key, threads: room.threads, places: &places };
        let mut known = boot.load()?;
        known.places.settle()?;
        self.known = Some(known);
        Ok(())
    }

    /// Whether the index is older than it may be.
    fn has_expired(&self) -> bool {
        let ttl =
            self.ctx.options.cross_partition_index_ttl.map(|ttl| i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX));
        match (ttl, &self.known) {
            (Some(ttl), Some(known)) => now_millis() > known.made_at.saturating_add(ttl),
            _ => false,
        }
    }

    /// Whether the table has the same keys as the index: since it was made nothing came but compactions, and all that was
    /// handed out.
    fn holds(&mut self) -> Result<bool> {
        Ok(self.replaces || self.follow()? && self.made.is_empty())
    }

    /// Where nothing came since the version that was looked at but compactions and own commits, the newest one is the one that was
    /// looked at.
    fn follow(&mut self) -> Result<bool> {
        let Some(known) = &mut self.known else { return Ok(false) };
        // a compaction leaves out what is too old
        let ages = self.ctx.options.record_level_expire_time.is_some();
        let made: HashSet<&str> = self.made.iter().map(String::as_str).collect();
        let (alone, newest, there) = at_newest(&self.ctx, |newest| {
            let (mut others, mut there) = (false, HashSet::new());
            let in_line = changes_since(&self.ctx, &known.base, newest, ages, |entries| {
                for entry in &entries {
                    let name = entry.file.file_name.as_str();
                    others |= entry.kind != EntryKind::Add || !made.contains(name);
                    there.insert(name.to_owned());
                }
                Ok(())
            })?;
            Ok((in_line && !others, newest.map(RemovedSnapshot::from), there))
        })?;
        if alone {
            self.made.retain(|name| !there.contains(name));
            if let Some(newest) = newest {
                known.base = RemovedSnapshot { commit: None, ..newest };
            }
        }
        Ok(alone)
    }

    /// Says in each message with new rows by which keys they were given their buckets.
    pub(super) fn add_to(&mut self, messages: &mut [CommitMessage]) -> Result<()> {
        if !self.made.is_empty() && !self.replaces {
            self.follow()?;
        }
        (self.left_out, self.left) = (false, HashMap::new());
        let Some(known) = &self.known else { return Ok(()) };
        let seen = Seen { snapshot: known.base.clone(), made: self.made.clone() };
        for message in messages.iter_mut().filter(|message| !message.data.new_files.is_empty()) {
            message.assigned = Some(Assigned { writer: self.id.clone(), by: AssignedBy::Keys(seen.clone()) });
            self.made.extend(message.data.new_files.iter().map(|file| file.file_name.clone()));
        }
        Ok(())
    }

    /// Whether it is known where keys are.
    pub(super) fn is_loaded(&self) -> bool {
        self.known.is_some()
    }

    /// Whether rows were left out because of keys that may be only in files that were handed out.
    pub(super) fn leaves_out(&self) -> bool {
        self.left_out
    }

    /// What is known holds only where the table has the same keys still.
    pub(super) fn reset(&mut self) {
        self.stale = true;
        if self.replaces {
            self.known = None;
        }
    }
}

fn takes_back(kind: i8) -> bool {
    kind == RowKind::Delete.to_byte() || kind == RowKind::UpdateBefore.to_byte()
}
