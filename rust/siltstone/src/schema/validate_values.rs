//! Rules about options that stand for themselves: sizes, names, compressions, times, defaults of columns.

use super::{
    TableSchema,
    refusal::{forbidden_option, illegal},
};
use crate::{
    cast::default_value,
    error::{Error, Result, shorten},
    format::{DataFormat, data_format, data_formats},
    fs::name_fault,
    options::{CoreOptions, TagCreation, Zone},
    stats::StatsMode,
};

/// A tag that is due after the next one would never be made (`TagPeriodHandler.validateDelay`).
pub(super) fn check_automatic_tags(options: &CoreOptions) -> Result<()> {
    if options.tag_automatic_creation != TagCreation::None {
        Zone::parse("sink.process-time-zone", options.sink_process_time_zone.as_deref())?;
        Zone::parse("sink.watermark-time-zone", Some(&options.sink_watermark_time_zone))?;
    }
    if options.tag_period().as_millis() < 1 {
        let message = "the period of automatic tags must be one millisecond or longer";
        return Err(forbidden_option("tag.creation-period-duration", message));
    }
    let (key, delay) = match options.tag_create_time {
        Some(time) => ("tag.create-time", time),
        None => ("tag.creation-delay", options.tag_creation_delay),
    };
    if options.tag_automatic_creation == TagCreation::None || delay < options.tag_period() {
        return Ok(());
    }
    Err(forbidden_option(key, "the delay of automatic tags must be shorter than their period")
        .hint("a daily tag may wait for less than 24 hours, an hourly one for less than an hour"))
}

pub(super) fn check_file_sizes(options: &CoreOptions) -> Result<()> {
    if options.target_file_row_num == 0 {
        return Err(forbidden_option("target-file-row-num", "'target-file-row-num' must be at least 1"));
    }
    if options.target_file_size == Some(0) {
        return Err(forbidden_option("target-file-size", "'target-file-size' must be at least 1 byte"));
    }
    Ok(())
}

pub(super) fn check_levels(options: &CoreOptions) -> Result<()> {
    if options.num_levels < 2 {
        return Err(forbidden_option("num-levels", "'num-levels' must be at least 2"));
    }
    Ok(())
}

pub(super) fn check_retention(options: &CoreOptions) -> Result<()> {
    let number = |key: &str, default: i64| {
        options.get(key).map_or(default, |text| text.trim().parse::<i64>().unwrap_or(default))
    };
    let mut defaults = (10, i64::from(i32::MAX));
    for (kind, least, most) in [
        ("snapshot", "snapshot.num-retained.min", "snapshot.num-retained.max"),
        ("changelog", "changelog.num-retained.min", "changelog.num-retained.max"),
    ] {
        let (min, max) = (number(least, defaults.0), number(most, defaults.1));
        if min < 1 {
            return Err(forbidden_option(least, format!("at least 1 {kind} is kept")));
        }
        if min > max {
            let error = forbidden_option(least, format!("'{least}' = {min} is larger than '{most}' = {max}"));
            return Err(if options.get(least).is_some() {
                error
            } else {
                error.hint(format!("{min} is the default of '{least}': set both"))
            });
        }
        defaults = (min, max);
    }
    Ok(())
}

pub(super) fn check_stats_modes(options: &CoreOptions) -> Vec<Result<()>> {
    let modes = std::iter::once(("metadata.stats-mode", &options.stats_mode))
        .chain(options.stats_mode_per_level.values().map(|mode| ("metadata.stats-mode.per.level", mode)))
        .chain(options.changelog_stats_mode.iter().map(|mode| ("changelog-file.stats-mode", mode)))
        .chain(options.field_stats_mode.values().map(|mode| ("fields.<column>.stats-mode", mode)));
    modes.map(|(key, mode)| StatsMode::parse(mode).map(drop).map_err(|e| e.with("option", key))).collect()
}

/// A format that is not known is refused with what else is not written.
pub(super) fn check_manifest_compression(options: &CoreOptions) -> Result<()> {
    let name = options.manifest_compression.as_str();
    match data_format(&options.manifest_format) {
        Ok(format) if !format.has_compression(name) => {
            Err(not_one_of("manifest.compression", name, format.compressions()))
        }
        _ => Ok(()),
    }
}

/// File systems have names of 255 bytes; a UUID, a number and the format follow.
const LONGEST_PREFIX: usize = 190;

