//! What siltstone adds behind the bytes of a commit message, which Java leaves unread.

use super::data::{DataInput, DataOutput};
use crate::{
    error::Result,
    manifest::DroppedDeletes,
    snapshot::RemovedSnapshot,
    wire::{Assigned, AssignedBy, CommitMessage, Seen},
};

const SEEN: i32 = i32::from_be_bytes(*b"SEEN");
const DROP: i32 = i32::from_be_bytes(*b"DROP");
const HASH: i32 = i32::from_be_bytes(*b"HASH");
const KEYS: i32 = i32::from_be_bytes(*b"KEYS");
const GIVE: i32 = i32::from_be_bytes(*b"GIVE");

/// What is behind Java's bytes.
#[derive(Default)]
pub(super) struct Own {
    pub(super) seen: Option<Seen>,
    pub(super) dropped: Vec<DroppedDeletes>,
    pub(super) assigned: Option<Assigned>,
}

pub(super) fn write_own(out: &mut DataOutput, message: &CommitMessage) -> Result<()> {
    let dropped = &message.compact.dropped;
    if let Some(Assigned { writer, by }) = &message.assigned {
        out.int(match by {
            AssignedBy::Index(_) => HASH,
            AssignedBy::Given(_) => GIVE,
            AssignedBy::Keys(_) => KEYS,
        });
        out.utf(writer)?;
        match by {
            AssignedBy::Index(version) | AssignedBy::Given(version) => out.bytes(&version.to_be_bytes())?,
            AssignedBy::Keys(seen) => write_seen(out, seen)?,
        }
    }
    if let Some(seen) = &message.seen {
        out.int(SEEN);
        write_seen(out, seen)?;
    }
    if dropped.is_empty() {
        return Ok(());
    }
    out.int(DROP);
    out.len(dropped.len())?;
    dropped.iter().try_for_each(|dropped| {
        out.int(dropped.level);
        out.bytes(&dropped.min_key)?;
        out.bytes(&dropped.max_key)?;
        out.long(dropped.max_sequence_number);
        write_names(out, &dropped.known)
    })
}

pub(super) fn read_own(input: &mut DataInput<'_>) -> Result<Own> {
    let mut own = Own::default();
    while !input.is_at_end() {
        match input.int()? {
            kind @ (HASH | KEYS | GIVE) if own.assigned.is_none() && own.seen.is_none() && own.dropped.is_empty() => {
                own.assigned = Some(read_assigned(input, kind)?);
            }
            SEEN if own.seen.is_none() && own.dropped.is_empty() => own.seen = Some(read_seen(input)?),
            DROP if own.dropped.is_empty() => {
                for _ in 0..input.int()? {
                    own.dropped.push(read_dropped(input)?);
                }
            }
            other => return Err(input.corrupt("the end of the message", other)),
        }
    }
    Ok(own)
}

fn read_assigned(input: &mut DataInput<'_>, kind: i32) -> Result<Assigned> {
    let writer = input.utf()?;
    if kind == KEYS {
        return Ok(Assigned { writer, by: AssignedBy::Keys(read_seen(input)?) });
    }
    let version = input.bytes()?;
    match version.try_into() {
        Ok(version) => {
            let version = u128::from_be_bytes(version);
            let by = if kind == GIVE { AssignedBy::Given(version) } else { AssignedBy::Index(version) };
            Ok(Assigned { writer, by })
        }
        Err(_) => Err(input.corrupt("16 bytes that tell an index", version.len())),
    }
}

fn write_seen(out: &mut DataOutput, seen: &Seen) -> Result<()> {
    out.long(seen.snapshot.id);
    out.utf(&seen.snapshot.delta_manifest_list)?;
    write_names(out, &seen.made)
}

fn read_seen(input: &mut DataInput<'_>) -> Result<Seen> {
    let (id, delta_manifest_list) = (input.long()?, input.utf()?);
    let snapshot = RemovedSnapshot { id, delta_manifest_list, commit: None };
    Ok(Seen { snapshot, made: read_names(input)? })
}

fn read_dropped(input: &mut DataInput<'_>) -> Result<DroppedDeletes> {
    Ok(DroppedDeletes {
        level: input.int()?,
        min_key: input.bytes()?.to_vec(),
        max_key: input.bytes()?.to_vec(),
        max_sequence_number: input.long()?,
        known: read_names(input)?,
    })
}

fn write_names(out: &mut DataOutput, names: &[String]) -> Result<()> {
    out.len(names.len())?;
    names.iter().try_for_each(|name| out.utf(name))
}

fn read_names(input: &mut DataInput<'_>) -> Result<Vec<String>> {
    (0..input.int()?).map(|_| input.utf()).collect()
}
