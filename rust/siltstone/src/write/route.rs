//! Which (partition, bucket) each row belongs to, and the rows of each, in their order (format chapter 6).

use std::{collections::HashMap, ops::Range};

use arrow_array::{
    Array, ArrayRef, Int8Array, RecordBatch, RecordBatchOptions, UInt32Array, cast::AsArray, make_array,
};
use arrow_data::transform::MutableArrayData;
use arrow_schema::ArrowError;
use arrow_select::take::take;
use rayon::ThreadPool;

use super::{cross_partition::KeyAssigner, dynamic::Assigner, given::GivenBuckets};
use crate::{
    error::{Error, ErrorKind, Result},
    index::{BucketFunction, assign_buckets},
    io::{batch_bytes, taken_rows},
    limits,
    manifest::{BucketId, ManifestEntry},
    options::{CoreOptions, POSTPONE_BUCKET},
    row::{BinaryRow, binary_rows, hash_rows},
    schema::TableSchema,
    types::DataType,
    wire::CommitMessage,
};

/// The rows of one bucket.
#[derive(Debug)]
pub(super) struct Portion {
    pub(super) bucket: BucketId,
    pub(super) rows: RecordBatch,
    pub(super) kinds: Int8Array,
}

/// How the rows of one table are distributed.
pub(super) struct Router {
    partition: Columns,
    buckets: Buckets,
    function: BucketFunction,
    held: bool,
}

/// Columns by position, with their types.
struct Columns {
    at: Vec<usize>,
    types: Vec<DataType>,
}

/// Neighbouring rows of one partition, and its number.
pub(super) type Stretch = (Range<usize>, usize);

enum Buckets {
    /// Every row goes to this one: unaware, a fixed number of one, or postponed.
    One(i32),
    /// By the hash of these columns.
    Hashed(Columns, i32),
    /// By an index of the hashes of the key, which are these columns.
    Assigned(Columns, Box<Assigner>),
    /// They come with the rows; the hashes of the key, which are these columns, go into their index.
    Given(Columns, Box<GivenBuckets>),
    /// By an index of the keys of the whole table.
    Keyed(Box<KeyAssigner>),
}

/// Who says which bucket a key is in, where the number of buckets is not fixed.
pub(super) enum ByKey {
    /// This writer, by the hashes of the keys of a partition.
    Assigner(Box<Assigner>),
    /// This writer, by the keys of the whole table.
    Keys(Box<KeyAssigner>),
    /// Others have.
    Given(Box<GivenBuckets>),
}

impl Router {
    /// `by_key`: of tables that have it.
    pub(super) fn new(schema: &TableSchema, options: &CoreOptions, by_key: Option<ByKey>) -> Result<Self> {
        let n = options.bucket;
        let buckets = match (n, by_key) {
            (-1, Some(by_key)) => {
                let key: Vec<String> = schema.trimmed_primary_keys().into_iter().map(str::to_owned).collect();
                let key = Columns::named(schema, &key)?;
                match by_key {
                    ByKey::Assigner(assigner) => Buckets::Assigned(key, assigner),
                    ByKey::Given(given) => Buckets::Given(key, given),
                    ByKey::Keys(assigner) => Buckets::Keyed(assigner),
                }
            }
            (-1 | 1, _) => Buckets::One(0),
            (POSTPONE_BUCKET, _) => Buckets::One(POSTPONE_BUCKET),
            (n, _) if n > 1 => Buckets::Hashed(Columns::named(schema, &schema.bucket_keys())?, n),
            (n, _) => {
                let message = format!("bucket = {n} is not a number of buckets");
                return Err(Error::new(ErrorKind::InvalidOption, message).with("option", "bucket"));
            }
        };
        if matches!(&buckets, Buckets::Hashed(key, _) if key.at.is_empty()) {
            return Err(Error::new(ErrorKind::IllegalSchema, "an append table with fixed buckets needs a bucket-key")
                .with("option", "bucket-key"));
        }
        let partition = Columns::named(schema, &schema.partition_keys)?;
        Ok(Self { partition, buckets, function: function(options)?, held: false })
    }

    /// Whether whoever gives rows leaves their memory as it is until they are committed: they are not copied then.
    pub(super) fn held(self, held: bool) -> Self {
        Self { held, ..self }
    }

