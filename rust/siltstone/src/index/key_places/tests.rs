//! Against a dictionary, in memory and on disk.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;

/// What lies there has no name.
fn directory() -> PathBuf {
    std::env::temp_dir()
}

fn filled(memory: usize, numbers: impl Iterator<Item = (u32, u64)>) -> (KeyPlaces, HashMap<u32, u64>) {
    let mut places = KeyPlaces::new(memory, directory());
    let mut model = HashMap::new();
    let hash = places.hasher();
    for (key, place) in numbers {
        places.put(hash(&key.to_le_bytes()), place).unwrap();
        model.insert(key, place);
    }
    (places, model)
}

fn check(places: &KeyPlaces, model: &HashMap<u32, u64>, keys: impl Iterator<Item = u32>) {
    let hash = places.hasher();
    let keys: Vec<u32> = keys.collect();
    let found = places.find(&keys.iter().map(|key| hash(&key.to_le_bytes())).collect::<Vec<_>>()).unwrap();
    let expected: Vec<Option<u64>> = keys.iter().map(|key| model.get(key).copied()).collect();
    assert_eq!(found, expected);
}

#[test]
fn what_does_not_fit_is_found_on_disk() {
    let numbers = || (0..200_000_u32).map(|i| (i.wrapping_mul(7) % 90_000, u64::from(i)));
    let (mut places, model) = filled(1 << 18, numbers());
    assert!(places.runs() > 1 && places.runs() <= MOST_RUNS, "{}", places.runs());
    assert!(places.memory() < 1 << 19, "{}", places.memory());
    check(&places, &model, (0..100_000).rev());
    check(&places, &model, [5, 5, 99_999, 5].into_iter());
    places.settle().unwrap();
    assert_eq!(places.runs(), 1);
    check(&places, &model, 0..100_000);
    let (places, model) = filled(1 << 26, numbers());
    assert_eq!(places.runs(), 0);
    check(&places, &model, 0..100_000);
}

#[test]
fn a_key_with_two_places_is_found_in_memory_and_on_disk() {
    let mut places = KeyPlaces::of_unique(1 << 26, directory());
    let hash = places.hasher();
    places.put(hash(b"a"), 1).unwrap();
    places.put(hash(b"a"), 1).unwrap();
    assert_eq!(places.put(hash(b"a"), 2).unwrap_err().kind(), ErrorKind::CorruptFile);
    for second in [0, 1] {
        let mut places = KeyPlaces::of_unique(0, directory());
        let hash = places.hasher();
        for key in 0..60_000_u32 {
            places.put(hash(&key.to_le_bytes()), 0).unwrap();
        }
        let put = places.put(hash(&7_u32.to_le_bytes()), second).and_then(|()| places.settle());
        assert_eq!(put.is_ok(), second == 0, "{put:?}");
    }
}

#[test]
fn an_empty_index_has_no_key() {
    let places = KeyPlaces::new(0, directory());
    check(&places, &HashMap::new(), 0..10);
    assert_eq!(places.memory(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn the_last_place_of_a_key_counts(
        puts in prop::collection::vec((0_u32..3_000, 0_u64..100), 0..20_000),
        settle in 0_usize..20_000,
    ) {
        let mut places = KeyPlaces::new(0, directory());
        let hash = places.hasher();
        let mut model = HashMap::new();
        for (at, (key, place)) in puts.into_iter().enumerate() {
            if at == settle {
                places.settle().unwrap();
            }
            places.put(hash(&key.to_le_bytes()), place).unwrap();
            model.insert(key, place);
        }
        check(&places, &model, 0..3_500);
    }
}
