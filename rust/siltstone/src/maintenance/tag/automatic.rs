//! Tags that are made by themselves (semantics g.5): one for each period that is over, or one after each batch commit.

use chrono::{Local, NaiveDateTime};
use serde_json::json;

use super::{
    create::{publish, replace_locked},
    delete::delete_chosen,
};
use crate::{
    cleanup::{Report, settled_lock, with_effect},
    error::{Error, ErrorKind, Result},
    io::TableContext,
    options::{TagCreation, Zone},
    snapshot::{Period, Snapshot, Tag, TagManager},
};

/// Makes the automatic tags that are due, and deletes those above `tag.num-retained-max`.
///
/// The report's detail `created` has their names.
///
/// # Errors
/// `InvalidOption` for periods, delays and zones that do not fit; storage errors. Tags made before stay.
pub fn create_automatic(ctx: &TableContext) -> Result<Report> {
    let options = &ctx.options;
    let report = |made: Vec<String>| Report::default().with("created", json!(made));
    // an older proposal's options switch it on by themselves
    let proposed = options.tag_create_time.is_some() || options.tag_create_interval.is_some();
    let mode = match options.tag_automatic_creation {
        TagCreation::None if proposed && options.get("tag.automatic-creation").is_none() => TagCreation::ProcessTime,
        mode => mode,
    };
    match mode {
        TagCreation::None => Ok(report(Vec::new())),
        TagCreation::Batch => batch(ctx),
        TagCreation::ProcessTime => {
            let zone = Zone::parse("sink.process-time-zone", options.sink_process_time_zone.as_deref())?;
            periodic(ctx, &|snapshot| zone.local(snapshot.time_millis))
        }
        TagCreation::Watermark => {
            let zone = Zone::parse("sink.watermark-time-zone", Some(&options.sink_watermark_time_zone))?;
            periodic(ctx, &|snapshot| zone.local(snapshot.watermark.filter(|w| *w != i64::MIN)?))
        }
    }
}

/// One tag for each period that is over, from the first snapshot after it.
fn periodic(ctx: &TableContext, time_of: &dyn Fn(&Snapshot) -> Option<NaiveDateTime>) -> Result<Report> {
    let snapshots = ctx.snapshots();
    let tags = ctx.tags();
    let period = Period::of_options(&ctx.options)?;
    let mut report = Report::default();
    let mut made = Vec::new();
    let (Some(latest), Some(earliest)) = (snapshots.latest_id()?, snapshots.earliest_id()?) else {
        return Ok(report.with("created", json!(made)));
    };
    let newest = tags.names()?.into_iter().filter_map(|name| Some((period.time(&name)?, name))).max();
    let (mut next_tag, from) = match newest {
        Some((time, name)) => (period.next(time), tags.get(&name)?.id + 1),
        None => (None, earliest),
    };
    for snapshot in
        snapshots.existing(snapshots.ids()?.into_iter().filter(|id| (from.max(earliest)..=latest).contains(id)))?
    {
        let Some(time) = time_of(&snapshot) else { continue };
        if next_tag.is_some_and(|next| !period.is_due(time, next)) {
            continue;
        }
        let this = match next_tag.filter(|_| ctx.options.tag_automatic_completion) {
            Some(missing) => Some(missing),
            None => period.last_finished(time),
        };
        let Some(this) = this else { continue };
        let name = period.name(this);
        let tag = Tag::new(snapshot, ctx.options.tag_default_time_retained, Local::now().naive_local());
        publish(ctx, None, &name, tag, true)?;
        success_file(ctx, &name)?;
        made.push(name);
        next_tag = period.next(this);
        report.extend(keep_newest(ctx, &tags, &|name| period.time(name).is_some())?);
    }
    Ok(report.with("created", json!(made)))
}

/// Deletes the oldest automatic tags above `tag.num-retained-max`. Those that keep the files of a branch are none.
fn keep_newest(ctx: &TableContext, tags: &TagManager, is_auto: &dyn Fn(&str) -> bool) -> Result<Report> {
    let Some(max) = ctx.options.tag_num_retained_max else { return Ok(Report::default()) };
    delete_chosen(ctx, false, &|| {
        let mut auto: Vec<(String, Snapshot)> = tags.list()?;
        auto.retain(|(name, tagged)| is_auto(name) && tagged.kept_branch().is_none());
        let surplus = auto.len().saturating_sub(max);
        Ok(auto.into_iter().take(surplus).map(|(name, _)| name).collect())
    })
}

