//! Theme files → styles.
//!
//! A theme gives every semantic name a style, no more and no less; an error names file, line and
//! key. Colours that the terminal cannot show become near ones that it can; without colours, bold,
//! dim, underline and reverse stay.

use std::str::FromStr;

use anyhow::{Context, Result, anyhow, bail};
use ratatui::style::{Color, Modifier, Style};
use toml::Spanned;
use toml::de::DeTable;

use crate::app::highlight::Class;
use crate::ui::color::{ColorDepth, contrast, reduce};

/// The themes that are built in: name, file name, text.
const BUILT_IN: &[(&str, &str, &str)] = &[
    (
        "terminal",
        "themes/terminal.toml",
        include_str!("../../themes/terminal.toml"),
    ),
    (
        "dark",
        "themes/dark.toml",
        include_str!("../../themes/dark.toml"),
    ),
    (
        "light",
        "themes/light.toml",
        include_str!("../../themes/light.toml"),
    ),
    (
        "solarized",
        "themes/solarized.toml",
        include_str!("../../themes/solarized.toml"),
    ),
    (
        "high-contrast",
        "themes/high-contrast.toml",
        include_str!("../../themes/high-contrast.toml"),
    ),
    (
        "mono",
        "themes/mono.toml",
        include_str!("../../themes/mono.toml"),
    ),
];

/// Where fewer colours are left than the theme has, text with less contrast than this becomes black or
/// white.
const LEAST_CONTRAST: f64 = 3.0;

