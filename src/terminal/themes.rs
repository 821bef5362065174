//! The themes that there are: those of the user, which win, and those that are built in.
//!
//! The user's are files `NAME.toml` in the folder `themes` beside the configuration file. They are read
//! when they are asked for, so that a theme can be tried while it is written.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::config;
use crate::files;
use crate::ui::{ColorDepth, Theme};

use super::{data, depth};

/// Finds themes.
#[derive(Clone, Debug)]
pub struct Themes {
    folder: Option<PathBuf>,
    depth: ColorDepth,
}

impl Themes {
    /// Those of this user, in the colours of this terminal.
    pub fn here() -> Self {
        let folder = config::path().and_then(|(file, _)| Some(file.parent()?.join("themes")));
        Self {
            folder,
            depth: depth::detect(),
        }
    }

    /// The names of all themes, the built-in ones first.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Theme::names().map(str::to_owned).collect();
        let entries = self.folder.iter().flat_map(fs::read_dir).flatten();
        let files = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let mut own: Vec<String> = files
            .filter(|path| {
                path.extension()
                    .is_some_and(|extension| extension == "toml")
            })
            .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
            .filter(|name| is_name(name) && !names.contains(name))
            .collect();
        own.sort();
        names.append(&mut own);
        names
    }

    /// The theme with this name. An error names what there is, or file, line and key.
    pub fn load(&self, name: &str) -> Result<Theme> {
        let file = self.folder.as_ref().filter(|_| is_name(name));
        let file = file.map(|folder| folder.join(format!("{name}.toml")));
        if let Some(path) = file.filter(|path| fs::symlink_metadata(path).is_ok()) {
            let shown = data::tell(&path);
            let text = files::read_text(&path)
                .with_context(|| format!("cannot read the theme {shown}"))?;
            return Theme::parse(&shown, &text, self.depth);
        }
        if Theme::names().any(|built_in| built_in == name) {
            return Theme::load(name, self.depth);
        }
        bail!(
            "there is no theme `{name}`; there are: {}",
            self.names().join(", ")
        )
    }
}

/// Whether this names a theme and not some other file.
fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || ['-', '_'].contains(&c))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn themes(files: &[(&str, &str)]) -> (tempfile::TempDir, Themes) {
        let home = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(home.path().join(name), text).unwrap();
        }
        let themes = Themes {
            folder: Some(home.path().to_owned()),
            depth: ColorDepth::Rgb,
        };
        (home, themes)
    }

    const DARK: &str = include_str!("../../themes/dark.toml");

    #[test]
    fn the_users_themes_come_last_in_the_list_and_first_when_asked_for() {
        let mine = DARK.replace("\"#d4d7dd\"", "\"#ff0000\"");
        let files = [
            ("dark.toml", &*mine),
            ("mine.toml", &mine),
            ("a.txt", ""),
            ("b c.toml", ""),
        ];
        let (_home, themes) = themes(&files);
        let names = themes.names();
        assert_eq!(names.len(), Theme::names().count() + 1);
        assert_eq!(names.last().map(String::as_str), Some("mine"));
        let own = themes.load("mine").unwrap();
        assert_eq!(own, themes.load("dark").unwrap());
        assert_ne!(own, Theme::load("dark", ColorDepth::Rgb).unwrap());
        assert_eq!(
            themes.load("light").unwrap(),
            Theme::load("light", ColorDepth::Rgb).unwrap()
        );
    }

    #[test]
    fn errors_name_file_line_and_key() {
        let wrong = DARK.replace("code ", "kode ");
        let (_home, themes) = themes(&[("wrong.toml", &wrong)]);
        let check = |name: &str, expect: &[&str]| {
            let error = format!("{:#}", themes.load(name).unwrap_err());
            for part in expect {
                assert!(error.contains(part), "{error}");
            }
        };
        check("wrong", &["wrong.toml, line 12: unknown key `kode`"]);
        check(
            "none",
            &["no theme `none`", "terminal", "high-contrast", "wrong"],
        );
        check("../wrong", &["no theme `../wrong`"]);
        check("", &["no theme ``"]);
    }

    #[test]
    fn a_folder_that_is_not_there_is_no_failure() {
        let themes = Themes {
            folder: Some("no/such/folder".into()),
            depth: ColorDepth::Ansi16,
        };
        assert_eq!(themes.names().len(), Theme::names().count());
        themes.load("terminal").unwrap();
    }
}
