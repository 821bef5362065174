//! The tests of a Rust file that `cargo test` does not run by itself.
//!
//! In goes a stream of tokens, out come the names of functions marked `#[ignore]`, with the reasons.

use proc_macro2::{TokenStream, TokenTree};

/// A test marked `#[ignore]`.
pub struct IgnoredTest {
    /// The function's name.
    pub name: String,
    /// The reason given; empty without one.
    pub reason: String,
    /// The line of its name, from 1.
    pub line: usize,
}

/// The ignored tests in `tokens`, in order.
pub fn ignored_tests(tokens: TokenStream) -> Vec<IgnoredTest> {
    let mut tests = Vec::new();
    let mut reason = None;
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match (token, tokens.peek()) {
            (TokenTree::Punct(hash), Some(TokenTree::Group(attribute)))
                if hash.as_char() == '#' =>
            {
                reason = ignore_reason(attribute.stream()).or(reason);
            }
            (TokenTree::Ident(keyword), Some(TokenTree::Ident(name))) if keyword == "fn" => {
                tests.extend(reason.take().map(|reason| IgnoredTest {
                    name: name.to_string(),
                    reason,
                    line: name.span().start().line,
                }));
            }
            (TokenTree::Group(group), _) => tests.extend(ignored_tests(group.stream())),
            _ => {}
        }
    }
    tests
}

/// The reason in an attribute's tokens, if it is `ignore`.
fn ignore_reason(attribute: TokenStream) -> Option<String> {
    let tokens: Vec<_> = attribute.into_iter().collect();
    match tokens.as_slice() {
        [TokenTree::Ident(name), rest @ ..] if name == "ignore" => {
            let reason = rest.last().map(ToString::to_string).unwrap_or_default();
            Some(reason.trim_matches('"').to_owned())
        }
        _ => None,
    }
}