macro_rules! theme {
    ($($(#[$doc:meta])* $key:ident),* $(,)?) => {
        /// A style for each thing that has a meaning.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Theme {
            $($(#[$doc])* pub $key: Style,)*
        }

        impl Theme {
            /// The names that a theme file gives a style to.
            pub const KEYS: &[&str] = &[$(stringify!($key)),*];

            fn build(mut style: impl FnMut(&'static str) -> Result<Style>) -> Result<Self> {
                Ok(Self { $($key: style(stringify!($key))?,)* })
            }

            #[cfg(test)]
            fn styles(&self) -> impl Iterator<Item = (&'static str, Style)> {
                [$((stringify!($key), self.$key)),*].into_iter()
            }
        }
    };
}

theme! {
    /// The whole screen, under everything.
    background,
    /// Text.
    text,
    /// Less important text.
    dim,
    /// What asks for attention, calmly.
    accent,
    /// The user's name.
    user,
    /// The model's name.
    assistant,
    /// Good: faster than plain.
    ok,
    /// Not good: slower than plain, nearly full.
    warn,
    /// Failed.
    error,
    /// Code.
    code,
    /// Words and operators of a language, in code.
    keyword,
    /// Texts in code.
    string,
    /// Comments in code.
    comment,
    /// Numbers and constants in code.
    number,
    /// Names of functions in code.
    function,
    /// Names of types in code.
    type_name,
    /// Headings of answers.
    heading,
    /// Texts of links.
    link,
    /// Names of numbers in the panel.
    panel_label,
    /// The strategy `plain`.
    plain,
    /// The strategy `draft`.
    draft,
    /// The strategy `lookup`.
    lookup,
    /// The strategy `auto`.
    auto,
    /// Text whose tokens a draft model drafted and the target accepted.
    accepted,
    /// Text whose tokens were copied from the conversation and accepted.
    accepted_lookup,
    /// Text whose tokens were guessed from earlier choices of the target and accepted.
    accepted_recycling,
    /// The places that a search has found; the one it is at is `selection`.
    found,
    /// What is selected.
    selection,
}

impl Theme {
    /// The names of the built-in themes.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _, _)| *name)
    }

    /// A built-in theme in the colours that the terminal has.
    pub fn load(name: &str, depth: ColorDepth) -> Result<Self> {
        let Some((_, file, text)) = BUILT_IN.iter().find(|(built_in, _, _)| *built_in == name)
        else {
            let names: Vec<&str> = Self::names().collect();
            bail!(
                "there is no theme `{name}`; there are: {}",
                names.join(", ")
            );
        };
        Self::parse(file, text, depth)
    }

    /// Reads a theme; `file` is only named in errors.
    pub fn parse(file: &str, text: &str, depth: ColorDepth) -> Result<Self> {
        let line = |at: usize| {
            text.as_bytes()
                .iter()
                .take(at)
                .filter(|byte| **byte == b'\n')
                .count()
                + 1
        };
        let table = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            anyhow!("{file}, line {}: {}", line(at), error.message())
        })?;
        let entry = |key: &str| {
            table
                .get_ref()
                .iter()
                .find(|(name, _)| name.get_ref() == key)
        };
        for key in table.get_ref().keys() {
            if !Self::KEYS.contains(&key.get_ref().as_ref()) {
                bail!(
                    "{file}, line {}: unknown key `{}`; there are: {}",
                    line(key.span().start),
                    key.get_ref(),
                    Self::KEYS.join(", ")
                );
            }
        }
        let read = |key: &str| {
            let (_, value) =
                entry(key).with_context(|| format!("{file}: the key `{key}` is missing"))?;
            style(value, depth)
                .with_context(|| format!("{file}, line {}, key `{key}`", line(value.span().start)))
        };
        let background = read("background")?;
        Self::build(|key| Ok(legible(read(key)?, background, depth)))
    }

    /// The style of a part of code.
    pub fn class(&self, class: Class) -> Style {
        match class {
            Class::Keyword => self.keyword,
            Class::String => self.string,
            Class::Comment => self.comment,
            Class::Number => self.number,
            Class::Function => self.function,
            Class::Type => self.type_name,
        }
    }

    /// The style of accepted tokens that a strategy drafted.
    pub fn accepted_by(&self, drafter: &str) -> Style {
        match drafter {
            "lookup" | "lookup-transformers" => self.accepted_lookup,
            "recycling" => self.accepted_recycling,
            _ => self.accepted,
        }
    }

    /// The style of a strategy; unknown ones look like `plain`.
    pub fn strategy(&self, name: &str) -> Style {
        match name {
            "draft" | "draft-transformers" => self.draft,
            "lookup" | "lookup-transformers" | "recycling" => self.lookup,
            "auto" => self.auto,
            _ => self.plain,
        }
    }
}

/// The style, in black or white if reducing its colours has left too little contrast.
fn legible(style: Style, background: Style, depth: ColorDepth) -> Style {
    let (Some(text), Some(behind)) = (style.fg, style.bg.or(background.bg)) else {
        return style;
    };
    let with = |color| contrast(color, behind).unwrap_or(LEAST_CONTRAST);
    match depth {
        ColorDepth::None | ColorDepth::Rgb => style,
        ColorDepth::Ansi16 | ColorDepth::Ansi256 if with(text) >= LEAST_CONTRAST => style,
        ColorDepth::Ansi16 | ColorDepth::Ansi256 if with(Color::Black) > with(Color::White) => {
            style.fg(Color::Black)
        }
        ColorDepth::Ansi16 | ColorDepth::Ansi256 => style.fg(Color::White),
    }
}

/// Reads `COLOUR [on COLOUR] [MODIFIER...]`.
fn style(value: &Spanned<toml::de::DeValue<'_>>, depth: ColorDepth) -> Result<Style> {
    let text = value
        .get_ref()
        .as_str()
        .context("the value must be a string, such as \"cyan bold\"")?;
    let mut words = text.split_whitespace();
    let foreground = words
        .next()
        .context("the value is empty; write `default` for the terminal's own colour")?;
    let mut style = Style::new().fg(color(foreground, depth)?);
    while let Some(word) = words.next() {
        style = match word {
            "on" => style.bg(color(
                words.next().context("a colour must follow `on`")?,
                depth,
            )?),
            "bold" => style.add_modifier(Modifier::BOLD),
            "dim" => style.add_modifier(Modifier::DIM),
            "italic" => style.add_modifier(Modifier::ITALIC),
            "underline" => style.add_modifier(Modifier::UNDERLINED),
            "reverse" => style.add_modifier(Modifier::REVERSED),
            _ => bail!(
                "unknown modifier `{word}`; there are: bold, dim, italic, underline, reverse, on COLOUR"
            ),
        };
    }
    Ok(style)
}

fn color(word: &str, depth: ColorDepth) -> Result<Color> {
    let parsed = match word {
        "default" => Color::Reset,
        _ => Color::from_str(word).ok().with_context(|| {
            format!("unknown colour `{word}`; write an ANSI name such as `cyan`, a number 0-255, #rrggbb or default")
        })?,
    };
    Ok(reduce(parsed, depth))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_theme_reads_at_every_depth() {
        for name in Theme::names() {
            for depth in [
                ColorDepth::None,
                ColorDepth::Ansi16,
                ColorDepth::Ansi256,
                ColorDepth::Rgb,
            ] {
                Theme::load(name, depth).unwrap();
            }
        }
    }

    /// The contrast of each key's text with what is behind it, where the theme says both.
    fn contrasts(name: &str, depth: ColorDepth) -> Vec<(&'static str, f64)> {
        let theme = Theme::load(name, depth).unwrap();
        let contrast_of = |style: Style| contrast(style.fg?, style.bg.or(theme.background.bg)?);
        let all = theme.styles();
        all.filter_map(|(key, style)| Some((key, contrast_of(style)?)))
            .collect()
    }

    #[test]
    fn every_text_has_contrast() {
        for (name, least) in [
            ("dark", 4.5),
            ("light", 4.5),
            ("solarized", 4.5),
            ("high-contrast", 7.0),
        ] {
            let full = contrasts(name, ColorDepth::Rgb);
            assert_eq!(full.len(), Theme::KEYS.len() - 1, "all but the background");
            for (key, contrast) in full {
                assert!(contrast >= least, "{name}: {key} has {contrast:.2}");
            }
            for depth in [ColorDepth::Ansi256, ColorDepth::Ansi16] {
                for (key, contrast) in contrasts(name, depth) {
                    assert!(
                        contrast >= LEAST_CONTRAST,
                        "{name} {depth:?}: {key} has {contrast:.2}"
                    );
                }
            }
        }
    }

    #[test]
    fn every_theme_keeps_to_the_colours_that_there_are() {
        for name in Theme::names() {
            let colors = |depth| {
                let theme = Theme::load(name, depth).unwrap();
                let styles: Vec<_> = theme.styles().collect();
                styles
                    .into_iter()
                    .flat_map(|(_, style)| [style.fg, style.bg])
                    .flatten()
            };
            assert!(
                colors(ColorDepth::None).all(|color| color == Color::Reset),
                "{name}"
            );
            assert!(
                !colors(ColorDepth::Ansi256).any(|color| matches!(color, Color::Rgb(..))),
                "{name}"
            );
            let more = |color| {
                matches!(
                    color,
                    Color::Rgb(..) | Color::Indexed(16..) | Color::DarkGray
                )
            };
            assert!(!colors(ColorDepth::Ansi16).any(more), "{name}");
        }
    }

    #[test]
    fn the_mono_theme_has_no_colours() {
        let full = Theme::load("mono", ColorDepth::Rgb).unwrap();
        assert_eq!(full, Theme::load("mono", ColorDepth::None).unwrap());
    }

    #[test]
    fn the_terminal_theme_uses_only_the_terminals_colours() {
        let full = Theme::load("terminal", ColorDepth::Rgb).unwrap();
        assert_eq!(full, Theme::load("terminal", ColorDepth::Ansi16).unwrap());
        assert_eq!(full.background.bg, None);
        assert!(
            !format!("{full:?}").contains("DarkGray"),
            "bright black is unreadable in many terminals"
        );
    }

    #[test]
    fn without_colours_modifiers_stay() {
        let theme = Theme::load("dark", ColorDepth::None).unwrap();
        assert_eq!(theme.user, Style::new().fg(Color::Reset).bold());
        assert_eq!(theme.selection.bg, Some(Color::Reset));
    }

    #[track_caller]
    fn check(change: (&str, &str), expect: &[&str]) {
        let text = BUILT_IN[1].2;
        assert!(text.contains(change.0));
        let error = Theme::parse(
            "my.toml",
            &text.replacen(change.0, change.1, 1),
            ColorDepth::Rgb,
        )
        .unwrap_err();
        let message = format!("{error:#}");
        for part in expect {
            assert!(message.contains(part), "{message}");
        }
    }

    #[test]
    fn errors_name_file_line_and_key() {
        check(
            ("code ", "kode "),
            &["my.toml, line 12", "unknown key `kode`", "panel_label"],
        );
        check(
            ("#a9d2c3", "teal-ish"),
            &["my.toml, line 12", "`code`", "unknown colour `teal-ish`"],
        );
        check(
            ("#8fb4f2 bold", "#8fb4f2 blink"),
            &["my.toml, line 7", "`user`", "unknown modifier `blink`"],
        );
        check(
            ("\"#93c98a\"", "3"),
            &["my.toml, line 9", "`ok`", "must be a string"],
        );
        check(
            ("\"#93c98a\"", "\"\""),
            &["my.toml, line 9", "`ok`", "empty"],
        );
        check(
            ("default on #16181d", "default on"),
            &["my.toml, line 3", "`background`", "must follow `on`"],
        );
        check(("\"#93c98a\"", "\"#93c98a"), &["my.toml, line 9"]);
        check(
            ("warn        = \"#e3bd74\"\n", ""),
            &["my.toml", "`warn` is missing"],
        );
    }

    #[test]
    fn an_unknown_theme_names_the_known_ones() {
        let message = Theme::load("lite", ColorDepth::Rgb)
            .unwrap_err()
            .to_string();
        assert!(
            message.contains("lite") && message.contains("terminal, dark, light"),
            "{message}"
        );
    }
}
