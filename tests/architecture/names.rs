//! The paths that a Rust file names.
//!
//! In goes a stream of tokens and the module it stands in, out come all its paths with their lines.
//! Groups are spelled out, and paths that begin with `self` or `super` are written from the root.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

/// A path that a line names. Those into the crate are written from its root: `[crate, model, Token]`.
pub struct Name {
    /// Its parts.
    pub path: Vec<String>,
    /// The line it begins on, from 1.
    pub line: usize,
}

impl Name {
    /// Writes a path that begins with `self` or `super` from the crate's root.
    fn resolve(&mut self, scope: &[String]) {
        let n_super = self.path.iter().take_while(|part| *part == "super").count();
        let n_self = usize::from(self.path.first().is_some_and(|part| part == "self"));
        if n_super + n_self > 0 {
            let kept = &scope[..scope.len().saturating_sub(n_super)];
            let root = std::iter::once("crate".to_owned()).chain(kept.iter().cloned());
            self.path.splice(..n_super + n_self, root);
        }
    }
}

/// All paths in `tokens`, which stand in the module `scope`.
pub fn names(tokens: TokenStream, scope: &[String]) -> Vec<Name> {
    let mut names = Vec::new();
    collect(tokens, scope, &mut names);
    names
}

fn collect(tokens: TokenStream, scope: &[String], names: &mut Vec<Name>) {
    let tokens: Vec<_> = tokens.into_iter().collect();
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at..] {
            [
                TokenTree::Ident(keyword),
                TokenTree::Ident(name),
                TokenTree::Group(body),
                ..,
            ] if keyword == "mod" => {
                let inner = [scope, &[name.to_string()]].concat();
                collect(body.stream(), &inner, names);
                at += 3;
            }
            [TokenTree::Ident(_), ..] => {
                let from = names.len();
                at += collect_path(&tokens[at..], &[], names);
                names[from..]
                    .iter_mut()
                    .for_each(|name| name.resolve(scope));
            }
            [TokenTree::Group(group), ..] => {
                collect(group.stream(), scope, names);
                at += 1;
            }
            _ => at += 1,
        }
    }
}

/// Collects the path, or the paths of the group, that `tokens` begin with; returns how many it took.
fn collect_path(tokens: &[TokenTree], prefix: &[String], names: &mut Vec<Name>) -> usize {
    let Some(first) = tokens.first() else {
        return 0;
    };
    let mut path = prefix.to_vec();
    let mut at = 0;
    loop {
        match tokens.get(at) {
            Some(TokenTree::Ident(ident)) => path.push(ident.to_string()),
            Some(TokenTree::Punct(glob)) if glob.as_char() == '*' && at > 0 => {
                path.push("*".to_owned());
            }
            Some(TokenTree::Group(group))
                if group.delimiter() == Delimiter::Brace && !path.is_empty() =>
            {
                let inner: Vec<_> = group.stream().into_iter().collect();
                for part in
                    inner.split(|token| matches!(token, TokenTree::Punct(p) if p.as_char() == ','))
                {
                    collect_path(part, &path, names);
                }
                return at + 1;
            }
            _ => break,
        }
        at += 1;
        match &tokens[at..] {
            [TokenTree::Punct(one), TokenTree::Punct(two), ..]
                if one.as_char() == ':'
                    && one.spacing() == Spacing::Joint
                    && two.as_char() == ':' =>
            {
                at += 2;
            }
            _ => break,
        }
    }
    names.push(Name {
        path,
        line: first.span().start().line,
    });
    at.max(1)
}
