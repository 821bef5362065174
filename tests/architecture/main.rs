//! The architecture as a test: who may name whom in `src`, and what every source file looks like.
//!
//! In go all Rust files of `src` and `tests`, out come sentences that say which rule a line breaks.
//! It reads tokens, not text: comments and strings do not count, grouped `use` and `super` paths do.

mod ignored;
mod names;

use std::path::{Path, PathBuf};

use ignored::ignored_tests;
use names::{Name, names};
use proc_macro2::TokenStream;

/// The order of modules. One may name itself and what stands before it on a line it stands on.
const ORDER: [&str; 2] = [
    "cancel clean clock files config cpu model::progress engine::protocol model measure sampling strategy decoding bench engine cli commands main",
    "cancel clean clock files config model::progress engine::protocol stats session bench app ui terminal cli commands main",
];

/// What some modules never name, whoever re-exports it.
const NEVER: [(&[&str], &[&str]); 2] = [
    (
        &["stats", "app", "ui"],
        &["candle_core", "candle_nn", "tokenizers"],
    ),
    (
        &["cpu", "model", "sampling", "strategy", "decoding"],
        &["tokio", "ratatui", "crossterm", "mpsc", "crossbeam_channel"],
    ),
];

/// Files that may name one of these things, for a reason that they give themselves.
const ALLOWED: [(&str, &str); 1] = [
    // The result of a thread that may have to be left behind: std has no other wait with a deadline.
    ("src/model/chat_template/mod.rs", "mpsc"),
];

/// How the names of ignored tests begin and why they are: scripts run the first three, people those that
/// need the network.
const IGNORED: [(&str, &str); 6] = [
    ("pair_", "needs the default pair: scripts/test.sh"),
    ("full_", "long: scripts/identity.sh"),
    ("full_", "long: scripts/kill-sessions.sh"),
    ("soak_", "long: scripts/soak.sh"),
    ("network_", "needs the network: SPECK_TEST_NETWORK=1"),
    ("process_", "other tests start it, as a process"),
];

/// Lines of a file, above which it does more than one job.
const MAX_LINES: usize = 450;

#[test]
fn source_keeps_the_rules() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files: Vec<_> = ["src", "tests"]
        .iter()
        .flat_map(|folder| rust_files(&root.join(folder)))
        .collect();
    assert!(files.len() > 10, "found only {files:?}");
    let broken: Vec<_> = files
        .iter()
        .flat_map(|file| {
            let source = std::fs::read_to_string(file).unwrap();
            violations(file.strip_prefix(root).unwrap(), &source)
        })
        .collect();
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// The rules that the file at `path` (from the crate's root) breaks.
fn violations(path: &Path, source: &str) -> Vec<String> {
    let tokens: TokenStream = source
        .parse()
        .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut broken = Vec::new();
    if !source.starts_with("//!") {
        broken.push("does not start with a //! header".to_owned());
    }
    let n_lines = source.lines().count();
    if n_lines > MAX_LINES {
        broken.push(format!("{n_lines} lines, more than {MAX_LINES}"));
    }
    for test in ignored_tests(tokens.clone()) {
        if !IGNORED
            .iter()
            .any(|(prefix, why)| test.name.starts_with(prefix) && test.reason == *why)
        {
            broken.push(format!(
                "{}: nothing runs {} ({})",
                test.line, test.name, test.reason
            ));
        }
    }
    if let Ok(inside) = path.strip_prefix("src") {
        let scope = scope(inside);
        let module = if scope.is_empty() {
            Some("main")
        } else {
            place(&scope)
        };
        match module {
            Some(module) => broken.extend(
                names(tokens, &scope)
                    .iter()
                    .filter(|name| !is_allowed(path, name))
                    .filter_map(|name| fault(name, module)),
            ),
            None => broken.push("has no place in the order of modules".to_owned()),
        }
    }
    broken
        .iter()
        .map(|fault| format!("{}:{fault}", path.display()))
        .collect()
}

