//! The golden tables: each a tar archive that Java wrote, with what Java says about it beside it.

use std::{
    collections::BTreeMap,
    fs,
    io::Read as _,
    path::{Path, PathBuf},
};

use serde_json::Value;
use siltstone::fs::FaultFileIo;

/// One golden table.
pub(crate) struct Fixture {
    pub(crate) name: String,
    /// Relative path (`snapshot/snapshot-1`) to content.
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    folder: PathBuf,
}

/// Where [`Fixture::io`] puts the table.
pub(crate) const ROOT: &str = "/golden/table";

fn folder() -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/fixtures")).to_path_buf()
}

/// All golden tables, by name.
pub(crate) fn all() -> Vec<Fixture> {
    let mut names: Vec<String> = fs::read_dir(folder())
        .expect("golden fixtures")
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names.iter().map(|name| fixture(name)).collect()
}

/// One golden table.
pub(crate) fn fixture(name: &str) -> Fixture {
    let folder = folder().join(name);
    let archive = gunzip(&folder.join("table.tar.gz"));
    let files = untar(&archive).into_iter();
    let inside = files.filter_map(|(path, data)| Some((path.strip_prefix("table/")?.to_owned(), data)));
    Fixture { name: name.to_owned(), files: inside.collect(), folder }
}

impl Fixture {
    /// Lines of `expected/meta.jsonl`: snapshots, manifest lists, manifests and index manifests as Java decodes them.
    pub(crate) fn meta(&self) -> Vec<Value> {
        let path = self.folder.join("expected/meta.jsonl.gz");
        if !path.exists() {
            return Vec::new();
        }
        let text = String::from_utf8(gunzip(&path)).expect("UTF-8");
        text.lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect()
    }

    /// The Paimon release that wrote it.
    pub(crate) fn writer(&self) -> String {
        let about = fs::read(self.folder.join("expected/about.json")).unwrap_or_default();
        let about: Value = serde_json::from_slice(&about).unwrap_or_default();
        about["writer"].as_str().unwrap_or_default().to_owned()
    }

    /// Lines of an expectation: `latest`, `snapshot-3`, `tag-x`.
    pub(crate) fn expected(&self, which: &str) -> Option<Vec<Value>> {
        let plain = self.folder.join(format!("expected/{which}.jsonl"));
        let packed = self.folder.join(format!("expected/{which}.jsonl.gz"));
        let text = if plain.exists() { fs::read(&plain).expect("readable") } else { gunzip_if_there(&packed)? };
        let text = String::from_utf8(text).expect("UTF-8");
        Some(text.lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect())
    }

    /// Names of the expectations that begin with `prefix`.
    pub(crate) fn expectations(&self, prefix: &str) -> Vec<String> {
        let files = fs::read_dir(self.folder.join("expected")).expect("expectations");
        let names = files.map(|f| f.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names
            .filter_map(|n| Some(n.strip_suffix(".gz").unwrap_or(&n).strip_suffix(".jsonl")?.to_owned()))
            .filter(|n| n.starts_with(prefix))
            .collect();
        names.sort();
        names
    }

    /// A file of the manifest directory.
    pub(crate) fn manifest(&self, name: &str) -> Option<&[u8]> {
        self.files.get(&format!("manifest/{name}")).map(Vec::as_slice)
    }

    /// The table in memory, below [`ROOT`].
    pub(crate) fn io(&self) -> FaultFileIo {
        let io = FaultFileIo::new();
        self.files.iter().for_each(|(path, data)| io.put(&format!("{ROOT}/{path}"), data));
        io
    }
}

fn gunzip_if_there(path: &Path) -> Option<Vec<u8>> {
    path.exists().then(|| gunzip(path))
}

fn gunzip(path: &Path) -> Vec<u8> {
    let packed = fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut plain = Vec::new();
    flate2::read::MultiGzDecoder::new(&packed[..]).read_to_end(&mut plain).expect("gzip");
    plain
}

/// Regular files of a tar archive; long names come as GNU (`L`) or POSIX (`x`) entries before theirs.
fn untar(archive: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut out = Vec::new();
    let (mut at, mut long_name) = (0, None);
    while let Some(header) = archive.get(at..at + 512).filter(|h| h[0] != 0) {
        let size = usize::from_str_radix(text(&header[124..136]).trim(), 8).expect("an octal size");
        let data = &archive[at + 512..at + 512 + size];
        let name = long_name.take().unwrap_or_else(|| match text(&header[345..500]) {
            prefix if header[257..262] == *b"ustar" && !prefix.is_empty() && header[263] == b'0' => {
                format!("{prefix}/{}", text(&header[..100]))
            }
            _ => text(&header[..100]),
        });
        match header[156] {
            b'L' => long_name = Some(text(data)),
            b'x' => long_name = pax_path(data),
            b'0' | 0 => out.push((name, data.to_vec())),
            _ => {}
        }
        at += 512 + size.div_ceil(512) * 512;
    }
    out
}

fn text(field: &[u8]) -> String {
    let end = field.iter().position(|&b| b == 0).unwrap_or(field.len());
    String::from_utf8(field[..end].to_vec()).expect("UTF-8")
}

fn pax_path(data: &[u8]) -> Option<String> {
    let mut rest = std::str::from_utf8(data).expect("UTF-8");
    while let Some((length, _)) = rest.split_once(' ') {
        let (record, after) = rest.split_at(length.parse().expect("a length"));
        if let Some((_, path)) = record.trim_end_matches('\n').split_once(" path=") {
            return Some(path.to_owned());
        }
        rest = after;
    }
    None
}
