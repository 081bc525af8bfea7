//! Which table something was made for, checked where it arrives.

use serde::{Deserialize, Serialize};

use super::{CommitMessage, Seal};
use crate::{
    error::{Error, ErrorKind, Result},
    io::TableContext,
    manifest::EntryKind,
    snapshot::RemovedSnapshot,
};

const MESSAGE: Seal = Seal { what: "commit message", magic: "SSCM", version: 2 };

/// A table under one of its schemas. Two tables that were at one place one after the other differ in the time of the
/// schema.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableIdentity {
    /// Root of the table.
    pub location: String,
    /// Branch.
    pub branch: String,
    /// Schema that it was made with.
    pub schema_id: i64,
    /// `timeMillis` of that schema.
    pub schema_time: i64,
}

impl TableIdentity {
    /// The table of a context, under its schema.
    pub fn of(ctx: &TableContext) -> Self {
        Self {
            location: ctx.location.trim_end_matches('/').to_owned(),
            branch: ctx.branch.clone(),
            schema_id: ctx.schema.id,
            schema_time: ctx.schema.time_millis,
        }
    }

    /// `/lake/shop.db/orders$branch_b`
    fn place(&self) -> String {
        let branch = if self.branch == "main" { String::new() } else { format!("$branch_{}", self.branch) };
        format!("{}{branch}", self.location)
    }

    /// An error when `what` was made for another table or branch than this one, or for one that was here before.
    ///
    /// # Errors
    /// `InvalidArgument`, which names both.
    pub fn check(&self, ctx: &TableContext, what: &str) -> Result<()> {
        let ours = Self::of(ctx);
        let wrong = |message: String| Err(Error::new(ErrorKind::InvalidArgument, message).with("table", &ctx.name));
        if self.branch != ours.branch || !same_directory(&self.location, &ours.location) {
            return wrong(format!(
                "a {what} of another table: it was made for {}, this is {}",
                self.place(),
                ours.place()
            ));
        }
        let time = if self.schema_id == ours.schema_id {
            Some(ours.schema_time)
        } else {
            match ctx.schemas.get(self.schema_id) {
                Ok(schema) => Some(schema.time_millis),
                Err(e) if e.kind() == ErrorKind::FileNotFound => None,
                Err(e) => return Err(e),
            }
        };
        if time == Some(self.schema_time) {
            return Ok(());
        }
        wrong(format!(
            "a {what} of another table: it was made for a table that was at {} before (schema {} of time {}), this one \
             was created or rolled back since (its schema {} is of time {})",
            self.place(),
            self.schema_id,
            self.schema_time,
            self.schema_id,
            time.map_or_else(|| "none".to_owned(), |time| time.to_string()),
        ))
    }
}

/// Different texts may lead to one directory, through links.
fn same_directory(a: &str, b: &str) -> bool {
    a == b || matches!((std::fs::canonicalize(a), std::fs::canonicalize(b)), (Ok(a), Ok(b)) if a == b)
}

/// What a commit message needs besides its files.
#[derive(Serialize, Deserialize)]
struct MessageHeader {
    table: TableIdentity,
    /// Written without looking at the rows that are there: sequence numbers begin anew.
    replaces: bool,
    /// See [`CommitMessage::after`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    after: Option<RemovedSnapshot>,
}

impl CommitMessage {
    /// Bytes that travel: Java's own, with the table they belong to and a checksum. `replaces`: its writer did not look
    /// at the rows that are there, because they will be replaced.
    pub fn seal(&self, ctx: &TableContext, replaces: bool) -> Result<Vec<u8>> {
        let header = MessageHeader { table: TableIdentity::of(ctx), replaces, after: self.after.clone() };
        MESSAGE.close(&header, &self.to_bytes()?)
    }

    /// A message that arrived, if it is whole and of this table, and whether it replaces what is there.
    ///
    /// # Errors
    /// `CorruptFile`: damaged; `InvalidArgument`: made for another table, branch, or in Java's bytes, which have no
    /// checksum and do not say whose they are; `UnsupportedVersion`: made by another version.
    pub fn unseal(bytes: &[u8], ctx: &TableContext) -> Result<(Self, bool)> {
        if !MESSAGE.is_on(bytes) && Self::from_bytes(bytes).is_ok() {
            let message = "a commit message in Java's bytes: it has no checksum and does not say which table it is of";
            return Err(Error::new(ErrorKind::InvalidArgument, message)
                .with("table", &ctx.name)
                .hint("commit it where it was made; here, give what prepare_commit() returned"));
        }
        let (header, payload): (MessageHeader, _) = MESSAGE.open(bytes).map_err(|e| e.in_table(&ctx.name))?;
        header.table.check(ctx, MESSAGE.what)?;
        let message = Self::from_bytes(payload).map_err(|e| e.in_table(&ctx.name))?;
        let message = Self { after: header.after, ..message };
        message.check_places(ctx)?;
        Ok((message, header.replaces))
    }

    /// An error when the message adds a file that lies outside of the table, and not where `data-file.external-paths` lets
    /// it lie either: the table would name somebody else's file as its own.
    ///
    /// # Errors
    /// `InvalidArgument`: an external path that the table does not declare; `CorruptFile`: a name that is none of a file.
    pub fn check_places(&self, ctx: &TableContext) -> Result<()> {
        let (data, compact) = (&self.data, &self.compact);
        let files = data.new_files.iter().chain(&data.changelog_files);
        for file in files.chain(&compact.compact_after).chain(&compact.changelog_files) {
            let path = ctx.paths.data_file(&self.bucket.partition, self.bucket.bucket, file);
            ctx.paths
                .extra_files(&self.bucket.partition, self.bucket.bucket, file)
                .map_err(|e| e.in_table(&ctx.name))?;
            check_place(ctx, path, file.external_path.is_some())?;
        }
        let index = data.index_files.iter().chain(&compact.index_files);
        for entry in index.filter(|entry| entry.kind == EntryKind::Add) {
            check_place(ctx, ctx.paths.index_file_of(entry), entry.external_path.is_some())?;
        }
        Ok(())
    }
}

fn check_place(ctx: &TableContext, path: Result<String>, is_external: bool) -> Result<()> {
    let path = path.map_err(|e| e.in_table(&ctx.name))?;
    if !is_external {
        return Ok(());
    }
    ctx.fs.check_deletable(&path).map_err(|cause| {
        Error::new(ErrorKind::InvalidArgument, "a commit message adds a file that does not belong to the table")
            .with("table", &ctx.name)
            .with("file", path)
            .with("option", "data-file.external-paths")
            .hint("commit messages as prepare_commit() gave them; files outside of the table lie where the option says")
            .caused_by(cause)
    })
}
