//! What passes cost, kept from one start to the next in a file of speck's cache.
//!
//! In comes a [`Key`] that holds all a calibration depends on. **The file can do no harm**: one that is
//! damaged, foreign or not writable is as none.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use crate::files;
use crate::model::device::Device;
use crate::model::pair::Identity;
use crate::strategy::Calibration;

const FILE: &str = "calibrations.json";
/// Raised whenever what is timed, or the file, changes.
const FORMAT: u32 = 1;
/// Calibrations that are kept, the latest first.
const KEEP: usize = 32;
/// A longer file is not speck's, which needs about 1 KB for each.
const MAX_BYTES: u64 = 1 << 20;
/// Milliseconds of a pass that are believed, at most and at least.
const BELIEVED_MS: (f64, f64) = (1e-6, 1e7);

/// All that a calibration depends on: another value of any part is another machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Key {
    format: u32,
    build: String,
    host: Option<String>,
    models: Identity,
    device: String,
    isa: Option<String>,
    threads: Option<usize>,
    /// Whether tokens are chosen greedily, which costs less.
    greedy: bool,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    key: Key,
    calibration: Calibration,
}

impl Key {
    /// The key of these models on this machine, for this build of speck.
    pub fn new(models: Identity, device: &Device, greedy: bool) -> Self {
        Self {
            format: FORMAT,
            build: build(),
            // A home folder can be shared by several machines.
            host: sysinfo::System::host_name().ok(),
            models,
            device: device.name.to_owned(),
            isa: device.isa.map(str::to_owned),
            threads: device.n_threads,
            greedy,
        }
    }
}

/// The version, and the length of the program's file and when it was changed.
fn build() -> String {
    let file = std::env::current_exe().and_then(fs::metadata);
    let changed = file.as_ref().ok().and_then(|file| file.modified().ok());
    let since = changed.and_then(|time: SystemTime| time.duration_since(UNIX_EPOCH).ok());
    format!(
        "{}, {} bytes, {} ns",
        env!("CARGO_PKG_VERSION"),
        file.map_or(0, |file| file.len()),
        since.unwrap_or_default().as_nanos()
    )
}

/// The calibrations in a folder, and the key of those wanted.
pub(super) struct CalibrationCache {
    folder: PathBuf,
    key: Key,
}

impl CalibrationCache {
    /// In `folder`, which need not exist.
    pub fn new(folder: PathBuf, key: Key) -> Self {
        Self { folder, key }
    }

    /// The calibration that was stored under this key, if it can be believed.
    pub fn load(&self) -> Option<Calibration> {
        let mut entries = self.entries().into_iter();
        let found = entries.find(|entry| entry.key == self.key)?;
        is_believable(&found.calibration).then_some(found.calibration)
    }

    /// Stores `calibration` in front of the others; beyond [`KEEP`] the oldest are dropped.
    pub fn store(&self, calibration: &Calibration) {
        // Where it cannot be written, the next start measures again.
        let _ = self.write(calibration);
    }

    fn entries(&self) -> Vec<Entry> {
        read(&self.folder.join(FILE)).unwrap_or_default()
    }

    fn write(&self, calibration: &Calibration) -> Result<()> {
        let mut entries = self.entries();
        entries.retain(|entry| entry.key != self.key);
        let new = Entry {
            key: self.key.clone(),
            calibration: calibration.clone(),
        };
        entries.insert(0, new);
        entries.truncate(KEEP);
        fs::create_dir_all(&self.folder)?;
        files::replace(&self.folder.join(FILE), &serde_json::to_vec(&entries)?)
            .context("cannot write calibrations")
    }
}

fn read(path: &Path) -> Result<Vec<Entry>> {
    // A pipe would block.
    anyhow::ensure!(fs::metadata(path)?.is_file(), "not a file");
    let mut text = Vec::new();
    File::open(path)?.take(MAX_BYTES).read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}

