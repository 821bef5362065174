//! Code → classes of its words, on a thread of its own.
//!
//! Reading a grammar for the first time takes 30 to 140 ms, a line of code about 1 ms, and a hostile line
//! more: no frame may wait for that. The thread starts with the first code and reads only the grammars
//! that are asked for. **Whatever goes wrong here, code is shown, in one colour.**

use std::ops::Range;
use std::sync::mpsc::{self, Sender};
use std::thread;

use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxSet};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::app::highlight::{Class, Highlighted, Job, Line};

/// Longer lines are not highlighted.
const MAX_LINE: usize = 1_000;
/// Blocks of code are highlighted up to this many lines.
const MAX_LINES: usize = 5_000;
/// What scopes mean, by how their names begin; the first that fits counts. `None` ends the search.
const CLASSES: &[(&str, Option<Class>)] = &[
    ("meta.interpolation", None),
    ("comment", Some(Class::Comment)),
    ("string", Some(Class::String)),
    ("constant.character.escape", Some(Class::String)),
    ("constant", Some(Class::Number)),
    ("keyword.operator", None),
    ("keyword", Some(Class::Keyword)),
    ("storage", Some(Class::Keyword)),
    ("entity.name.tag", Some(Class::Keyword)),
    ("entity.name.function", Some(Class::Function)),
    ("entity.name.macro", Some(Class::Function)),
    ("entity.other.attribute-name", Some(Class::Function)),
    ("support.function", Some(Class::Function)),
    ("support.macro", Some(Class::Function)),
    ("variable.function", Some(Class::Function)),
    ("entity.name", Some(Class::Type)),
    ("entity.other.inherited-class", Some(Class::Type)),
    ("support.type", Some(Class::Type)),
    ("support.class", Some(Class::Type)),
    ("markup.inserted", Some(Class::String)),
    ("markup.deleted", Some(Class::Keyword)),
];

/// The thread that highlights, once there is something to do.
pub struct Highlighting {
    jobs: Option<Sender<Job>>,
    outbox: UnboundedSender<Highlighted>,
    /// What was highlighted.
    pub done: UnboundedReceiver<Highlighted>,
}

impl Default for Highlighting {
    /// Nothing to do yet.
    fn default() -> Self {
        let (outbox, done) = unbounded_channel();
        Self {
            jobs: None,
            outbox,
            done,
        }
    }
}

impl Highlighting {
    /// Asks for the colours of code.
    pub fn ask(&mut self, job: Job) {
        let jobs = self.jobs.get_or_insert_with(|| start(self.outbox.clone()));
        // A thread that has failed leaves code in one colour.
        let _ = jobs.send(job);
    }
}

fn start(outbox: UnboundedSender<Highlighted>) -> Sender<Job> {
    let (jobs, inbox) = mpsc::channel();
    let run = move || {
        let mut highlighter = Highlighter::default();
        while let Ok(job) = inbox.recv() {
            if outbox.send(highlighter.highlight(&job)).is_err() {
                return;
            }
        }
    };
    // Without the thread, what is sent is dropped.
    let _ = thread::Builder::new()
        .name("highlight".to_owned())
        .spawn(run);
    jobs
}

/// Highlights code line by line.
pub struct Highlighter {
    syntaxes: SyntaxSet,
    classes: Vec<(Scope, Option<Class>)>,
    /// Where the block of code that was highlighted last has come to.
    state: Option<State>,
}

struct State {
    /// The block of the conversation, and the block of code in it.
    of: (u64, usize),
    parse: ParseState,
    scopes: ScopeStack,
    n_lines: usize,
}

impl Default for Highlighter {
    /// With all languages known, and none of their grammars read.
    fn default() -> Self {
        let scope = |(name, class): &(&str, Option<Class>)| Some((Scope::new(name).ok()?, *class));
        Self {
            syntaxes: two_face::syntax::extra_newlines(),
            classes: CLASSES.iter().filter_map(scope).collect(),
            state: None,
        }
    }
}

impl Highlighter {
    /// The classes of the words of `job`; nothing for languages that are not known.
    pub fn highlight(&mut self, job: &Job) -> Highlighted {
        let lines = job.lines.iter();
        let classes =
            lines.flat_map(|line| self.line((job.id, line.code), line).unwrap_or_default());
        Highlighted {
            id: job.id,
            classes: classes.collect(),
        }
    }

