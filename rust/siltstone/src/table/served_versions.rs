//! Branches and rollbacks of tables that a catalog's server keeps: looked at here, done by the server.

use std::sync::Arc;

use super::{
    Table,
    served::{GoBack, Served},
};
use crate::{
    Error, ErrorKind, Result,
    cleanup::Report,
    maintenance::{
        branch::{self, BranchSource},
        rollback::rollback,
    },
    scan::VersionSelector,
};

const BY_THE_SERVER: &str = "the catalog's server has done it: what it deletes besides, and when, is its business";

impl Table {
    /// Whose versions and branches these are; `None`: nobody's, or nothing is to be done.
    pub(super) fn served(&self, dry_run: bool) -> Result<Option<Arc<Served>>> {
        if dry_run { Ok(None) } else { Ok(self.server()?.filter(|served| served.has_versions())) }
    }

    pub(super) fn rollback_served(&self, served: &Served, to: &VersionSelector) -> Result<Report> {
        let ctx = self.context();
        let report = rollback(ctx, to, true)?;
        let target = if let VersionSelector::Tag(tag) = to {
            GoBack::Tag(tag.clone())
        } else {
            let id = report.details.get("current_snapshot").and_then(serde_json::Value::as_i64);
            GoBack::Snapshot(id.ok_or_else(|| Error::new(ErrorKind::Internal, "a rollback to no snapshot"))?)
        };
        served.server().rollback(&served.name(&ctx.branch), &target)?;
        Ok(done(report))
    }

    pub(super) fn create_served_branch(&self, served: &Served, name: &str, source: &BranchSource) -> Result<()> {
        let ctx = self.context();
        branch::check_new(ctx, name)?;
        let tag = match source {
            BranchSource::Empty => None,
            BranchSource::Tag(tag) => {
                self.tag(tag)?;
                Some(tag.as_str())
            }
            BranchSource::Snapshot(_) => {
                return Err(Error::unsupported("a branch from a snapshot of a table that a catalog's server keeps")
                    .with("table", &ctx.name)
                    .hint("make a tag of the snapshot, and the branch from the tag"));
            }
        };
        served.server().create_branch(&served.name(&ctx.branch), name, tag)
    }

    pub(super) fn delete_served_branch(&self, served: &Served, name: &str) -> Result<Report> {
        let ctx = self.context();
        let report = branch::delete_branch(ctx, name, true)?;
        served.server().drop_branch(&served.name(&ctx.branch), name)?;
        Ok(done(report))
    }

    pub(super) fn rename_served_branch(&self, served: &Served, from: &str, to: &str) -> Result<()> {
        let ctx = self.context();
        // whoever may not delete it may not take its name away
        branch::delete_branch(ctx, from, true)?;
        branch::check_new(ctx, to)?;
        served.server().rename_branch(&served.name(&ctx.branch), from, to)
    }

    pub(super) fn forward_served(&self, served: &Served, name: &str) -> Result<Report> {
        let ctx = self.context();
        let report = branch::fast_forward(ctx, name, true)?;
        served.server().forward_branch(&served.name(&ctx.branch), name)?;
        Ok(done(report))
    }
}

fn done(mut report: Report) -> Report {
    report.dry_run = false;
    report.plan.notes.push(BY_THE_SERVER.to_owned());
    report
}