/// How often others commit while the tag is being moved; the last ones then move it themselves.
const ROUNDS: usize = 10;

/// A tag of the newest version. A commit that came while it was moved has met the lock, and may not have waited for it: so what is
/// newest is asked again afterwards.
fn batch(ctx: &TableContext) -> Result<Report> {
    let (mut report, mut made) = (Report::default(), Vec::new());
    let mut before: Option<String> = None;
    for _ in 0..ROUNDS {
        let moved = with_effect(move_to_newest(ctx), || Ok(before.clone()))?;
        let Some(Moved { name, version, done, released }) = moved else { break };
        let newest = with_effect(ctx.snapshots().latest(), || Ok(Some(done.clone())))?;
        report.extend(released);
        if made.last() != Some(&name) {
            made.push(name);
        }
        if newest.is_none_or(|newest| newest.is_same_version(&version)) {
            break;
        }
        before = Some(done);
    }
    if !made.is_empty() {
        report.extend(keep_newest(ctx, &ctx.tags(), &|_| true)?);
    }
    Ok(report.with("created", json!(made)))
}

/// A tag that names the newest version now.
struct Moved {
    name: String,
    version: Snapshot,
    /// What was done, in words.
    done: String,
    /// Files that only the version before needed.
    released: Report,
}

/// Lets `batch-write-2024-05-01` name the newest version, in the place of an older one. Which is the newest is read with the lock:
/// what was read before may be older than what another commit's tag names. `None`: there is no version, or a tag of a newer one.
fn move_to_newest(ctx: &TableContext) -> Result<Option<Moved>> {
    let lock = settled_lock(ctx)?;
    let snapshots = ctx.snapshots();
    let Some(newest) = snapshots.latest()? else { return Ok(None) };
    let name = batch_name(ctx, &newest)?;
    let old = match ctx.tags().get(&name) {
        // another program was faster
        Ok(tagged) if tagged.id > newest.id && snapshots.has_version(&tagged)? => return Ok(None),
        Err(e) if e.kind() == ErrorKind::TagNotFound => None,
        found => Some(found?),
    };
    let tag = Tag::new(newest, ctx.options.tag_default_time_retained, Local::now().naive_local());
    let (how, released) = if let Some(old) = &old {
        ("replaced", replace_locked(ctx, &lock, &name, old, &tag)?)
    } else {
        publish(ctx, Some(&lock), &name, tag.clone(), true)?;
        ("created", Report::default())
    };
    drop(lock);
    let done = format!("tag '{name}' was {how}");
    with_effect(success_file(ctx, &name), || Ok(Some(done.clone())))?;
    Ok(Some(Moved { name, version: tag.snapshot, done, released }))
}

/// The name of the tag that a batch commit makes of this version.
fn batch_name(ctx: &TableContext, newest: &Snapshot) -> Result<String> {
    let name = if let Some(name) = &ctx.options.tag_batch_customized_name {
        name.clone()
    } else {
        let zone = Zone::parse("sink.process-time-zone", ctx.options.sink_process_time_zone.as_deref())?;
        let time = zone.local(newest.time_millis);
        let time = time.ok_or_else(|| Error::new(ErrorKind::CorruptFile, "the snapshot's time is out of range"))?;
        format!("batch-write-{}", time.format("%Y-%m-%d"))
    };
    crate::snapshot::check_name("tag", &name)?;
    Ok(name)
}

/// Option `tag.create-success-file`: `tag/tag-success-file/<name>_SUCCESS`.
fn success_file(ctx: &TableContext, name: &str) -> Result<()> {
    if !ctx.options.tag_create_success_file {
        return Ok(());
    }
    let directory = format!("{}/tag-success-file", ctx.paths.tag_dir(&ctx.branch));
    let now = crate::env::now_millis();
    let content = format!("{{\n  \"creationTime\" : {now},\n  \"modificationTime\" : {now}\n}}");
    ctx.fs.create_dir(&directory)?;
    ctx.fs.overwrite(&format!("{directory}/{name}_SUCCESS"), content.as_bytes())
}