    fn line(&mut self, of: (u64, usize), line: &Line) -> Option<Vec<(Range<usize>, Class)>> {
        if self.state.as_ref().is_none_or(|state| state.of != of) {
            // `rust,ignore` and `python title=x` name a language, too.
            let name = line.language.split([' ', ',', '{', ':']).next()?;
            let syntax = self.syntaxes.find_syntax_by_token(name)?;
            self.state = Some(State {
                of,
                parse: ParseState::new(syntax),
                scopes: ScopeStack::new(),
                n_lines: 0,
            });
        }
        let state = self.state.as_mut()?;
        state.n_lines += 1;
        if line.text.len() > MAX_LINE || state.n_lines > MAX_LINES {
            return None;
        }
        let text = line.text.clone() + "\n";
        let changes = state.parse.parse_line(&text, &self.syntaxes).ok()?;
        let mut classes = Vec::new();
        let mut from = 0;
        let end = (line.text.len(), None);
        let changes = changes.into_iter().map(|(at, change)| (at, Some(change)));
        for (at, change) in changes.chain([end]) {
            let at = at.min(line.text.len());
            if from < at
                && let Some(class) = class(&state.scopes, &self.classes)
            {
                classes.push((line.start + from..line.start + at, class));
            }
            from = from.max(at);
            if let Some(change) = change {
                state.scopes.apply(&change).ok()?;
            }
        }
        Some(classes)
    }
}

/// What the innermost scope that means anything means.
fn class(scopes: &ScopeStack, classes: &[(Scope, Option<Class>)]) -> Option<Class> {
    scopes.as_slice().iter().rev().find_map(|scope| {
        let known = classes
            .iter()
            .find(|(prefix, _)| prefix.is_prefix_of(*scope));
        known.map(|(_, class)| *class)
    })?
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of `code` with their classes.
    fn classes(language: &str, code: &str) -> Vec<(String, Class)> {
        let mut start = 0;
        let lines = code.split('\n').map(|text| {
            let line = Line {
                code: 0,
                language: language.to_owned(),
                start,
                text: text.to_owned(),
            };
            start += text.len() + 1;
            line
        });
        let job = Job {
            id: 1,
            lines: lines.collect(),
        };
        let highlighted = Highlighter::default().highlight(&job);
        assert!(
            highlighted
                .classes
                .is_sorted_by(|a, b| a.0.end <= b.0.start)
        );
        let words = highlighted.classes.into_iter();
        words
            .map(|(range, class)| (code[range].trim().to_owned(), class))
            .collect()
    }

    #[track_caller]
    fn check(language: &str, code: &str, expect: &[(&str, Class)]) {
        let classes = classes(language, code);
        for (word, class) in expect {
            assert!(
                classes.contains(&((*word).to_owned(), *class)),
                "{word} in {classes:?}"
            );
        }
    }

    #[test]
    fn common_languages_are_highlighted() {
        use Class::{Comment, Function, Keyword, Number, String, Type};
        check(
            "python",
            "def f(x):\n    return 'a' + 1",
            &[
                ("def", Keyword),
                ("f", Function),
                ("return", Keyword),
                ("a", String),
                ("1", Number),
            ],
        );
        check(
            "rust,ignore",
            "struct A; // x",
            &[("struct", Keyword), ("A", Type), ("x", Comment)],
        );
        check("js", "const a = `b`;", &[("const", Keyword), ("b", String)]);
        check(
            "sh",
            "if true; then echo 'x'; fi",
            &[("if", Keyword), ("x", String)],
        );
        check(
            "c",
            "int main() { return 0; }",
            &[("int", Keyword), ("main", Function), ("0", Number)],
        );
    }

    #[test]
    fn a_text_goes_on_over_lines() {
        let expect = [("b", Class::String)];
        check("python", "x = '''a\nb\nc'''", &expect);
    }

    #[test]
    fn what_is_not_known_has_one_colour() {
        assert_eq!(classes("no such language", "def f"), []);
        assert_eq!(
            classes("python", &format!("x = '{}'", "y".repeat(MAX_LINE))),
            []
        );
    }

    #[test]
    fn the_thread_answers() {
        let mut highlighting = Highlighting::default();
        highlighting.ask(Job {
            id: 7,
            lines: Vec::new(),
        });
        let done = highlighting
            .done
            .blocking_recv()
            .expect("the thread answers");
        assert_eq!((done.id, done.classes.len()), (7, 0));
    }
}
