//! Which storage a location is in.
//!
//! Options that were given for a place hold in this process for everything below it: a table that is opened again by its location
//! needs none, and secrets need not travel for that. In another process the environment says how the store is reached.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use super::{
    RemoteFileIo,
    address::{self, Address, scheme_of},
    client::{StorageTokens, Store},
    known::is_storage_option,
    services::surroundings,
    settings::Settings,
};
use crate::{
    error::{Error, ErrorKind, Result},
    fs::FileIoRef,
    options::{is_secret, without_secrets},
};

type Options = BTreeMap<String, String>;

/// Different options that are known for one place.
const SETS: usize = 16;
/// Stores that are kept for others with the same settings.
const KEPT: usize = 256;

/// A location on a store.
#[derive(Debug)]
pub struct Opened {
    /// The storage.
    pub fs: FileIoRef,
    /// The location, without a slash at its end.
    pub path: String,
    /// Options that are not of the storage, and those of the storage that are no secrets: what may be shown and may travel.
    pub options: Options,
}

/// Options by the place that they were given for, the last ones first.
static GIVEN: Mutex<BTreeMap<String, Vec<Options>>> = Mutex::new(BTreeMap::new());
/// Stores, with what they were made of.
static STORES: Mutex<Vec<(StoreKey, Arc<Store>)>> = Mutex::new(Vec::new());

/// Bucket, the place that keys are lent for, options, and what is around the process.
type StoreKey = (String, Option<String>, Options, Vec<Option<String>>);

/// Who lends keys, by the place that they are for.
static LENT: Mutex<BTreeMap<String, Arc<dyn StorageTokens>>> = Mutex::new(BTreeMap::new());

/// From now on the storage at a location, in this process, is reached with what `tokens` lends; what lies on no store needs none.
pub fn lend(location: &str, tokens: Arc<dyn StorageTokens>) -> Result<()> {
    if is_store(location) {
        let place = place_of(&address::parse(location)?);
        LENT.lock().unwrap_or_else(PoisonError::into_inner).insert(place, tokens);
    }
    Ok(())
}