pub(super) fn check_prefixes(options: &CoreOptions) -> Result<()> {
    for (key, prefix) in
        [("data-file.prefix", &options.data_file_prefix), ("changelog-file.prefix", &options.changelog_file_prefix)]
    {
        // Java reads none of the files of a prefix with a colon
        if (!prefix.is_empty() && name_fault(prefix).is_some()) || prefix.starts_with('.') || prefix.contains(':') {
            return Err(forbidden_option(key, format!("{prefix:?} cannot begin a file name")));
        }
        if prefix.len() > LONGEST_PREFIX {
            return Err(forbidden_option(
                key,
                format!("it has more than {LONGEST_PREFIX} bytes: no file could have the name"),
            ));
        }
    }
    Ok(())
}

pub(super) fn check_default_partition(options: &CoreOptions) -> Result<()> {
    if options.partition_default_name.trim().is_empty() || options.partition_default_name.contains('/') {
        let message = format!("'{}' cannot be a directory name", options.partition_default_name);
        return Err(forbidden_option("partition.default-name", message));
    }
    Ok(())
}

/// What the writer of data files would refuse, file by file: a table with it could be made, and never be written to.
pub(super) fn check_data_files(options: &CoreOptions) -> Vec<Result<()>> {
    let changelog_format = options.changelog_file_format.as_ref();
    let formats = [("file.format", Some(&options.file_format)), ("changelog-file.format", changelog_format)];
    let formats =
        formats.into_iter().map(|(key, format)| match format.filter(|format| format.trim() != format.as_str()) {
            Some(format) => {
                Err(forbidden_option(key, format!("'{format}' is not a file format, it has spaces around it")))
            }
            None => Ok(()),
        });
    let compressions = compressions(options).into_iter().map(|(format, key, name)| {
        let known = format.has_compression(name);
        if known { Ok(()) } else { Err(not_one_of(key, name, format.compressions())) }
    });
    let used = options.file_formats();
    let is_used = |name: &str| name == options.manifest_format || used.iter().any(|(_, other)| *other == name);
    let own = data_formats().filter(|format| is_used(format.name()));
    let own = own.flat_map(|format| format.check_options(options));
    formats.chain(compressions).chain(own).collect()
}

/// What files are compressed with: the format, the option and its value.
fn compressions(options: &CoreOptions) -> Vec<(&'static dyn DataFormat, &'static str, &str)> {
    let everywhere = ("file.compression", options.file_compression.as_str());
    let levels = options.file_compression_per_level.iter();
    let levels = levels
        .map(|(level, name)| (options.format_of_level(Some(*level)), "file.compression.per.level", name.as_str()));
    let mut all: Vec<_> = levels.collect();
    let others = options.file_format_per_level.iter();
    let others = others.filter(|(level, _)| !options.file_compression_per_level.contains_key(level));
    all.extend(
        others
            .map(|(_, format)| format)
            .chain([&options.file_format])
            .map(|f| (f.as_str(), everywhere.0, everywhere.1)),
    );
    match (&options.changelog_file_compression, &options.changelog_file_format) {
        (Some(name), format) => {
            let format = format.as_ref().unwrap_or(&options.file_format);
            all.push((format, "changelog-file.compression", name));
        }
        (None, Some(format)) => all.push((format, everywhere.0, everywhere.1)),
        (None, None) => {}
    }
    all.into_iter().filter_map(|(format, key, name)| Some((data_format(format).ok()?, key, name))).collect()
}

fn not_one_of(key: &str, name: &str, allowed: &[&str]) -> Error {
    forbidden_option(key, format!("'{name}' is not a compression")).hint(format!("use one of: {}", allowed.join(", ")))
}

/// A default stands for a value of its column, by the rule of the writer. Java also takes a DECIMAL that is too narrow
/// for its default, and writes null then.
pub(super) fn check_default_values(schema: &TableSchema) -> Result<()> {
    for field in &schema.fields {
        let Some(text) = &field.default_value else { continue };
        if field.data_type.is_nested() {
            let message = format!("a column of type {} cannot have a default value", field.data_type);
            return Err(illegal(message).with("column", &field.name));
        }
        let named = |e: Error| e.with("column", &field.name);
        let value = default_value(text, &field.data_type)
            .map_err(|e| named(illegal(e.message()).hint(e.hint_text().unwrap_or_default())))?;
        if value.is_null() {
            let kind = &field.data_type.kind;
            let message = format!("the default value '{}' has too many digits for {kind}", shorten(text));
            return Err(named(illegal(message)));
        }
    }
    Ok(())
}
