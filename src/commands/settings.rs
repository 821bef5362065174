//! The configuration and the flags → settings of engine and screen, or an error that says where the
//! wrong word was read.

use std::fmt::Display;

use crate::cli::ChatArgs;
use crate::config::{self, Device, LEAST_CONTEXT, Loaded, LookupCompat};
use crate::cpu::Isa;
use crate::engine;
use crate::model::device::DeviceChoice;
use crate::model::load::{DraftChoice, LoadSettings};
use crate::model::registry::Reference;
use crate::strategy::{self, LookupRule};
use crate::terminal::depth;
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
    /// Whether the panel is shown at the start.
    pub panel: bool,
}

impl Settings {
    /// Judges what the configuration and the flags say; the flags win.
    pub fn new(mut loaded: Loaded, args: &ChatArgs) -> anyhow::Result<Self> {
        args.override_config(&mut loaded.config);
        let config::Config {
            model,
            decoding,
            chat,
            screen,
        } = &loaded.config;
        let wrong = |flag: Option<&str>, section: &str, key: &str, why: &dyn Display| match flag {
            Some(flag) => UsageError(format!("--{flag}: {why}")).into(),
            None => anyhow::Error::from(loaded.blame(section, key, why)),
        };
        let reference = |text: &str, flag: Option<&str>, key: &str| {
            Reference::parse(text).map_err(|error| wrong(flag, "model", key, &format!("{error:#}")))
        };
        let given = |flag: &Option<String>, name: &'static str| flag.as_ref().map(|_| name);

        let target = reference(&model.target, given(&args.target, "target"), "target")?;
        let draft = match model.draft.as_str() {
            "auto" => DraftChoice::Auto,
            "none" => DraftChoice::None,
            draft => DraftChoice::Model(reference(draft, given(&args.draft, "draft"), "draft")?),
        };
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
        let theme = Theme::load(&screen.theme, depth::detect()).map_err(|error| {
            wrong(
                given(&args.theme, "theme"),
                "screen",
                "theme",
                &format!("{error:#}"),
            )
        })?;
        Ok(Self {
            load: LoadSettings {
                target,
                draft,
                context: model.context,
                device: match model.device {
                    Device::Auto => DeviceChoice::Auto,
                    Device::Cpu => DeviceChoice::Cpu,
                    Device::Metal => DeviceChoice::Metal,
                },
                offline: args.offline,
            },
            engine: engine::Settings {
                strategy: strategy.name,
                draft_length: decoding.draft_length,
                lookup_rule: match decoding.lookup_compat {
                    LookupCompat::None => LookupRule::Longest,
                    LookupCompat::Transformers => LookupRule::TRANSFORMERS,
                },
                max_tokens: decoding.max_tokens,
                system: (!chat.system.is_empty()).then(|| chat.system.clone()),
            },
            theme,
            panel: screen.panel,
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

/// The model that `text`, given as `argument`, refers to.
pub fn reference(argument: &str, text: &str) -> anyhow::Result<Reference> {
    Reference::parse(text).map_err(|error| UsageError(format!("{argument}: {error:#}")).into())
}
