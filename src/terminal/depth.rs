//! How many colours the terminal shows, by what it says of itself in the environment.

use std::env;

use crate::ui::ColorDepth;

/// The first version of Terminal.app with 24-bit colour: that of macOS 26.
const TERMINAL_APP_TRUE_COLOR: u32 = 460;

/// The colours of the terminal this program runs in.
pub fn detect() -> ColorDepth {
    detect_in(|name| env::var(name).unwrap_or_default())
}

fn detect_in(variable: impl Fn(&str) -> String) -> ColorDepth {
    // https://no-color.org: any value but the empty one.
    if !variable("NO_COLOR").is_empty() {
        return ColorDepth::None;
    }
    if ["truecolor", "24bit"].contains(&variable("COLORTERM").as_str()) {
        return ColorDepth::Rgb;
    }
    let term = variable("TERM");
    let program = variable("TERM_PROGRAM");
    let multiplexed = term.starts_with("tmux") || term.starts_with("screen");
    if !multiplexed && program == "Apple_Terminal" {
        let version = variable("TERM_PROGRAM_VERSION");
        let major = version
            .split('.')
            .next()
            .and_then(|major| major.parse().ok());
        let new = major.is_some_and(|major: u32| major >= TERMINAL_APP_TRUE_COLOR);
        return if new {
            ColorDepth::Rgb
        } else {
            ColorDepth::Ansi256
        };
    }
    // iTerm2 sends LC_TERMINAL along over SSH.
    let iterm2 = !multiplexed && variable("LC_TERMINAL") == "iTerm2";
    let by_name = [
        "xterm-kitty",
        "xterm-ghostty",
        "alacritty",
        "foot",
        "wezterm",
    ];
    if by_name.contains(&term.as_str()) || term.ends_with("-direct") || iterm2 {
        return ColorDepth::Rgb;
    }
    if term.contains("256color") {
        ColorDepth::Ansi256
    } else {
        ColorDepth::Ansi16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(environment: &[(&str, &str)], expect: ColorDepth) {
        let variable = |name: &str| {
            let found = environment.iter().find(|(known, _)| *known == name);
            found
                .map(|(_, value)| (*value).to_owned())
                .unwrap_or_default()
        };
        assert_eq!(detect_in(variable), expect, "{environment:?}");
    }

    #[test]
    fn terminals_are_known_by_their_variables() {
        check(&[], ColorDepth::Ansi16);
        check(&[("TERM", "linux")], ColorDepth::Ansi16);
        check(&[("TERM", "xterm-256color")], ColorDepth::Ansi256);
        check(
            &[("TERM", "xterm-256color"), ("COLORTERM", "truecolor")],
            ColorDepth::Rgb,
        );
        check(&[("TERM", "xterm-direct")], ColorDepth::Rgb);
        check(&[("TERM", "xterm-kitty")], ColorDepth::Rgb);
        check(
            &[("TERM", "xterm-256color"), ("LC_TERMINAL", "iTerm2")],
            ColorDepth::Rgb,
        );
        check(
            &[("TERM", "tmux-256color"), ("LC_TERMINAL", "iTerm2")],
            ColorDepth::Ansi256,
        );
    }

    #[test]
    fn terminal_app_is_known_by_its_version() {
        let terminal_app = |version| {
            [
                ("TERM", "xterm-256color"),
                ("TERM_PROGRAM", "Apple_Terminal"),
                ("TERM_PROGRAM_VERSION", version),
            ]
        };
        check(&terminal_app("455.1"), ColorDepth::Ansi256);
        check(&terminal_app("465"), ColorDepth::Rgb);
        check(&terminal_app(""), ColorDepth::Ansi256);
    }

    #[test]
    fn no_color_wins_unless_it_is_empty() {
        check(
            &[("NO_COLOR", "1"), ("COLORTERM", "truecolor")],
            ColorDepth::None,
        );
        check(
            &[("NO_COLOR", ""), ("COLORTERM", "truecolor")],
            ColorDepth::Rgb,
        );
    }
}
