//! Blocks, their lines and anchors; and that a transcript whose lines come late is the one whose lines are there.

use proptest::prelude::*;

use super::*;
use crate::app::block::AnswerState;

fn piece(text: &str) -> Piece {
    Piece {
        text: text.to_owned(),
        drafter: None,
    }
}

fn answer() -> Kind {
    Kind::Assistant(Answer {
        model: None,
        state: AnswerState::Writing,
    })
}

/// The transcript as text: one line each, headings as `#`, states as `=`.
fn shown(transcript: &Transcript, from: usize) -> Vec<String> {
    transcript
        .lines(from)
        .map(|(_, line)| match line {
            LineView::Heading(_) => "#".to_owned(),
            LineView::Body(block, line, _) => {
                let spans = line.spans.iter();
                spans.map(|span| span.text(block.text())).collect()
            }
            LineView::State(_) => "=".to_owned(),
            LineView::Blank => String::new(),
        })
        .collect()
}

#[test]
fn blocks_have_headings_states_and_space() {
    let mut transcript = Transcript::new(8);
    transcript.push(Kind::User, "one two three");
    transcript.push(answer(), "");
    transcript.push(Kind::Notice, "note");
    let expect = ["#", "one two", "three", "", "#", "=", "", "note", ""];
    assert_eq!(shown(&transcript, 0), expect);
    assert_eq!(transcript.len(), expect.len() - 1);
    for first in 0..expect.len() {
        assert_eq!(shown(&transcript, first), expect[first..]);
    }
}

#[test]
fn a_long_answer_costs_as_much_per_token_as_a_short_one() {
    let mut transcript = Transcript::new(80);
    let index = transcript.push(answer(), "");
    let part =
        "## Part\n\nSome **bold** text with `code`.\n\n- one\n- two\n\n```rust\nfn f() {}\n```\n\n";
    let mut costs = Vec::new();
    for _ in 0..200 {
        let before = transcript.blocks()[index].rendered_bytes();
        for token in part.split_inclusive(' ') {
            transcript.append(index, &[piece(token)]);
        }
        costs.push(transcript.blocks()[index].rendered_bytes() - before);
    }
    assert_eq!(costs[10], costs[199]);
    // Every byte is rendered a few times, while its block grows.
    assert!(
        costs[199] < 10 * part.len(),
        "{} for {}",
        costs[199],
        part.len()
    );
}

#[test]
fn an_anchor_survives_another_width() {
    let mut transcript = Transcript::new(10);
    transcript.push(Kind::User, "one two three four five six seven");
    transcript.push(Kind::User, "one two three four five six seven");
    let line = shown(&transcript, 0)
        .iter()
        .rposition(|line| line.starts_with("five"))
        .unwrap();
    let anchor = transcript.anchor(line).unwrap();
    transcript.set_view(View {
        width: 24,
        ..transcript.view()
    });
    let shown = shown(&transcript, transcript.line_of(anchor));
    assert!(shown[0].contains("five"), "{shown:?}");
    transcript.set_view(View {
        width: 10,
        ..transcript.view()
    });
    assert_eq!(transcript.line_of(anchor), line);
}

/// A change to a transcript; places are taken modulo what there is.
#[derive(Clone, Debug)]
enum Change {
    Push(usize, usize),
    Insert(usize, usize),
    Remove(usize),
    Truncate(usize),
    Width(usize),
    /// Blocks of the lazy one get their lines.
    Render(usize),
}

const TEXTS: [&str; 6] = [
    "",
    "one",
    "one two three four five six seven eight nine ten",
    "# Head\n\n- a **bold** item\n- another one, which is longer than a line\n\nend",
    "```rust\nfn f() {\n    1 + 1\n}\n```\n\n| a | b |\n|---|---|\n| 日本語 | x |",
    "日本語で答えて 👩‍👩‍👧‍👦 e\u{301} a\n\n\nb\n",
];

fn kind(of: usize) -> Kind {
    match of % 4 {
        0 => Kind::User,
        1 => answer(),
        2 => Kind::Notice,
        _ => Kind::Error,
    }
}

fn change() -> impl Strategy<Value = Change> {
    let text = 0..TEXTS.len();
    let width = prop::sample::select(vec![1_usize, 2, 7, 20, 36, 76]);
    prop_oneof![
        2 => (any::<usize>(), text.clone()).prop_map(|(kind, text)| Change::Push(kind, text)),
        2 => (any::<usize>(), text).prop_map(|(at, text)| Change::Insert(at, text)),
        1 => any::<usize>().prop_map(Change::Remove),
        1 => (0_usize..40).prop_map(Change::Truncate),
        2 => width.prop_map(Change::Width),
        4 => (1_usize..6).prop_map(Change::Render),
    ]
}

impl Transcript {
    fn change(&mut self, change: &Change) {
        let n = self.blocks().len();
        match *change {
            Change::Push(of, text) => drop(self.push(kind(of), TEXTS[text])),
            Change::Insert(at, text) => self.insert(at % (n + 1), Kind::Notice, TEXTS[text]),
            Change::Remove(at) if n > 0 => self.remove(at % n),
            Change::Truncate(from_end) => self.truncate(n.saturating_sub(from_end / 8)),
            Change::Width(width) => drop(self.set_view(View {
                width,
                ..self.view()
            })),
            Change::Remove(_) | Change::Render(_) => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever is done to it meanwhile, a transcript whose blocks get their lines late is in the end the one
    /// whose blocks had them from the start; and what is in view stays when blocks above it get theirs.
    #[test]
    fn lines_that_come_late_are_those_that_come_at_once(
        opened in prop::collection::vec((any::<usize>(), 0..TEXTS.len()), 0..30),
        width in prop::sample::select(vec![1_usize, 2, 7, 20, 36, 76]),
        changes in prop::collection::vec(change(), 0..12),
        place in any::<prop::sample::Index>(),
    ) {
        let (mut lazy, mut whole) = (Transcript::new(width), Transcript::new(width));
        for (of, text) in opened {
            lazy.push_unrendered(kind(of), TEXTS[text]);
            whole.push(kind(of), TEXTS[text]);
        }
        for change in changes.iter().chain(std::iter::repeat_n(&Change::Render(3), 20)) {
            lazy.change(change);
            whole.change(change);
            if let Change::Render(n) = change {
                let (top, unrendered) = (place.index(lazy.len() + 1), lazy.unrendered());
                let view = shown(&lazy, top);
                let above = lazy.render_more(*n);
                prop_assert_eq!(lazy.unrendered(), unrendered.saturating_sub(*n));
                prop_assert_eq!(&shown(&lazy, top + above), &view, "what is in view stays");
            }
            // What has its lines is the end of the whole one.
            let there = shown(&lazy, 0);
            prop_assert!(shown(&whole, 0).ends_with(&there));
        }
        prop_assert_eq!(lazy.unrendered(), 0);
        prop_assert_eq!(lazy.len(), whole.len());
        for first in 0..=whole.len() {
            prop_assert_eq!(lazy.position(first), whole.position(first));
        }
        prop_assert_eq!(shown(&lazy, 0), shown(&whole, 0));
    }
}