    /// Splits rows; the portions keep the rows' order and come in the order of their first row.
    pub(super) fn split(&mut self, rows: RecordBatch, kinds: Int8Array) -> Result<Vec<Portion>> {
        if rows.num_rows() == 0 {
            return Ok(Vec::new());
        }
        let (partitions, partition_of) = self.partitions(&rows)?;
        if let Buckets::Keyed(assigner) = &mut self.buckets {
            return assigner.split(&rows, &kinds, &partitions, &partition_of);
        }
        let bucket_of = self.bucket_numbers(&rows, &partitions, &partition_of)?;
        let only = match self.buckets {
            Buckets::One(only) => only,
            _ => 0,
        };
        let (buckets, members) = group(&partitions, &partition_of, (&bucket_of, only), rows.num_rows())?;
        let mut buckets = buckets.into_iter();
        if members.len() == 1 {
            let Some(bucket) = buckets.next() else { return Ok(Vec::new()) };
            let rows = if self.held { rows } else { copied(&rows)? };
            return Ok(vec![Portion { bucket, rows, kinds }]);
        }
        let portion = |(bucket, members): (BucketId, Vec<u32>)| {
            let members = UInt32Array::from(members);
            Ok(Portion {
                bucket,
                rows: taken_rows(&rows, &members)?,
                kinds: take(&kinds, &members, None)?.as_primitive().clone(),
            })
        };
        buckets.zip(members).map(portion).collect()
    }

    /// The distinct partitions, and which one each stretch of rows belongs to.
    fn partitions(&self, rows: &RecordBatch) -> Result<(Vec<Vec<u8>>, Vec<Stretch>)> {
        let all = 0..rows.num_rows();
        if self.partition.at.is_empty() {
            return Ok((vec![BinaryRow::empty().to_serialized()], vec![(all, 0)]));
        }
        let columns = self.partition.of(rows)?;
        let stretches = arrow_ord::partition::partition(&columns)?.ranges();
        let firsts: Vec<u32> = stretches.iter().map(|r| position(r.start)).collect::<Result<_>>()?;
        let firsts = UInt32Array::from(firsts);
        let columns = columns.iter().map(|c| take(c, &firsts, None)).collect::<std::result::Result<Vec<_>, _>>()?;
        let keys = binary_rows(&self.partition.types, &columns)?;
        let mut numbers: HashMap<&[u8], usize> = HashMap::new();
        let mut partitions = Vec::new();
        let mut partition_of = Vec::with_capacity(stretches.len());
        for (i, stretch) in stretches.into_iter().enumerate() {
            let number = *numbers.entry(keys.row(i)).or_insert_with(|| {
                partitions.push(keys.serialized(i));
                partitions.len() - 1
            });
            partition_of.push((stretch, number));
        }
        Ok((partitions, partition_of))
    }

    fn bucket_numbers(
        &mut self,
        rows: &RecordBatch,
        partitions: &[Vec<u8>],
        partition_of: &[Stretch],
    ) -> Result<Vec<i32>> {
        match &mut self.buckets {
            Buckets::One(_) | Buckets::Keyed(_) => Ok(Vec::new()),
            Buckets::Hashed(key, n) => assign_buckets(self.function, &key.types, &key.of(rows)?, *n),
            Buckets::Assigned(key, assigner) => {
                let hashes = hash_rows(&key.types, &key.of(rows)?)?;
                assigner.assign(partitions, partition_of, &hashes)
            }
            Buckets::Given(key, given) => {
                let hashes = hash_rows(&key.types, &key.of(rows)?)?;
                given.assign(partitions, partition_of, &hashes)
            }
        }
    }

    /// Adds to messages what a commit has to know of how their rows were distributed.
    ///
    /// # Errors
    /// Files that the messages name are no use then.
    pub(super) fn add_to(&mut self, messages: &mut [CommitMessage], pool: Option<&ThreadPool>) -> Result<()> {
        match &mut self.buckets {
            Buckets::Assigned(_, assigner) => assigner.add_to(messages, pool),
            Buckets::Given(_, given) => given.add_to(messages),
            Buckets::Keyed(assigner) => assigner.add_to(messages),
            Buckets::One(_) | Buckets::Hashed(..) => Ok(()),
        }
    }

    /// Compares what says where keys are with a live file of a version; `index`: its index manifest, if it has one.
    ///
    /// # Errors
    /// `CorruptFile` when it cannot be the index of this file.
    pub(super) fn check(&self, file: &ManifestEntry, index: Option<&str>) -> Result<()> {
        match &self.buckets {
            Buckets::Assigned(_, assigner) => assigner.check(file, index),
            Buckets::Given(_, given) => given.check(file, index),
            Buckets::Keyed(_) | Buckets::One(_) | Buckets::Hashed(..) => Ok(()),
        }
    }

    /// Whether rows that were split are remembered: they cannot be split once more as if they had not been.
    pub(super) fn remembers(&self) -> bool {
        matches!(&self.buckets, Buckets::Keyed(assigner) if assigner.is_loaded())
    }

    /// Whether rows were left out because their keys are elsewhere, by what was handed out and may not have been committed.
    pub(super) fn leaves_out(&self) -> bool {
        matches!(&self.buckets, Buckets::Keyed(assigner) if assigner.leaves_out())
    }

