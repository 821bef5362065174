//! The prompts of a benchmark: the built-in ones (bench/prompts), or files of the user's own.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use crate::clean::clean;
use crate::files;

/// The built-in prompts: names and texts.
const BUILT_IN: [(&str, &str); 4] = [
    ("explain", include_str!("../../bench/prompts/explain.txt")),
    ("code", include_str!("../../bench/prompts/code.txt")),
    ("rewrite", include_str!("../../bench/prompts/rewrite.txt")),
    ("story", include_str!("../../bench/prompts/story.txt")),
];

/// What a model is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// Its name in reports.
    pub name: String,
    /// The user's message.
    pub text: String,
}

/// The prompts that `places` name, or all built-in ones if there are none. A place is the name of a
/// built-in prompt, a text file that holds one prompt, or a folder of such files that end in `.txt`.
pub fn collect(places: &[String]) -> Result<Vec<Prompt>> {
    let mut prompts = Vec::new();
    for place in places {
        let path = Path::new(place);
        if let Some(&(name, text)) = BUILT_IN.iter().find(|(name, _)| name == place) {
            prompts.push(prompt(name, text)?);
        } else if path.is_dir() {
            prompts.extend(folder(path)?);
        } else {
            prompts.push(file(path)?);
        }
    }
    if places.is_empty() {
        for (name, text) in BUILT_IN {
            prompts.push(prompt(name, text)?);
        }
    }
    for (i, Prompt { name, .. }) in prompts.iter().enumerate() {
        if prompts[..i].iter().any(|other| other.name == *name) {
            bail!("two prompts are named {name}: rename one of the files");
        }
    }
    Ok(prompts)
}

fn folder(path: &Path) -> Result<Vec<Prompt>> {
    let read = || -> Result<Vec<_>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(path)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "txt") {
                found.push(path);
            }
        }
        Ok(found)
    };
    let mut found = read().with_context(|| format!("cannot read {}", path.display()))?;
    if found.is_empty() {
        bail!(
            "{} has no prompts: a prompt is a file that ends in .txt",
            path.display()
        );
    }
    found.sort();
    found.iter().map(|path| file(path)).collect()
}

fn file(path: &Path) -> Result<Prompt> {
    let text = files::read_text(path).with_context(|| {
        let built_in = BUILT_IN.map(|(name, _)| name).join(", ");
        format!(
            "cannot read {} (the built-in prompts are {built_in})",
            path.display()
        )
    })?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    prompt(&name, &text)
}

fn prompt(name: &str, text: &str) -> Result<Prompt> {
    let text = text.trim();
    if text.is_empty() {
        bail!("the prompt {name} is empty");
    }
    Ok(Prompt {
        name: clean(&name.replace(['\n', '\t'], " ")).into_owned(),
        text: text.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_names_files_and_folders() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        fs::create_dir(path("many")).unwrap();
        fs::create_dir(path("none")).unwrap();
        for (name, text) in [
            ("many/b.txt", "Second\n"),
            ("many/a.txt", "First,\n\nin two paragraphs\n"),
            ("many/notes.md", "none of them"),
            ("code.txt", "Mine"),
            ("odd\n\u{1b}.txt", "Odd"),
            ("empty.txt", " \n"),
            ("binary", "\u{fffd}"),
        ] {
            fs::write(path(name), text).unwrap();
        }
        fs::write(path("binary"), [0xff, 0xfe]).unwrap();

        let named = |places: &[&str]| {
            let places: Vec<String> = places.iter().map(|&place| place.to_owned()).collect();
            let prompts = collect(&places).map_err(|error| format!("{error:#}"))?;
            let named = prompts
                .into_iter()
                .map(|p| format!("{}={}", p.name, p.text));
            Ok::<_, String>(named.collect::<Vec<_>>())
        };
        let check = |places: &[&str], expect: &[&str]| {
            assert_eq!(named(places).unwrap(), expect, "{places:?}");
        };
        check(
            &[&path("many")],
            &["a=First,\n\nin two paragraphs", "b=Second"],
        );
        check(
            &[&path("code.txt"), &path("many/b.txt")],
            &["code=Mine", "b=Second"],
        );
        check(&[&path("odd\n\u{1b}.txt")], &["odd \u{241b}=Odd"]);
        assert_eq!(named(&[]).unwrap().len(), BUILT_IN.len());
        assert!(named(&["code"]).unwrap()[0].starts_with("code=Write a Python function"));

        let fails = |places: &[&str], part: &str| {
            let error = named(places).unwrap_err();
            assert!(error.contains(part), "{places:?}: {error}");
        };
        fails(&["cod"], "the built-in prompts are explain, code");
        fails(&[&path("none")], "ends in .txt");
        fails(&[&path("empty.txt")], "the prompt empty is empty");
        fails(&[&path("binary")], "not UTF-8");
        fails(&["code", &path("code.txt")], "two prompts are named code");
    }
}
