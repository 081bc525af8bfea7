//! Messages that a writer has handed out: are they committed, may they still be, or can they never be any more?
//!
//! ```text
//! a snapshot since has their files             committed
//! one of their files is gone                   never: they were aborted
//! a key of theirs has another place by now     never: others were faster
//! nobody knows what came since                 never: a commit of them would be a conflict
//! otherwise                                    they wait
//! ```
//!
//! On tables where an index says where keys are, the writer goes on from keys that it has handed out. Where these never come into
//! the table, whatever it writes next is a conflict, too, or (`first-row`) leaves rows out: it has to look at the table again.

use std::collections::HashSet;

use super::{TableCommit, assigned::check_assigned, changes::Collected, moved_keys::check_places};
use crate::{
    error::{ErrorKind, Result},
    manifest::EntryKind,
    scan::{bucket_hashes, changes_since, has_hash_index, overtaken::at_newest},
    snapshot::{RemovedSnapshot, Snapshot},
    wire::CommitMessage,
};

impl TableCommit {
    /// Whether all messages that are not committed, of one `prepare_commit` each, can still be; those that are committed are taken out.
    pub(crate) fn may_be_committed(&self, handed_out: &mut Vec<Vec<CommitMessage>>) -> Result<bool> {
        handed_out.retain(|messages| messages.iter().any(|message| !message.data.new_files.is_empty()));
        let looked = at_newest(&self.ctx, |newest| self.look_for(handed_out, newest));
        match looked {
            Ok(Some(committed)) => {
                let mut committed = committed.into_iter();
                handed_out.retain(|_| !committed.next().unwrap_or_default());
                Ok(true)
            }
            Ok(None) => Ok(false),
            // of files that are deleted while they are read
            Err(error) if matches!(error.kind(), ErrorKind::CommitConflict | ErrorKind::FileNotFound) => {
                tracing::debug!(table = self.ctx.name, %error, "messages that were handed out can never be committed");
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Which of the messages are committed; `None`: some others can never be.
    fn look_for(&self, handed_out: &[Vec<CommitMessage>], newest: Option<&Snapshot>) -> Result<Option<Vec<bool>>> {
        let after = handed_out.iter().flatten().map(|message| message.after.as_ref());
        let Some(after) = after.collect::<Option<Vec<&RemovedSnapshot>>>() else { return Ok(None) };
        let Some(after) = after.into_iter().min_by_key(|after| after.id) else { return Ok(Some(Vec::new())) };
        let mut there: HashSet<String> = HashSet::new();
        let known = changes_since(&self.ctx, after, newest, false, |entries| {
            let added = entries.into_iter().filter(|entry| entry.kind == EntryKind::Add);
            there.extend(added.map(|entry| entry.file.into_inner().file_name));
            Ok(())
        })?;
        if !known {
            return Ok(None);
        }
        let is_there = |message: &CommitMessage| message.data.new_files.iter().any(|f| there.contains(&f.file_name));
        let committed: Vec<bool> = handed_out.iter().map(|messages| messages.iter().any(is_there)).collect();
        let waiting = handed_out.iter().zip(&committed).filter(|(_, committed)| !**committed);
        let waiting: Vec<CommitMessage> = waiting.flat_map(|(messages, _)| messages).cloned().collect();
        for message in &waiting {
            for file in &message.data.new_files {
                let path = self.ctx.paths.data_file(&message.bucket.partition, message.bucket.bucket, file)?;
                if !self.ctx.fs.is_file(&path)? {
                    return Ok(None);
                }
            }
        }
        let Collected { append, .. } = Collected::from(&waiting, false);
        check_places(&self.ctx, newest, &append, None)?;
        if let Some(newest) = newest.filter(|_| has_hash_index(&self.ctx)) {
            let partitions = append.partitions();
            let live = bucket_hashes(&self.ctx, newest, |partition| partitions.contains(partition))?;
            check_assigned(&self.ctx, &live.into_values().flatten().collect::<Vec<_>>(), &append)?;
        }
        Ok(Some(committed))
    }
}
