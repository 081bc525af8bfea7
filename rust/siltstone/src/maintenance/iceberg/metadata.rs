//! `v<n>.metadata.json`: the table as Iceberg has it, at a snapshot and at those before it.
//!
//! Source: `IcebergMetadata`, `IcebergSnapshot`.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::manifest::PARTITION_ID;
use crate::{
    env::new_uuid,
    error::{Error, ErrorKind, Result},
    io::TableContext,
    schema::{TableSchema, iceberg_fields},
    snapshot::Snapshot,
};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Metadata {
    format_version: i32,
    table_uuid: String,
    location: String,
    last_sequence_number: i64,
    last_updated_ms: i64,
    last_column_id: i32,
    schemas: Vec<Value>,
    current_schema_id: i64,
    partition_specs: Value,
    default_spec_id: i32,
    last_partition_id: i64,
    sort_orders: Value,
    default_sort_order_id: i32,
    pub(super) snapshots: Vec<Version>,
    current_snapshot_id: i64,
    #[serde(default)]
    properties: Value,
    #[serde(default)]
    refs: Value,
}

/// A snapshot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Version {
    sequence_number: i64,
    pub(super) snapshot_id: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent_snapshot_id: Option<i64>,
    timestamp_ms: i64,
    summary: Value,
    pub(super) manifest_list: String,
    schema_id: i64,
}

/// In the summary of a version that we have written: the name of its snapshot's delta manifest list, which no other snapshot has.
const DELTA_LIST: &str = "siltstone.delta-manifest-list";

impl Metadata {
    /// From its file; `None`: it says nothing, and the next one begins anew.
    pub(super) fn read(ctx: &TableContext, path: &str) -> Result<Option<Self>> {
        let bytes = match crate::fs::read_json(ctx.fs.as_ref(), path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == ErrorKind::FileNotFound => return Ok(None),
            Err(e) => return Err(e),
        };
        let read: Option<Self> = serde_json::from_slice(&bytes).ok();
        Ok(read.filter(|read| read.location == ctx.location))
    }

    /// Whether it is of this very snapshot, and not of one that had its id before a rollback or a fast-forward. Of what Java has
    /// written only the time can tell: what is older than the snapshot is of another one.
    pub(super) fn is_of(&self, snapshot: &Snapshot, schema: &TableSchema) -> bool {
        let is_newest = |newest: &Version| {
            let of_this = match newest.delta_list() {
                Some(list) => list == snapshot.delta_manifest_list,
                None => newest.timestamp_ms >= snapshot.time_millis,
            };
            newest.snapshot_id == snapshot.id && of_this
        };
        self.current_snapshot_id == snapshot.id
            && self.snapshots.last().is_some_and(is_newest)
            && self.partition_specs == partition_specs(schema)
    }

    /// Whether its newest version says which snapshot it is of. The manifests of one that does not are not gone on with.
    pub(super) fn names_its_snapshot(&self) -> bool {
        self.snapshots.last().is_some_and(|newest| newest.delta_list().is_some())
    }

    /// The version behind `base`, or the only one. `kept` says which older snapshots are still there.
    pub(super) fn next(
        ctx: &TableContext,
        base: Option<&Self>,
        uuid: Option<String>,
        (snapshot, schema): (&Snapshot, &TableSchema),
        (manifest_list, replaces): (String, bool),
        kept: &dyn Fn(i64) -> bool,
    ) -> Result<Self> {
        let mut snapshots: Vec<Version> = base.map(|base| base.snapshots.clone()).unwrap_or_default();
        let parent_snapshot_id = snapshots.last().map(|version| version.snapshot_id);
        snapshots.retain(|version| kept(version.snapshot_id));
        snapshots.push(Version {
            sequence_number: snapshot.id,
            snapshot_id: snapshot.id,
            parent_snapshot_id,
            timestamp_ms: snapshot.time_millis,
            summary: json!({
                "operation": if replaces { "overwrite" } else { "append" },
                DELTA_LIST: snapshot.delta_manifest_list,
            }),
            manifest_list,
            schema_id: schema.id,
        });
        let mut schemas: Vec<Value> = base.map(|base| base.schemas.clone()).unwrap_or_default();
        if !schemas.iter().any(|known| known.get("schema-id").and_then(Value::as_i64) == Some(schema.id)) {
            let fields = iceberg_fields(&schema.fields)?;
            schemas.push(json!({ "type": "struct", "schema-id": schema.id, "fields": fields }));
        }
        let partitions = i64::try_from(PARTITION_ID.saturating_add(schema.partition_keys.len())).unwrap_or(i64::MAX);
        Ok(Self {
            format_version: 2,
            table_uuid: base.map(|base| base.table_uuid.clone()).or(uuid).unwrap_or_else(new_uuid),
            location: ctx.location.clone(),
            last_sequence_number: snapshot.id,
            last_updated_ms: snapshot.time_millis,
            last_column_id: schema.highest_field_id,
            schemas,
            current_schema_id: schema.id,
            partition_specs: partition_specs(schema),
            default_spec_id: 0,
            last_partition_id: partitions.saturating_sub(1),
            sort_orders: json!([{ "order-id": 0, "fields": [] }]),
            default_sort_order_id: 0,
            snapshots,
            current_snapshot_id: snapshot.id,
            properties: json!({}),
            refs: json!({}),
        })
    }

    /// Its name for other programs.
    pub(super) fn into_uuid(self) -> String {
        self.table_uuid
    }

    pub(super) fn to_bytes(&self) -> Result<Vec<u8>> {
        serde_json::to_vec_pretty(self)
            .map_err(|e| Error::new(ErrorKind::Internal, "Iceberg metadata is no JSON").caused_by(e))
    }
}

impl Version {
    fn delta_list(&self) -> Option<&str> {
        self.summary.get(DELTA_LIST)?.as_str()
    }
}

fn partition_specs(schema: &TableSchema) -> Value {
    let fields = schema.partition_fields().into_iter().zip(PARTITION_ID..);
    let fields = fields.map(
        |(field, id)| json!({ "name": field.name, "transform": "identity", "source-id": field.id, "field-id": id }),
    );
    json!([{ "spec-id": 0, "fields": fields.collect::<Vec<_>>() }])
}
