//! The configuration and the flags → settings of engine and screen, or an error that says where the
//! wrong word was read.

use std::fmt::Display;

use crate::cli::ChatArgs;
use crate::config::options::Options;
use crate::config::{self, Device, LEAST_CONTEXT, Loaded};
use crate::cpu::Isa;
use crate::engine;
use crate::model::device::DeviceChoice;
use crate::model::fetch::Environment;
use crate::model::pair::{DraftChoice, LoadSettings};
use crate::model::registry::Reference;
use crate::session::{self, Folder, record};
use crate::strategy::{self};
use crate::terminal::themes::Themes;
use crate::ui::Theme;

use super::UsageError;

/// What a chat needs to know.
pub struct Settings {
    /// Which models.
    pub load: LoadSettings,
    /// How to answer.
    pub engine: engine::Settings,
    /// How the screen looks.
    pub theme: Theme,
    /// The theme's name.
    pub theme_name: String,
    /// Where other themes are found.
    pub themes: Themes,
    /// Whether the panel is shown at the start.
    pub panel: bool,
    /// Whether messages are kept for later runs.
    pub history: bool,
    /// How chats are saved.
    pub session: session::Setup,
}

impl Settings {
    /// Judges what the configuration and the flags say; the flags win.
    pub fn new(mut loaded: Loaded, args: &ChatArgs) -> anyhow::Result<Self> {
        args.override_config(&mut loaded.config);
        let config::Config {
            model,
            decoding,
            sampling,
            chat,
            session,
            screen,
        } = &loaded.config;
        let wrong = |flag: Option<&str>, section: &str, key: &str, why: &dyn Display| match flag {
            Some(flag) => UsageError(format!("--{flag}: {why}")).into(),
            None => anyhow::Error::from(loaded.blame(section, key, why)),
        };
        let given = |flag: &Option<String>, name: &'static str| flag.as_ref().map(|_| name);

        let target = Reference::parse(&model.target).map_err(|error| {
            let flag = given(&args.target, "target");
            wrong(flag, "model", "target", &format!("{error:#}"))
        })?;
        let draft = DraftChoice::parse(&model.draft).map_err(|error| {
            let flag = given(&args.draft, "draft");
            wrong(flag, "model", "draft", &format!("{error:#}"))
        })?;
        if (1..LEAST_CONTEXT).contains(&model.context) {
            let why = format!(
                "a context of {} tokens is too small: at least {LEAST_CONTEXT}, or 0 to leave it to the model",
                model.context
            );
            let flag = args.context.map(|_| "context");
            return Err(wrong(flag, "model", "context", &why));
        }
        Isa::choose().map_err(|error| UsageError(format!("{error:#}")))?;
        let strategy = strategy::find(&decoding.strategy).ok_or_else(|| {
            let known: Vec<_> = strategy::names().collect();
            let why = format!(
                "there is no strategy `{}`; there are: {}",
                decoding.strategy,
                known.join(", ")
            );
            wrong(
                given(&args.strategy, "strategy"),
                "decoding",
                "strategy",
                &why,
            )
        })?;
        let themes = Themes::here();
        let theme = themes.load(&screen.theme).map_err(|error| {
            wrong(
                given(&args.theme, "theme"),
                "screen",
                "theme",
                &format!("{error:#}"),
            )
        })?;
        if sampling.stop.iter().any(String::is_empty) {
            let flag = (!args.sampling.stop.is_empty()).then_some("stop");
            let why = "an empty text stops nothing; leave it out";
            return Err(wrong(flag, "sampling", "stop", &why));
        }
        Ok(Self {
            load: LoadSettings {
                target,
                draft,
                context: model.context,
                device: model.device.into(),
                n_threads: model.threads,
                offline: args.offline,
            },
            engine: engine::Settings {
                strategy: strategy.name,
                options: Options {
                    sampling: sampling.clone(),
                    draft_length: decoding.draft_length,
                    max_tokens: decoding.max_tokens,
                    system: (!chat.system.is_empty()).then(|| chat.system.clone()),
                },
                cache: Environment::from_process()
                    .ok()
                    .map(|here| here.speck_cache),
            },
            theme,
            theme_name: screen.theme.clone(),
            themes,
            panel: screen.panel,
            history: screen.history,
            session: session::Setup {
                folder: Folder::of_user(),
                save: session.save,
                settings: record::Settings {
                    time: jiff::Timestamp::now(),
                    model: model.target.clone(),
                    draft: model.draft.clone(),
                    system: (!chat.system.is_empty()).then(|| chat.system.clone()),
                    sampling: serde_json::to_value(sampling)?,
                },
            },
        })
    }
}

/// The target that the flag `--target` names, or else the configuration.
pub fn target(flag: Option<&str>) -> anyhow::Result<Reference> {
    if let Some(text) = flag {
        return reference("--target", text);
    }
    let loaded = Loaded::from_user()?;
    Reference::parse(&loaded.config.model.target)
        .map_err(|error| loaded.blame("model", "target", format!("{error:#}")).into())
}

/// The draft that the flag `--draft` names, or else the configuration.
pub fn draft(flag: Option<&str>) -> anyhow::Result<DraftChoice> {
    if let Some(text) = flag {
        return DraftChoice::parse(text)
            .map_err(|error| UsageError(format!("--draft: {error:#}")).into());
    }
    let loaded = Loaded::from_user()?;
    DraftChoice::parse(&loaded.config.model.draft)
        .map_err(|error| loaded.blame("model", "draft", format!("{error:#}")).into())
}

/// The device that the flag `--device` names, or else the configuration. An instruction set that is
/// asked for and not here is a wrong setting too.
pub fn device(flag: Option<Device>) -> anyhow::Result<DeviceChoice> {
    Isa::choose().map_err(|error| UsageError(format!("{error:#}")))?;
    match flag {
        Some(device) => Ok(device.into()),
        None => Ok(Loaded::from_user()?.config.model.device.into()),
    }
}

/// The threads that the flag `--threads` asks for, or else the configuration; 0 leaves it to the machine.
pub fn threads(flag: Option<u64>) -> anyhow::Result<usize> {
    match flag.map(usize::try_from) {
        Some(n_threads) => Ok(n_threads?),
        None => Ok(Loaded::from_user()?.config.model.threads),
    }
}

impl From<Device> for DeviceChoice {
    fn from(device: Device) -> Self {
        match device {
            Device::Auto => Self::Auto,
            Device::Cpu => Self::Cpu,
            Device::Metal => Self::Metal,
        }
    }
}

/// The model that `text`, given as `argument`, refers to.
pub fn reference(argument: &str, text: &str) -> anyhow::Result<Reference> {
    Reference::parse(text).map_err(|error| UsageError(format!("{argument}: {error:#}")).into())
}
