//! `speck config`: where the configuration is, what it says, whether it is right.

use anyhow::Context;

use crate::cli::{ChatArgs, ConfigAction};
use crate::config::{self, EXAMPLE, Loaded};
use crate::terminal::{Exit, stdout};

use super::settings::Settings;

/// Does what `action` says.
pub fn run(action: ConfigAction) -> anyhow::Result<Exit> {
    match action {
        ConfigAction::Path => {
            let (path, _) =
                config::path().context("there is no home folder; set SPECK_CONFIG to a file")?;
            stdout::write_line(&path.display().to_string())?;
        }
        ConfigAction::Show => {
            let loaded = Loaded::from_user()?;
            stdout::write(&toml::to_string(&loaded.config)?)?;
        }
        ConfigAction::Check => {
            let loaded = Loaded::from_user()?;
            let told = match loaded.file() {
                Some(file) => format!("{} is right", file.display()),
                None => "there is no configuration file; the defaults are in force".to_owned(),
            };
            Settings::new(loaded, &ChatArgs::default())?;
            stdout::write_line(&told)?;
        }
        ConfigAction::Default => stdout::write(EXAMPLE)?,
    }
    Ok(Exit::Done)
}