    /// The next rows are of this bucket: of writers that are told.
    pub(super) fn next_bucket(&mut self, bucket: i32) {
        if let Buckets::Given(_, given) = &mut self.buckets {
            given.next(bucket);
        }
    }

    /// What was seen of the table may have changed.
    pub(super) fn reset(&mut self) {
        match &mut self.buckets {
            Buckets::Assigned(_, assigner) => assigner.reset(),
            Buckets::Keyed(assigner) => assigner.reset(),
            Buckets::Given(..) | Buckets::One(_) | Buckets::Hashed(..) => {}
        }
    }
}

impl Columns {
    fn named(schema: &TableSchema, names: &[String]) -> Result<Self> {
        let find = |name: &String| {
            let at = schema.fields.iter().position(|f| &f.name == name);
            at.ok_or_else(|| Error::new(ErrorKind::IllegalSchema, format!("key column '{name}' is not a column")))
        };
        let at: Vec<usize> = names.iter().map(find).collect::<Result<_>>()?;
        let types = at.iter().filter_map(|i| schema.fields.get(*i)).map(|f| f.data_type.clone()).collect();
        Ok(Self { at, types })
    }

    fn of(&self, rows: &RecordBatch) -> Result<Vec<ArrayRef>> {
        Ok(rows.project(&self.at)?.columns().to_vec())
    }
}

/// The rows in memory of their own: whoever gave them may fill its memory again as soon as they are taken (pandas and NumPy do).
pub(crate) fn copied(rows: &RecordBatch) -> Result<RecordBatch> {
    limits::ask_for_part(batch_bytes(rows), "copying rows")?;
    let copy = |column: &ArrayRef| {
        let data = column.to_data();
        let mut own = MutableArrayData::new(vec![&data], false, data.len());
        own.try_extend(0, 0, data.len())?;
        Ok(make_array(own.freeze()))
    };
    let columns = rows.columns().iter().map(copy).collect::<std::result::Result<_, ArrowError>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
    Ok(RecordBatch::try_new_with_options(rows.schema(), columns, &options)?)
}

fn function(options: &CoreOptions) -> Result<BucketFunction> {
    options.get("bucket-function.type").map_or(Ok(BucketFunction::default()), BucketFunction::parse)
}

/// Bucket numbers below this one are looked up in an array, those above in a map: an option says how large they are.
const FEW_BUCKETS: usize = 1 << 14;

/// Numbers the (partition, bucket) pairs in order of appearance and collects the rows of each; without a bucket for each row
/// all are in one.
fn group(
    partitions: &[Vec<u8>],
    partition_of: &[Stretch],
    (bucket_of, only): (&[i32], i32),
    rows: usize,
) -> Result<(Vec<BucketId>, Vec<Vec<u32>>)> {
    let mut groups = Groups { partitions, rows, buckets: Vec::new(), members: Vec::new(), numbers: HashMap::new() };
    for (stretch, partition) in partition_of {
        if bucket_of.is_empty() {
            let number = groups.number(*partition, only);
            let rows = position(stretch.start)?..position(stretch.end)?;
            groups.members.get_mut(number).into_iter().for_each(|m| m.extend(rows.clone()));
            continue;
        }
        // group numbers of this partition's buckets: one look at an array for each row
        let mut known: Vec<Option<usize>> = Vec::new();
        for (row, bucket) in stretch.clone().zip(bucket_of.get(stretch.clone()).unwrap_or_default()) {
            let at = usize::try_from(*bucket).unwrap_or_default();
            let number = if let Some(number) = known.get(at).copied().flatten() {
                number
            } else {
                let number = groups.number(*partition, *bucket);
                if at < FEW_BUCKETS {
                    known.resize(known.len().max(at + 1), None);
                    known.get_mut(at).into_iter().for_each(|k| *k = Some(number));
                }
                number
            };
            if let Some(group) = groups.members.get_mut(number) {
                group.push(position(row)?);
            }
        }
    }
    Ok((groups.buckets, groups.members))
}

struct Groups<'a> {
    partitions: &'a [Vec<u8>],
    rows: usize,
    buckets: Vec<BucketId>,
    members: Vec<Vec<u32>>,
    numbers: HashMap<(usize, i32), usize>,
}

impl Groups<'_> {
    fn number(&mut self, partition: usize, bucket: i32) -> usize {
        *self.numbers.entry((partition, bucket)).or_insert_with(|| {
            let partition = self.partitions.get(partition).cloned().unwrap_or_default();
            self.buckets.push(BucketId { partition, bucket });
            // the more groups there are, the fewer rows each has
            self.members.push(Vec::with_capacity(self.rows / (16 + self.members.len())));
            self.members.len() - 1
        })
    }
}

fn position(row: usize) -> Result<u32> {
    u32::try_from(row).map_err(|e| Error::new(ErrorKind::InvalidArgument, "a batch has too many rows").caused_by(e))
}