/// The module path of a file: `model/gguf/mod.rs` is `[model, gguf]`, the crate's roots are `[]`.
fn scope(inside_src: &Path) -> Vec<String> {
    let mut scope: Vec<_> = inside_src
        .with_extension("")
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    if ["mod", "lib", "main"].contains(&scope.last().map_or("", String::as_str)) {
        scope.pop();
    }
    scope
}

/// The entry of [`ORDER`] that a path from the crate's root belongs to: the longest that begins it.
fn place(path: &[String]) -> Option<&'static str> {
    let path = path.join("::") + "::";
    let names = ORDER.iter().flat_map(|line| line.split(' '));
    names
        .filter(|name| path.starts_with(&format!("{name}::")))
        .max_by_key(|name| name.len())
}

fn may_name(module: &str, other: &str) -> bool {
    let stands_before = |line: &&str| {
        let mut before = line.split(' ').take_while(|name| *name != module);
        line.split(' ').any(|name| name == module) && before.any(|name| name == other)
    };
    module == other || ORDER.iter().any(stands_before)
}

fn is_allowed(path: &Path, name: &Name) -> bool {
    let named = |thing: &str| name.path.iter().any(|part| part == thing);
    ALLOWED
        .iter()
        .any(|(file, thing)| path == Path::new(file) && named(thing))
}

/// What is wrong with a name in `module`.
fn fault(Name { path, line }: &Name, module: &str) -> Option<String> {
    let named = path.join("::");
    let mut never = NEVER
        .iter()
        .filter(|(modules, _)| modules.contains(&module))
        .flat_map(|(_, things)| *things);
    if let Some(thing) = never.find(|thing| path.iter().any(|part| part == *thing)) {
        return Some(format!("{line}: {module} must not name {thing} ({named})"));
    }
    let (root, inner) = path.split_first()?;
    if root != "crate" || inner.is_empty() || module == "main" {
        return None;
    }
    match place(inner) {
        None => Some(format!(
            "{line}: {named} has no place in the order of modules"
        )),
        Some(other) => (!may_name(module, other))
            .then(|| format!("{line}: {module} must not name {other} ({named})")),
    }
}

/// Checks made-up files, one a line: its path, its text after the header, and for each rule that it
/// breaks a part of the sentence that says so.
#[track_caller]
fn check(files: &str) {
    for file in files.trim().lines() {
        let mut parts = file.split('|').map(str::trim);
        let path = parts.next().unwrap();
        let source = parts.next().unwrap();
        let expect: Vec<_> = parts.collect();
        let broken = violations(Path::new(path), &format!("//! Header.\n{source}"));
        let as_expected = broken.len() == expect.len()
            && broken
                .iter()
                .zip(&expect)
                .all(|(sentence, part)| sentence.contains(part));
        assert!(
            as_expected,
            "{path}: {source}\nexpected {expect:?}\nfound {broken:#?}"
        );
    }
}

#[test]
fn modules_may_name_what_stands_before_them() {
    check(
        "
        src/model/gguf/mod.rs | use crate::cancel::Cancel; use super::Token;
        src/model/fetch/hub.rs | use crate::engine::protocol::Fetch;
        src/decoding/mod.rs | use crate::{model::{Model, Token}, strategy::Strategy};
        src/ui/panel.rs | use crate::app::App; fn f(s: &crate::stats::Stats) {}
        src/engine/worker.rs | use super::protocol::Event; pub(super) fn f() {}
        src/stats.rs | mod tests { use super::*; }
        src/main.rs | use speck::commands; use crate::anything::at_all;
        src/lib.rs | pub mod cli;
    ",
    );
}