/// Who lends keys for an address: the place, which is one of the table, and who it is.
fn lender(address: &Address) -> Option<(String, Arc<dyn StorageTokens>)> {
    let place = place_of(address);
    let lent = LENT.lock().unwrap_or_else(PoisonError::into_inner);
    let is_above = |known: &str| {
        let rest = place.strip_prefix(known.trim_end_matches('/'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let above = lent.iter().filter(|(known, _)| is_above(known));
    above.max_by_key(|(known, _)| known.len()).map(|(known, tokens)| (known.clone(), Arc::clone(tokens)))
}

/// Whether a location is a URI of another storage than the local file system.
pub fn is_store(location: &str) -> bool {
    scheme_of(location).is_some()
}

/// Takes the options of storages out of `options` and opens the store that a location is in; `None`: the local file system.
///
/// # Errors
/// `UnsupportedFeature`: another storage; `UnknownOption`, `InvalidOption`: an option of a storage, also of one that the location is
/// not in.
pub fn open_storage(location: &str, options: &Options) -> Result<Option<Opened>> {
    let (own, rest): (Options, Options) = options.clone().into_iter().partition(|(key, _)| is_storage_option(key));
    let Some(scheme) = scheme_of(location) else {
        return match own.keys().next() {
            None => Ok(None),
            Some(key) => {
                let message = format!("'{key}' is an option of an object store, and {location:?} is a local path");
                Err(Error::new(ErrorKind::InvalidOption, message)
                    .with("option", key)
                    .hint("leave it out, or give a URI such as s3://bucket/lake"))
            }
        };
    };
    let address = address::parse(location)
        .map_err(|e| if e.kind() == ErrorKind::UnsupportedFeature { e.with("path", location) } else { e })?;
    tracing::debug!(scheme, bucket = address.bucket.name, "a location on a store");
    let own = if let Some(known) = known(&address, &own) {
        known
    } else {
        Settings::parse(&address.bucket, &own)?;
        remember(&address, &own);
        own
    };
    let settings = Settings::parse(&address.bucket, &own)?;
    let store = shared(&address, &own, settings);
    let mut shown = without_secrets(&own);
    shown.extend(rest);
    Ok(Some(Opened { fs: Arc::new(RemoteFileIo::new(store)), path: address.path, options: shown }))
}

/// The options that were given for the place, or for one above it, and say what these say and more: of a handle that is opened again
/// the secrets.
fn known(address: &Address, own: &Options) -> Option<Options> {
    if own.keys().any(|key| is_secret(key)) {
        return None;
    }
    let place = place_of(address);
    let given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut above: Vec<(&String, &Vec<Options>)> = given
        .iter()
        .filter(|(known, _)| {
            let rest = place.strip_prefix(known.trim_end_matches('/'));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
        .collect();
    above.sort_by_key(|(known, _)| std::cmp::Reverse(known.len()));
    let says_all = |known: &&Options| own.iter().all(|(key, value)| known.get(key) == Some(value));
    above.into_iter().flat_map(|(_, sets)| sets).find(says_all).cloned()
}

fn remember(address: &Address, own: &Options) {
    if own.is_empty() {
        return;
    }
    let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    let sets = given.entry(place_of(address)).or_default();
    sets.retain(|known| known != own);
    sets.insert(0, own.clone());
    sets.truncate(SETS);
}

fn place_of(address: &Address) -> String {
    format!("{}/{}", address.bucket.place(), address.key)
}

fn shared(address: &Address, options: &Options, settings: Settings) -> Arc<Store> {
    let (lent_for, tokens) = lender(address).unzip();
    let key = (address.bucket.place(), lent_for, options.clone(), surroundings());
    let mut stores = STORES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, store)) = stores.iter().find(|(known, _)| *known == key) {
        return Arc::clone(store);
    }
    let store = Arc::new(Store::new(&address.bucket, settings, tokens));
    if stores.len() >= KEPT {
        stores.remove(0);
    }
    stores.push((key, Arc::clone(&store)));
    store
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(pairs: &[(&str, &str)]) -> Options {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn opened(location: &str, pairs: &[(&str, &str)]) -> Options {
        let (address, own) = (address::parse(location).unwrap(), options(pairs));
        known(&address, &own).unwrap_or_else(|| {
            remember(&address, &own);
            own
        })
    }

    #[test]
    fn a_handle_that_is_opened_again_finds_the_secrets_that_were_given_for_its_warehouse() {
        let [first, second] = ["http://a", "http://b"].map(|endpoint| {
            opened("s3://known/w", &[("s3.endpoint", endpoint), ("s3.access-key", endpoint), ("s3.secret-key", "x")])
        });
        assert_eq!(opened("s3://known/w/db.db/t", &[]), second);
        assert_eq!(opened("s3a://known/w/db.db/t", &[("s3.endpoint", "http://a")]), first);
        let other = [("s3.endpoint", "http://c")];
        assert_eq!(opened("s3://known/w/db.db/t", &other), options(&other));
        assert_eq!(opened("s3://known/ww", &[]), Options::new());
        assert_eq!(opened("s3://other/w", &[]), Options::new());
    }

    /// Options that were refused were taken for the next handle of the place, too.
    #[test]
    fn options_that_are_refused_are_forgotten() {
        assert!(open_storage("s3://refused/w", &options(&[("s3.end-point", "x")])).is_err());
        let opened = open_storage("s3://refused/w", &Options::new()).unwrap().unwrap();
        assert!(opened.options.is_empty());
    }

    #[test]
    fn secrets_do_not_come_back_out() {
        let given = [("s3.access-key", "k"), ("s3.secret-key", "s"), ("s3.region", "r"), ("scan.tag-name", "v1")];
        let opened = open_storage("s3://secrets/w/", &options(&given)).unwrap().unwrap();
        assert_eq!(opened.options, options(&[("s3.region", "r"), ("scan.tag-name", "v1")]));
        assert_eq!(opened.path, "s3://secrets/w");
        assert_eq!(open_storage("/data", &options(&given)).unwrap_err().kind(), ErrorKind::InvalidOption);
        assert!(open_storage("/data", &options(&[("scan.tag-name", "v1")])).unwrap().is_none());
    }
}
