//! The `tag/` directory: named snapshots.
//!
//! `tag-<name>` is the JSON of the snapshot; with a retention two keys follow, in Java's form:
//!
//! ```text
//! "tagCreateTime" : [ 2026, 11, 21, 1, 40, 25, 885450933 ],   local time; second and nanosecond left out when zero
//! "tagTimeRetained" : 93600.000000000                          seconds
//! ```
//!
//! Source: format chapter 10.1, semantics g.4; `Tag`, `TagManager`.

use std::time::Duration;

use chrono::{Datelike as _, NaiveDate, NaiveDateTime, Timelike as _};
use serde_json::Value;

use super::Snapshot;
use crate::{
    error::{Error, ErrorKind, Result},
    fs::{FileIoRef, can_exist, check_can_exist, read_json},
    options::parse_duration,
};

const PREFIX: &str = "tag-";
/// What file systems allow for one name, less the prefix and the temporary file's additions.
const MAX_NAME_BYTES: usize = 200;

/// A named snapshot, and how long it is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Tag {
    /// The snapshot.
    pub snapshot: Snapshot,
    /// When the tag was made, local time; only tags with a retention know it.
    pub create_time: Option<NaiveDateTime>,
    /// How long it is kept from then on.
    pub time_retained: Option<Duration>,
}

impl Tag {
    /// A tag of a snapshot; with a retention it remembers `now` (local time).
    pub fn new(snapshot: Snapshot, time_retained: Option<Duration>, now: NaiveDateTime) -> Self {
        Self { snapshot, create_time: time_retained.map(|_| now), time_retained }
    }

    /// From the content of `tag-<name>`; `file` is for messages.
    pub fn from_json(file: &str, bytes: &[u8]) -> Result<Self> {
        let snapshot = Snapshot::from_json(file, bytes)?;
        let value: Value =
            serde_json::from_slice(bytes).map_err(|e| Error::corrupt(file, 0, "a tag as JSON", e.to_string()))?;
        let wrong = |key: &str, found: &Value| Error::corrupt(file, 0, format!("a tag's '{key}'"), found);
        let field = |key: &str| value.get(key).filter(|v| !v.is_null());
        let create_time = match field("tagCreateTime") {
            Some(v) => Some(create_time(v).ok_or_else(|| wrong("tagCreateTime", v))?),
            None => None,
        };
        let time_retained = match field("tagTimeRetained") {
            Some(v) => Some(time_retained(v).ok_or_else(|| wrong("tagTimeRetained", v))?),
            None => None,
        };
        Ok(Self { snapshot, create_time, time_retained })
    }

    /// The content of `tag-<name>`: without a retention exactly the snapshot's JSON, so that old readers take it.
    pub fn to_json(&self) -> Result<String> {
        let json = self.snapshot.to_json()?;
        let (Some(created), Some(kept)) = (self.create_time, self.time_retained) else {
            return Ok(json);
        };
        let body = json.trim_end().strip_suffix('}').map(str::trim_end).unwrap_or_default();
        let seconds = format!("{}.{:09}", kept.as_secs(), kept.subsec_nanos());
        Ok(format!(
            "{body},\n  \"tagCreateTime\" : [ {} ],\n  \"tagTimeRetained\" : {seconds}\n}}",
            java_array(created)
        ))
    }

    /// The local time from which on the tag may go; `None` = never.
    pub fn expires_at(&self) -> Option<NaiveDateTime> {
        let kept = chrono::Duration::from_std(self.time_retained?).ok()?;
        self.create_time?.checked_add_signed(kept)
    }
}

/// Jackson's array of a `LocalDateTime`.
fn java_array(time: NaiveDateTime) -> String {
    let mut parts = vec![time.year().to_string()];
    parts.extend([time.month(), time.day(), time.hour(), time.minute()].map(|n| n.to_string()));
    let nanos = time.nanosecond() % 1_000_000_000;
    if time.second() > 0 || nanos > 0 {
        parts.push(time.second().to_string());
    }
    if nanos > 0 {
        parts.push(nanos.to_string());
    }
    parts.join(", ")
}

