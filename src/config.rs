//! The configuration: built-in defaults, then the file, then the command line.
//!
//! In comes a TOML file, out comes a [`Config`]. **Every error names the file, the line and the key,
//! and what is valid there.** Names that only other modules can judge (a theme, a strategy, a model)
//! stay text here; [`Loaded::blame`] words their errors in the same way.

pub mod options;
pub mod sampling;

use std::env;
use std::fmt::Display;
use std::io::{ErrorKind, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};

use crate::files;
use sampling::Sampling;

/// The documented default configuration, as text; it parses to [`Config::default`].
pub const EXAMPLE: &str = include_str!("../config.example.toml");

/// The most tokens that may be drafted in a round.
pub const MAX_DRAFT_LENGTH: u64 = 16;
/// The longest answer that can be asked for, in tokens.
pub const MAX_MAX_TOKENS: u64 = 1 << 20;
/// The largest context that can be asked for, in tokens.
pub const MAX_CONTEXT: u64 = 1 << 20;
/// The most threads that can be asked for.
pub const MAX_THREADS: u64 = 256;
/// The smallest context that holds a short prompt and an answer, in tokens.
pub const LEAST_CONTEXT: usize = 64;
/// A configuration file is never this large, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// Everything that can be configured.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Which models, and where they run.
    pub model: Model,
    /// How answers are decoded.
    pub decoding: Decoding,
    /// How tokens are chosen.
    pub sampling: Sampling,
    /// The conversation.
    pub chat: Chat,
    /// Saved chats.
    pub session: Session,
    /// The screen.
    pub screen: Screen,
}

/// `[model]`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Model {
    /// The model that writes: a reference.
    pub target: String,
    /// The model that drafts: `auto`, `none` or a reference.
    pub draft: String,
    /// Tokens of prompt and answer together; 0 leaves it to the model.
    #[serde(deserialize_with = "in_range::<_, 0, MAX_CONTEXT>")]
    pub context: usize,
    /// Where the models run.
    pub device: Device,
    /// Threads of the CPU engine; 0: one for each physical core, on a Mac each performance core.
    #[serde(deserialize_with = "in_range::<_, 0, MAX_THREADS>")]
    pub threads: usize,
}

/// `[decoding]`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Decoding {
    /// Name of the strategy that drafts at the start.
    pub strategy: String,
    /// Tokens that the draft model drafts in a round.
    #[serde(deserialize_with = "in_range::<_, 1, MAX_DRAFT_LENGTH>")]
    pub draft_length: usize,
    /// The longest answer, in tokens.
    #[serde(deserialize_with = "in_range::<_, 1, MAX_MAX_TOKENS>")]
    pub max_tokens: usize,
}

/// `[chat]`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Chat {
    /// The system prompt; empty leaves it to the model's template.
    pub system: String,
}

/// `[session]`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Session {
    /// Whether chats are saved.
    pub save: bool,
}

/// `[screen]`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Screen {
    /// A theme's name.
    pub theme: String,
    /// Whether the panel is shown at the start.
    pub panel: bool,
    /// Whether messages are kept for later runs.
    pub history: bool,
}

/// Where models run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Device {
    /// The GPU where there is one that this build can use, else the CPU.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// A Mac's GPU.
    Metal,
}

impl Default for Model {
    fn default() -> Self {
        Self {
            target: "smollm2-135m".into(),
            draft: "auto".into(),
            context: 0,
            device: Device::Auto,
            threads: 0,
        }
    }
}

impl Default for Decoding {
    fn default() -> Self {
        Self {
            strategy: "auto".into(),
            draft_length: 3,
            max_tokens: 1024,
        }
    }
}

impl Default for Session {
    fn default() -> Self {
        Self { save: true }
    }
}

impl Default for Screen {
    fn default() -> Self {
        Self {
            theme: "terminal".into(),
            panel: true,
            history: true,
        }
    }
}

fn in_range<'de, D, const LEAST: u64, const MOST: u64>(deserializer: D) -> Result<usize, D::Error>
where
    D: Deserializer<'de>,
{
    let number = i64::deserialize(deserializer)?;
    let valid = u64::try_from(number)
        .ok()
        .filter(|n| (LEAST..=MOST).contains(n));
    let valid = valid.and_then(|n| usize::try_from(n).ok());
    valid
        .ok_or_else(|| D::Error::custom(format!("{number} is not a number from {LEAST} to {MOST}")))
}

