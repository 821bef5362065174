//! What `/model` can choose from: the presets, and the other GGUF files in the caches that speck reads.
//!
//! Headers are read, weights are not. **What is listed here is not trusted yet**: loading it checks its digest.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::cpu_decoder::CpuDecoder;
use super::fetch::{self, Environment, Remote};
use super::gguf::GgufFile;
use super::hyperparameters::Hyperparameters;
use super::registry::{Draft, Preset, Reference, presets};
use super::{load, memory};
use crate::engine::protocol::ModelEntry;

/// More files than this are not looked at.
const MOST_FILES: usize = 500;
/// Folders that a repository's file lies in, at most.
const DEEPEST: usize = 4;

/// The models that there are for this user, with a context of `context` tokens (0: what a model was trained
/// for, within reason). `named` by the user is among them if it is a file, wherever that is.
pub fn list(environment: &Environment, named: &Reference, context: usize) -> Vec<ModelEntry> {
    list_for(environment, named, context, memory::total())
}

fn list_for(
    environment: &Environment,
    named: &Reference,
    context: usize,
    total: Option<u64>,
) -> Vec<ModelEntry> {
    let mut seen = BTreeSet::new();
    let mut entries: Vec<_> = presets()
        .iter()
        .map(|preset| {
            let cached = fetch::find(environment, &preset.target).map(|cached| cached.path);
            seen.extend(cached.as_ref().and_then(|path| path.canonicalize().ok()));
            of_preset(preset, cached.as_deref(), context, total)
        })
        .collect();
    // What drafts for a preset is no model to chat with.
    for preset in presets() {
        if let Draft::Remote(draft) = &preset.draft {
            let cached = fetch::find(environment, draft);
            seen.extend(cached.and_then(|cached| cached.path.canonicalize().ok()));
        }
    }
    let mut others = Vec::new();
    if let Reference::File(path) = named {
        others.push((named.clone(), path.clone()));
    }
    others.extend(on_hub(&environment.hub_cache));
    others.extend(own(&environment.speck_cache));
    for (reference, path) in others {
        if path.canonicalize().is_ok_and(|path| seen.insert(path)) {
            entries.push(of_file(&reference, &path, context, total));
        }
    }
    entries
}

fn of_preset(
    preset: &Preset,
    cached: Option<&Path>,
    context: usize,
    total: Option<u64>,
) -> ModelEntry {
    let size = preset.target.pin.as_ref().map(|pin| pin.size);
    let unfit = match (cached, total) {
        (Some(path), _) => unfit(path, context, total),
        // At least its weights must fit.
        (None, Some(total)) => size.and_then(|size| memory::shortage(size, total)),
        (None, None) => None,
    };
    ModelEntry {
        reference: preset.name.to_owned(),
        title: preset.title.to_owned(),
        about: preset.summary.to_owned(),
        size,
        here: cached.is_some(),
        unfit,
    }
}

fn of_file(reference: &Reference, path: &Path, context: usize, total: Option<u64>) -> ModelEntry {
    let about = match reference {
        Reference::Remote(remote) => remote.repo.clone(),
        Reference::File(path) => path
            .parent()
            .map_or(String::new(), |folder| folder.display().to_string()),
        Reference::Preset(_) | Reference::Scripted => String::new(),
    };
    ModelEntry {
        reference: reference.to_string(),
        title: reference.title(),
        about,
        size: path.metadata().ok().map(|metadata| metadata.len()),
        here: true,
        unfit: unfit(path, context, total),
    }
}

/// Why the file cannot be loaded here, as far as its header tells.
fn unfit(path: &Path, context: usize, total: Option<u64>) -> Option<String> {
    let needed = || -> Result<u64> {
        let file = GgufFile::open(path)?;
        let hyper = Hyperparameters::from_gguf(&file)?;
        let context = load::context(context, hyper.trained_context, &mut Vec::new())?;
        Ok(CpuDecoder::memory(&file, &hyper, context))
    };
    match (needed(), total) {
        (Err(why), _) => Some(format!("{why:#}")),
        (Ok(needed), Some(total)) => memory::shortage(needed, total),
        (Ok(_), None) => None,
    }
}