fn create_time(value: &Value) -> Option<NaiveDateTime> {
    if let Some(text) = value.as_str() {
        let with = |format: &str| NaiveDateTime::parse_from_str(text, format).ok();
        return with("%Y-%m-%dT%H:%M:%S%.f").or_else(|| with("%Y-%m-%dT%H:%M"));
    }
    let parts: Vec<i64> = value.as_array()?.iter().map(Value::as_i64).collect::<Option<_>>()?;
    let part = |at: usize| u32::try_from(parts.get(at).copied().unwrap_or(0)).ok();
    if !(5..=7).contains(&parts.len()) {
        return None;
    }
    let date = NaiveDate::from_ymd_opt(i32::try_from(*parts.first()?).ok()?, part(1)?, part(2)?)?;
    date.and_hms_nano_opt(part(3)?, part(4)?, part(5)?, part(6)?)
}

fn time_retained(value: &Value) -> Option<Duration> {
    match value {
        Value::String(text) => parse_duration(text).ok(),
        Value::Number(_) => Duration::try_from_secs_f64(value.as_f64()?).ok(),
        _ => None,
    }
}

/// Whether a new tag, branch or consumer can have this name: one path segment that people can type, and that reads as
/// what it is. `what` is for the message. What exists under another name can be read and deleted.
pub fn check_name(what: &str, name: &str) -> Result<()> {
    let reason = if name.trim().is_empty() {
        "it is blank"
    } else if name.contains(['/', '\\']) {
        "it contains a slash"
    } else if name.chars().any(char::is_control) {
        "it contains a control character"
    } else if name.trim() != name {
        "it starts or ends with a space"
    } else if name.chars().any(is_invisible) {
        "it contains a character that is not seen"
    } else if name.contains(':') {
        // Java makes such a tag, and then its expiry, rollback and `$tags` end with URISyntaxException
        "it contains a colon, with which Java Paimon cannot read the table's tags, branches or consumers"
    } else if name.contains(['*', '?']) {
        "a shell reads it as a pattern"
    } else if name == "." || name == ".." {
        "it is a directory's name"
    } else if name.len() > MAX_NAME_BYTES {
        "it is too long"
    } else {
        return Ok(());
    };
    Err(Error::new(ErrorKind::InvalidArgument, format!("{name:?} cannot be the name of a {what}: {reason}"))
        .hint("use letters, digits, dashes and dots, for example 2026-Q4"))
}

/// Characters that show nothing, or turn the direction of what follows: names with them look like other names.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{115f}' | '\u{1160}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// What to do about a tag's file that is there and cannot be read.
pub(crate) const DAMAGED_TAG: &str = "nobody can tell what this tag keeps, so nothing is deleted: restore its file from a copy, or move the file out of the table's \
     directory; then the tag is gone, and orphan files that it kept go with the next cleaning of them";

/// How often tags are listed while one of them goes before it is read: it may have another name by then.
const LISTINGS: usize = 5;

/// Tags with their names.
type NamedTags = Vec<(String, Tag)>;

/// Tags that were listed, and then read.
#[derive(Default)]
struct Listing {
    tags: NamedTags,
    damaged: Vec<(String, Error)>,
    vanished: usize,
}

/// Tags of a table, or of a branch.
#[derive(Clone, Debug)]
pub struct TagManager {
    fs: FileIoRef,
    directory: String,
}

impl TagManager {
    /// Tags below `branch_root` (`path::branch_root`).
    pub fn new(fs: FileIoRef, branch_root: &str) -> Self {
        Self { fs, directory: format!("{}/tag", branch_root.trim_end_matches('/')) }
    }

    /// Path of `tag-<name>`.
    pub fn path(&self, name: &str) -> String {
        format!("{}/{PREFIX}{name}", self.directory)
    }

    /// Whether the tag exists. A name that cannot be a file name is no tag.
    pub fn exists(&self, name: &str) -> Result<bool> {
        Ok(can_exist(name) && self.fs.is_file(&self.path(name))?)
    }

    /// The snapshot that a tag names; `TagNotFound`.
    pub fn get(&self, name: &str) -> Result<Snapshot> {
        Ok(self.tag(name)?.snapshot)
    }

    /// A tag with its retention; `TagNotFound`.
    pub fn tag(&self, name: &str) -> Result<Tag> {
        if !can_exist(name) {
            return self.missing(name);
        }
        let path = self.path(name);
        match read_json(&*self.fs, &path) {
            Ok(bytes) => Tag::from_json(&path, &bytes)
                .map_err(|e| if e.kind() == ErrorKind::CorruptFile { e.hint(DAMAGED_TAG) } else { e }),
            Err(e) if e.kind() == ErrorKind::FileNotFound => self.missing(name),
            Err(e) => Err(e),
        }
    }