/// Why there is no configuration. The message is whole: file, line, key, what is valid.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(String);

/// A configuration and where it came from.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// What the file says, over the defaults.
    pub config: Config,
    source: Option<(PathBuf, String)>,
}

impl Loaded {
    /// Reads the user's configuration file. That it is missing is fine, unless `SPECK_CONFIG` names it.
    pub fn from_user() -> Result<Self, ConfigError> {
        match path() {
            Some((path, Named::Default)) if matches!(path.try_exists(), Ok(false)) => {
                Ok(Self::default())
            }
            Some((path, Named::Default | Named::ByUser)) => Self::from_file(&path),
            None => Ok(Self::default()),
        }
    }

    /// Reads a configuration file.
    pub fn from_file(path: &Path) -> Result<Self, ConfigError> {
        let text = read(path).map_err(|why| {
            ConfigError(format!(
                "cannot read the configuration {}: {why}",
                path.display()
            ))
        })?;
        let config = toml::from_str(&text).map_err(|error| {
            let what = error.message().replace("unknown field", "unknown key");
            ConfigError(located(path, &text, error.span(), what.trim()))
        })?;
        Ok(Self {
            config,
            source: Some((path.into(), text)),
        })
    }

    /// The file that was read.
    pub fn file(&self) -> Option<&Path> {
        self.source.as_ref().map(|(path, _)| path.as_path())
    }

    /// The error that the value of `section.key` is not valid because of `why`, naming the file and
    /// line where it is set.
    pub fn blame(&self, section: &str, key: &str, why: impl Display) -> ConfigError {
        let what = format!("{section}.{key}: {why}");
        let place = self.source.as_ref().and_then(|(path, text)| {
            let table = toml::de::DeTable::parse(text).ok()?;
            let section = table.get_ref().get(section)?.get_ref().as_table()?;
            Some((path, text, section.get(key)?.span()))
        });
        ConfigError(match place {
            Some((path, text, span)) => located(path, text, Some(span), &what),
            None => what,
        })
    }
}

/// Whether a file is expected to exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// The usual place: it may be missing.
    Default,
    /// `SPECK_CONFIG` names it: it must be there.
    ByUser,
}

/// The configuration file: `SPECK_CONFIG`, else `speck/config.toml` under `XDG_CONFIG_HOME` or
/// `~/.config`. `None` when the user has no home.
pub fn path() -> Option<(PathBuf, Named)> {
    let variable = |name| {
        env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    if let Some(file) = variable("SPECK_CONFIG") {
        return Some((file, Named::ByUser));
    }
    let folder = variable("XDG_CONFIG_HOME")
        .filter(|folder| folder.is_absolute())
        .or_else(|| {
            directories::BaseDirs::new().map(|folders| folders.home_dir().join(".config"))
        })?;
    Some((folder.join("speck").join("config.toml"), Named::Default))
}

fn read(path: &Path) -> Result<String, String> {
    let file = files::open(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => "there is no such file".into(),
        _ => error.to_string(),
    })?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(format!("it is larger than {MAX_FILE} bytes"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        format!(
            "line {} is not UTF-8 text",
            line_of(&String::from_utf8_lossy(valid))
        )
    })
}

/// The number of the line after `before`, from 1.
fn line_of(before: &str) -> usize {
    1 + before.matches('\n').count()
}

/// `FILE, line N: WHAT`, and the line itself.
fn located(path: &Path, text: &str, span: Option<Range<usize>>, what: &str) -> String {
    let Some(before) = span.and_then(|span| text.get(..span.start)) else {
        return format!("{}: {what}", path.display());
    };
    let number = line_of(before);
    let line = text.lines().nth(number - 1).unwrap_or_default();
    let column = before
        .rsplit('\n')
        .next()
        .unwrap_or_default()
        .chars()
        .count();
    format!(
        "{}, line {number}: {what}\n  {number} | {}",
        path.display(),
        files::excerpt(line, column)
    )
}

#[cfg(test)]
mod tests;