/// The GGUF files in the hub's cache, by the names that load them.
fn on_hub(cache: &Path) -> Vec<(Reference, PathBuf)> {
    let mut found = Vec::new();
    for (folder, name) in folders(cache) {
        let repo = name
            .strip_prefix("models--")
            .and_then(|it| it.split_once("--"));
        let Some((owner, repo)) = repo else { continue };
        for (snapshot, commit) in folders(&folder.join("snapshots")) {
            let mut files = Vec::new();
            gguf_files(&snapshot, DEEPEST, &mut files);
            for path in files {
                let inside = path.strip_prefix(&snapshot).ok().and_then(Path::to_str);
                let remote = inside
                    .and_then(|file| Remote::new(&format!("{owner}/{repo}"), file, &commit).ok());
                found.extend(remote.map(|remote| (Reference::Remote(remote), path)));
            }
        }
    }
    found
}

/// The GGUF files in speck's own cache.
fn own(cache: &Path) -> Vec<(Reference, PathBuf)> {
    let mut files = Vec::new();
    gguf_files(&cache.join("models"), DEEPEST, &mut files);
    let readable = files.into_iter().filter(|path| path.to_str().is_some());
    readable
        .map(|path| (Reference::File(path.clone()), path))
        .collect()
}

/// The folders in `folder` with their names, sorted.
fn folders(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found: Vec<_> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter_map(|entry| Some((entry.path(), entry.file_name().into_string().ok()?)))
        .take(MOST_FILES)
        .collect();
    found.sort();
    found
}

/// Adds the GGUF files in `folder` and the folders in it, sorted.
fn gguf_files(folder: &Path, deepest: usize, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.take(MOST_FILES).map(|it| it.path()).collect();
    paths.sort();
    for path in paths {
        let is_gguf = path
            .extension()
            .is_some_and(|it| it.eq_ignore_ascii_case("gguf"));
        if found.len() >= MOST_FILES {
            return;
        } else if is_gguf && path.is_file() {
            found.push(path);
        } else if deepest > 0 && path.is_dir() && !path.is_symlink() {
            gguf_files(&path, deepest - 1, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::gguf_writer::{TinyModel, tiny_model_writer};

    #[test]
    fn presets_and_the_files_of_both_caches_are_listed_once() {
        let folder = tempfile::tempdir().unwrap();
        let environment = Environment::offline_at(folder.path());
        let tiny = tiny_model_writer(1, TinyModel::default()).bytes();
        let commit = "0".repeat(40);
        let repo = environment.hub_cache.join("models--o--n");
        let put = |path: PathBuf, bytes: &[u8]| {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, bytes).unwrap();
            path
        };
        let blob = put(repo.join("blobs/abc"), &tiny);
        let snapshot = repo.join("snapshots").join(&commit);
        for name in ["a.gguf", "sub/b.gguf"] {
            let link = snapshot.join(name);
            fs::create_dir_all(link.parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(&blob, link).unwrap();
        }
        put(snapshot.join("config.json"), b"{}");
        let own = put(
            environment.speck_cache.join("models/o--n/c.gguf"),
            b"no model",
        );

        let named = Reference::File(put(folder.path().join("mine.gguf"), &tiny));
        let entries = list_for(&environment, &named, 0, None);
        assert_eq!(entries.len(), 4);
        assert_eq!(entries[1].reference, named.to_string());
        assert_eq!((entries[1].here, &entries[1].unfit), (true, &None));

        let own_file = Reference::File(own.clone());
        let scripted = list_for(&environment, &Reference::Scripted, 0, None);
        let entries = list_for(&environment, &own_file, 0, None);
        assert_eq!(
            (scripted.len(), entries.len()),
            (3, 3),
            "none is there twice"
        );
        let entries = scripted;
        let references: Vec<_> = entries.iter().map(|it| it.reference.as_str()).collect();
        let remote = format!("o/n:a.gguf@{commit}");
        let expect = ["smollm2-135m", &remote, own.to_str().unwrap()];
        assert_eq!(references, expect);
        for entry in &entries {
            let read = Reference::parse(&entry.reference).unwrap();
            assert_eq!(read.to_string(), entry.reference);
        }
        assert_eq!((entries[0].here, &entries[0].unfit), (false, &None));
        assert_eq!(entries[0].size, Some(98_362_432));
        assert_eq!(entries[1].size, Some(tiny.len() as u64));
        assert_eq!((entries[1].here, &entries[1].unfit), (true, &None));
        assert!(entries[2].unfit.is_some());

        let entries = list_for(&environment, &Reference::Scripted, 0, Some(1000));
        for entry in &entries[..2] {
            let why = entry.unfit.as_ref().unwrap();
            assert!(why.contains("this machine has 0.0"), "{why}");
        }
    }
}