    /// Names of all tags, sorted.
    pub fn names(&self) -> Result<Vec<String>> {
        let listed = self.fs.list(&self.directory)?;
        let mut names: Vec<String> = listed
            .iter()
            .filter(|file| !file.is_dir)
            .filter_map(|file| file.path.rsplit('/').next()?.strip_prefix(PREFIX))
            .map(str::to_owned)
            .collect();
        names.sort();
        Ok(names)
    }

    /// All tags, by snapshot id and then name.
    pub fn list(&self) -> Result<Vec<(String, Snapshot)>> {
        Ok(self.tags()?.into_iter().map(|(name, tag)| (name, tag.snapshot)).collect())
    }

    /// All tags with their retention, by snapshot id and then name.
    ///
    /// # Errors
    /// A tag whose file is damaged: nobody knows what it keeps.
    pub fn tags(&self) -> Result<NamedTags> {
        let (tags, damaged) = self.readable()?;
        damaged.into_iter().next().map_or(Ok(tags), |(_, error)| Err(error))
    }

    /// The tags that can be read, in this order; and what is wrong with those whose files are damaged, by name.
    pub(crate) fn readable(&self) -> Result<(NamedTags, Vec<(String, Error)>)> {
        let mut read = self.read_all()?;
        for _ in 1..LISTINGS {
            if read.vanished == 0 {
                break;
            }
            read = self.read_all()?;
        }
        let mut tags = read.tags;
        tags.sort_by(|(a_name, a), (b_name, b)| (a.snapshot.id, a_name).cmp(&(b.snapshot.id, b_name)));
        Ok((tags, read.damaged))
    }

    fn read_all(&self) -> Result<Listing> {
        let mut read = Listing::default();
        for name in self.names()? {
            match self.tag(&name) {
                Ok(tag) => read.tags.push((name, tag)),
                Err(e) if e.kind() == ErrorKind::TagNotFound => read.vanished += 1,
                Err(e) if e.kind() == ErrorKind::CorruptFile => read.damaged.push((name, e)),
                Err(e) => return Err(e),
            }
        }
        Ok(read)
    }

    /// When the tag's file was last changed, epoch milliseconds.
    pub fn modified_millis(&self, name: &str) -> Result<Option<i64>> {
        check_can_exist("tag", name)?;
        Ok(self.fs.status(&self.path(name))?.map(|status| status.modified_millis))
    }

    /// Publishes a tag without replacing one; `TagExists`. One small write, whatever the table's size.
    pub fn create(&self, name: &str, tag: &Tag, sync: bool) -> Result<()> {
        check_can_exist("tag", name)?;
        match self.fs.publish(&self.path(name), tag.to_json()?.as_bytes(), sync) {
            Err(e) if e.kind() == ErrorKind::FileExists => Err(exists_already(name)),
            other => other,
        }
    }

    /// Puts another content in the place of a tag.
    pub fn replace(&self, name: &str, tag: &Tag) -> Result<()> {
        check_can_exist("tag", name)?;
        let path = self.path(name);
        // a request that arrives after the lock has ended brings nothing back that was deleted meanwhile
        let version = self.fs.version(&path)?;
        self.fs.overwrite_version(&path, tag.to_json()?.as_bytes(), version.as_deref())?;
        self.fs.sync_dir(&self.directory)
    }

    /// Removes the tag's file and nothing else; fine when absent.
    pub fn delete_file(&self, name: &str) -> Result<()> {
        check_can_exist("tag", name)?;
        self.fs.delete(&self.path(name))
    }

    fn missing<T>(&self, name: &str) -> Result<T> {
        let error = Error::new(ErrorKind::TagNotFound, format!("tag '{name}' does not exist")).with("tag", name);
        Err(match self.nearest(name)? {
            Some(near) => error.hint(format!("did you mean '{near}'?")),
            None => error.hint("the table has no tags"),
        })
    }

    /// The tag whose name is most like this one; `None` when there is no tag.
    pub fn nearest(&self, name: &str) -> Result<Option<String>> {
        Ok(self.names()?.into_iter().min_by_key(|known| strsim::damerau_levenshtein(known, name)))
    }
}

/// The error for a name that is taken.
pub fn exists_already(name: &str) -> Error {
    Error::new(ErrorKind::TagExists, format!("tag '{name}' exists already"))
        .with("tag", name)
        .hint("replace or delete it, or choose another name")
}