fn is_believable(calibration: &Calibration) -> bool {
    let (least, most) = BELIEVED_MS;
    let sane = |ms: &BTreeMap<usize, f64>| ms.values().all(|ms| (least..=most).contains(ms));
    let Calibration {
        target_ms,
        draft_ms,
    } = calibration;
    target_ms.contains_key(&1) && target_ms.len() > 1 && sane(target_ms) && sane(draft_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> Key {
        let device = Device {
            name: "cpu",
            n_threads: Some(2),
            isa: Some("avx2"),
        };
        let models = Identity {
            target: "large".into(),
            draft: Some("small".into()),
        };
        Key::new(models, &device, true)
    }

    fn calibration(ms: f64) -> Calibration {
        Calibration {
            target_ms: BTreeMap::from([(1, ms), (16, 2.0 * ms)]),
            draft_ms: BTreeMap::from([(1, 0.5)]),
        }
    }

    fn cache(folder: &Path, key: Key) -> CalibrationCache {
        CalibrationCache::new(folder.join("below"), key)
    }

    #[test]
    fn what_was_stored_is_found_again_by_its_key_alone() {
        let folder = tempfile::tempdir().unwrap();
        let mine = cache(folder.path(), key());
        assert_eq!(mine.load(), None);
        mine.store(&calibration(1.0));
        mine.store(&calibration(10.0));
        assert_eq!(mine.load(), Some(calibration(10.0)));
        assert_eq!(mine.entries().len(), 1);

        let others: [fn(&mut Key); 10] = [
            |key| key.format += 1,
            |key| key.build += "+",
            |key| key.host = Some("elsewhere".into()),
            |key| key.models.target += "+",
            |key| key.models.draft = Some("other".into()),
            |key| key.models.draft = None,
            |key| key.device = "metal".into(),
            |key| key.isa = None,
            |key| key.threads = Some(3),
            |key| key.greedy = false,
        ];
        for (i, change) in others.iter().enumerate() {
            let mut key = key();
            change(&mut key);
            let other = cache(folder.path(), key);
            assert_eq!(other.load(), None, "change {i}");
            other.store(&calibration(20.0));
            assert_eq!(mine.load(), Some(calibration(10.0)), "change {i}");
        }
    }

    #[test]
    fn files_that_are_damaged_foreign_or_absurd_are_ignored_and_replaced() {
        let good = serde_json::to_string(&[Entry {
            key: key(),
            calibration: calibration(7.0),
        }])
        .unwrap();
        let check = |text: &str, expect: Option<Calibration>| {
            let folder = tempfile::tempdir().unwrap();
            let cache = cache(folder.path(), key());
            fs::create_dir_all(&cache.folder).unwrap();
            fs::write(cache.folder.join(FILE), text).unwrap();
            assert_eq!(cache.load(), expect, "{text:.80}");
            cache.store(&calibration(3.0));
            assert_eq!(cache.load(), Some(calibration(3.0)), "{text:.80}");
            assert_eq!(fs::read_dir(&cache.folder).unwrap().count(), 1);
        };
        check(&good, Some(calibration(7.0)));
        check("", None);
        check("{}", None);
        check("[1, 2]", None);
        check("\u{0}\u{1b}", None);
        check(&good[..good.len() - 2], None);
        check(
            &(good.clone() + &" ".repeat(1 << 20)),
            Some(calibration(7.0)),
        );
        check(&(" ".repeat(1 << 20) + &good), None);
        check(&good.replace("7.0", "-7.0"), None);
        check(&good.replace("7.0", "1e300"), None);
        check(&good.replace("\"16\"", "\"1\""), None);
        check(&good.replace("\"1\":7.0,", ""), None);
    }

    #[test]
    fn where_nothing_can_be_written_nothing_happens() {
        let folder = tempfile::tempdir().unwrap();
        let blocked = folder.path().join("below");
        fs::write(&blocked, "a file").unwrap();
        let cache = cache(folder.path(), key());
        cache.store(&calibration(1.0));
        assert_eq!(cache.load(), None);
        fs::remove_file(&blocked).unwrap();
        fs::create_dir_all(blocked.join(FILE)).unwrap();
        cache.store(&calibration(1.0));
        assert_eq!(cache.load(), None);
        assert_eq!(fs::read_dir(&blocked).unwrap().count(), 1);
    }

    #[test]
    fn the_oldest_are_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let numbered = |n: usize| Key {
            threads: Some(n),
            ..key()
        };
        for n in 0..=KEEP {
            cache(folder.path(), numbered(n)).store(&calibration(1.0 + n as f64));
        }
        let find = |n| cache(folder.path(), numbered(n)).load();
        assert_eq!(find(0), None);
        assert_eq!(find(1), Some(calibration(2.0)));
        assert_eq!(find(KEEP), Some(calibration(1.0 + KEEP as f64)));
    }
}
