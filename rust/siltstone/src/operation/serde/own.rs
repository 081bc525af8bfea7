//! What siltstone adds behind the bytes of a commit message, which Java leaves unread.

use super::data::{DataInput, DataOutput};
use crate::{error::Result, manifest::DroppedDeletes, operation::Seen, snapshot::RemovedSnapshot};

const SEEN: i32 = i32::from_be_bytes(*b"SEEN");
const DROP: i32 = i32::from_be_bytes(*b"DROP");

pub(super) fn write_own(out: &mut DataOutput, seen: Option<&Seen>, dropped: &[DroppedDeletes]) -> Result<()> {
    if let Some(seen) = seen {
        out.int(SEEN);
        out.long(seen.snapshot.id);
        out.utf(&seen.snapshot.delta_manifest_list)?;
        write_names(out, &seen.made)?;
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

pub(super) fn read_own(input: &mut DataInput<'_>) -> Result<(Option<Seen>, Vec<DroppedDeletes>)> {
    let (mut seen, mut dropped) = (None, Vec::new());
    while !input.is_at_end() {
        match input.int()? {
            SEEN if seen.is_none() && dropped.is_empty() => seen = Some(read_seen(input)?),
            DROP if dropped.is_empty() => {
                for _ in 0..input.int()? {
                    dropped.push(read_dropped(input)?);
                }
            }
            other => return Err(input.corrupt("the end of the message", other)),
        }
    }
    Ok((seen, dropped))
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