#[test]
fn modules_must_not_name_what_stands_after_them_or_elsewhere() {
    check(
        "
        src/cpu/x.rs | use crate::model::Token; | x.rs:2: cpu must not name model
        src/strategy/x.rs | use crate::decoding::Round; | x.rs:2: strategy must not name decoding
        src/app/mod.rs | use crate::{stats::Stats, model::Token}; | app must not name model
        src/app/mod.rs | use crate::{ui::{self, Theme}}; | ui (crate::ui::self) | ui (crate::ui::Theme)
        src/ui/x.rs | fn f() { let t: crate::strategy::Plain = g(); } | ui must not name strategy
        src/ui/x.rs | fn f() { println!(\"{}\", crate::model::NAME); } | ui must not name model
        src/ui/x.rs | use crate::engine::{Handle, protocol::Event}; | (crate::engine::Handle)
        src/ui/x.rs | fn f() -> Vec<crate::decoding::Round> {} | ui must not name decoding
        src/engine/protocol.rs | use super::Handle; | engine::protocol must not name engine
        src/stats.rs | mod tests { use super::super::app::App; } | stats must not name app
        src/stats.rs | use super::*; | crate::* has no place
        src/model/gguf/x.rs | use super::super::super::decoding::*; | model must not name decoding
        src/app/mod.rs | use crate::helpers::pad; | helpers::pad has no place
        src/helpers.rs | | helpers.rs:has no place
    ");
}

#[test]
fn some_things_are_never_named() {
    check(
        "
        src/model/load.rs | use candle_core::Tensor; use std::sync::Arc;
        src/engine/mod.rs | use std::sync::mpsc; use tokio::sync::oneshot;
        src/model/load.rs | use std::sync::{Arc, mpsc::channel}; | model must not name mpsc
        src/cpu/pool.rs | use tokio::task; use crate::cancel::Cancel; | cpu must not name tokio
        src/model/chat_template/mod.rs | use std::sync::mpsc; fn f() { tokio::spawn(g()); } | name tokio
        src/decoding/mod.rs | fn f() { tokio::spawn(g()); } | decoding must not name tokio
        src/strategy/plain.rs | use ratatui::Frame; | strategy must not name ratatui
        src/ui/mod.rs | use candle_core::{Device, Tensor}; | candle_core | candle_core
    ",
    );
}

#[test]
fn comments_and_strings_name_nothing() {
    check(
        "
        src/app/mod.rs | const A: &str = \"crate::ui\"; // use crate::model::Token
        src/model/mod.rs | /* use tokio::sync::mpsc; */ fn tokio_free() {}
    ",
    );
}

#[test]
fn files_have_a_header_and_one_job() {
    let found = |source: &str| violations(Path::new("tests/x.rs"), source);
    let long = |n_lines: usize| "//! One of many.\n".repeat(n_lines);
    assert_eq!(found(&long(MAX_LINES)), [""; 0]);
    assert_eq!(
        found(&long(MAX_LINES + 1)),
        ["tests/x.rs:451 lines, more than 450"]
    );
    assert_eq!(
        found("// A comment.\n//! Too late.\n"),
        ["tests/x.rs:does not start with a //! header"]
    );
}

#[test]
fn ignored_tests_are_run_by_something() {
    check(
        r#"
        tests/x.rs | #[ignore = "needs the default pair: scripts/test.sh"] #[test] fn pair_a() {}
        tests/x.rs | #[ignore = "needs the network: SPECK_TEST_NETWORK=1"] fn network_a() {} fn b() {}
        tests/x.rs | #[ignore = "long: scripts/identity.sh"] #[test] fn full_a() {}
        tests/x.rs | #[ignore = "long: scripts/identity.sh"] #[test] fn pair_a() {} | nothing runs pair_a
        tests/x.rs | #[ignore = "needs the default pair: scripts/test.sh"] fn a() {} | 2: nothing runs a
        src/stats.rs | mod tests { #[test] #[ignore = "slow"] fn pair_a() {} } | runs pair_a (slow)
        src/stats.rs | mod tests { #[ignore] fn a() {} } | nothing runs a ()
        "#,
    );
}
