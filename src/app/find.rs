//! Finding text in the conversation: what is looked for, where it is, and which place is shown.
//!
//! The raw text is searched, so that what Markdown hides is found, too. Text that comes in while an
//! answer streams is searched once; lower-case letters find both cases, a capital only itself.

use std::ops::Range;

use regex::{Regex, RegexBuilder};
use unicode_segmentation::UnicodeSegmentation;

use crate::app::keymap::Action;
use crate::app::transcript::{Anchor, Transcript};
use crate::app::wrap::boundary_before;
use crate::app::{App, Edit, Effect};
use crate::clean::clean;

/// Characters that can be looked for.
const MAX_QUERY: usize = 200;

/// A search.
#[derive(Debug)]
pub struct Find {
    query: String,
    pattern: Option<Regex>,
    blocks: Vec<Searched>,
    /// The place that is shown: a block, and one of its places.
    current: Option<(usize, usize)>,
    /// The block and byte from which on the first place is looked for.
    from: (usize, usize),
}

/// What was found in a block.
#[derive(Debug)]
struct Searched {
    id: u64,
    /// Bytes of its text that were searched.
    len: usize,
    found: Vec<Range<usize>>,
}

impl Find {
    /// A search for nothing yet, that starts at byte `from.1` of block `from.0`.
    pub fn new(from: (usize, usize)) -> Self {
        Self {
            query: String::new(),
            pattern: None,
            blocks: Vec::new(),
            current: None,
            from,
        }
    }

    /// What is looked for.
    pub fn query(&self) -> &str {
        &self.query
    }

    /// Which of all places is shown, counted from 1 (0 for none), and how many there are.
    pub fn count(&self) -> (usize, usize) {
        let before = |blocks: &[Searched]| blocks.iter().map(|block| block.found.len()).sum();
        let position = self.current.map_or(0, |(block, index)| {
            let above: usize = before(&self.blocks[..block]);
            above + index + 1
        });
        (position, before(&self.blocks))
    }

    /// The place of block `block` at `byte`, if it was found, and whether it is the one shown; and up to
    /// which byte that holds.
    pub fn at(&self, block: usize, byte: usize) -> (Option<bool>, usize) {
        let found = self.blocks.get(block).map_or(&[][..], |block| &block.found);
        let index = found.partition_point(|range| range.end <= byte);
        match found.get(index) {
            Some(range) if range.start <= byte => {
                (Some(self.current == Some((block, index))), range.end)
            }
            Some(range) => (None, range.start),
            None => (None, usize::MAX),
        }
    }

    /// The place that is shown.
    fn anchor(&self) -> Option<Anchor> {
        let (block, index) = self.current?;
        let range = self.blocks.get(block)?.found.get(index)?;
        Some(Anchor::byte(block, range.start))
    }

    fn set_query(&mut self, query: &str, transcript: &Transcript) {
        self.query = clean(query).chars().take(MAX_QUERY).collect();
        let both_cases = !self.query.chars().any(char::is_uppercase);
        self.pattern = (!self.query.is_empty())
            .then(|| {
                RegexBuilder::new(&regex::escape(&self.query))
                    .case_insensitive(both_cases)
                    .build()
                    .ok()
            })
            .flatten();
        self.blocks.clear();
        self.search(transcript);
        self.current = self.nearest();
    }

    /// Searches what is new.
    fn search(&mut self, transcript: &Transcript) {
        let blocks = transcript.blocks();
        let same = self
            .blocks
            .iter()
            .zip(blocks)
            .take_while(|(old, new)| old.id == new.id() && old.len <= new.text().len());
        let same = same.count();
        self.blocks.truncate(same);
        if self.current.is_some_and(|(block, _)| block >= same) {
            self.current = None;
        }
        let Some(pattern) = &self.pattern else { return };
        for (index, block) in blocks.iter().enumerate() {
            if index == self.blocks.len() {
                self.blocks.push(Searched {
                    id: block.id(),
                    len: 0,
                    found: Vec::new(),
                });
            }
            let searched = &mut self.blocks[index];
            let text = block.text();
            if searched.len == text.len() {
                continue;
            }
            // A place may have begun in what was searched: no letter's other case takes four times its bytes.
            let begun = searched.len.saturating_sub(4 * self.query.len());
            let last = searched.found.last().map_or(0, |range| range.end);
            let from = boundary_before(text, begun).max(last);
            let found = pattern.find_iter(&text[from..]);
            searched
                .found
                .extend(found.map(|found| from + found.start()..from + found.end()));
            searched.len = text.len();
        }
        if self.current.is_none() {
            self.current = self.nearest();
        }
    }

    /// The first place from where the search began, or else the last before.
    fn nearest(&self) -> Option<(usize, usize)> {
        let (from_block, from_byte) = self.from;
        let places = || {
            let blocks = self.blocks.iter().enumerate();
            blocks.flat_map(|(block, searched)| (0..searched.found.len()).map(move |i| (block, i)))
        };
        let start =
            |&(block, index): &(usize, usize)| (block, self.blocks[block].found[index].start);
        places()
            .find(|place| start(place) >= (from_block, from_byte))
            .or_else(|| places().last())
    }

    /// Goes to the next place, or the one before; from the last to the first.
    fn step(&mut self, forward: bool) {
        let (position, all) = self.count();
        if all == 0 {
            return;
        }
        let mut index = match (position, forward) {
            (0, _) => 0,
            (_, true) => position % all,
            (_, false) => (position + all - 2) % all,
        };
        for (block, searched) in self.blocks.iter().enumerate() {
            if index < searched.found.len() {
                self.current = Some((block, index));
                return;
            }
            index -= searched.found.len();
        }
    }
}

impl App {
    /// Looks for `query` from the first line in view on.
    pub(super) fn open_find(&mut self, query: &str) {
        let from = self.transcript.position(self.scroll.top);
        let mut find = Find::new(from);
        find.set_query(query, &self.transcript);
        self.open(find);
        self.show_found();
    }

    /// What a key does while something is looked for; `None` where it does what it does elsewhere.
    pub(super) fn act_in_find(&mut self, action: Action) -> Option<Vec<Effect>> {
        let find = self.overlay.find_mut()?;
        let mut query = find.query.clone();
        match action {
            Action::Send | Action::Find | Action::HistoryForward | Action::Down => find.step(true),
            Action::HistoryBack | Action::NextStrategy | Action::Up => find.step(false),
            Action::Escape | Action::Interrupt | Action::EndOfInput => {
                self.close();
                return Some(Vec::new());
            }
            Action::Help => query.push('?'),
            Action::Edit(Edit::Insert(c)) => query.push(c),
            Action::Edit(Edit::Backspace) => {
                let last = query.grapheme_indices(true).next_back();
                query.truncate(last.map_or(0, |(at, _)| at));
            }
            Action::Edit(Edit::DeleteWord) => {
                let rest = query.trim_end();
                let rest = rest.rfind(' ').map_or(0, |blank| blank + 1);
                query.truncate(rest);
            }
            Action::Edit(Edit::DeleteToStart) => query.clear(),
            // Of the conversation: the message that is kept meanwhile is not in view.
            Action::Home => {
                self.scroll_by(isize::MIN);
                return Some(Vec::new());
            }
            Action::End => {
                self.scroll.to_end();
                return Some(Vec::new());
            }
            Action::Complete
            | Action::SearchHistory
            | Action::OpenEditor
            | Action::Edit(
                Edit::Newline
                | Edit::Delete
                | Edit::DeleteToEnd
                | Edit::Yank
                | Edit::Undo
                | Edit::Left
                | Edit::Right
                | Edit::WordLeft
                | Edit::WordRight
                | Edit::LineStart
                | Edit::LineEnd,
            ) => return Some(Vec::new()),
            Action::LineUp
            | Action::LineDown
            | Action::PageUp
            | Action::PageDown
            | Action::TogglePanel
            | Action::Redraw
            | Action::Suspend => return None,
        }
        if query != find.query {
            find.set_query(&query, &self.transcript);
        }
        self.show_found();
        Some(Vec::new())
    }

    /// Adds pasted text to what is looked for, up to its first line end.
    pub(super) fn paste_into_find(&mut self, text: &str) {
        let Some(find) = self.overlay.find_mut() else {
            return;
        };
        let line = text.lines().next().unwrap_or("");
        let query = find.query.clone() + line;
        find.set_query(&query, &self.transcript);
        self.show_found();
    }

    /// Searches what came since the last message.
    pub(super) fn refresh_find(&mut self) {
        if let Some(find) = self.overlay.find_mut() {
            find.search(&self.transcript);
        }
    }

    /// Brings the place that is shown into view, which then stays.
    fn show_found(&mut self) {
        let anchor = self.find().and_then(Find::anchor);
        if let Some(anchor) = anchor {
            self.render_from(anchor.block());
            let line = self.transcript.line_of(anchor);
            let height = self.own_geometry().transcript.height.into();
            self.scroll.show(line, self.transcript.len(), height);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::block::{Answer, AnswerState, Kind};
    use crate::engine::protocol::Piece;

    #[track_caller]
    fn check(text: &str, query: &str, expect: &[Range<usize>]) {
        let mut transcript = Transcript::new(20);
        transcript.push(Kind::User, text);
        let mut find = Find::new((0, 0));
        find.set_query(query, &transcript);
        assert_eq!(
            find.blocks.first().map_or(&[][..], |block| &block.found),
            expect
        );
    }

    #[test]
    fn a_capital_finds_only_itself() {
        check("Ab ab AB", "ab", &[0..2, 3..5, 6..8]);
        check("Ab ab AB", "Ab", std::slice::from_ref(&(0..2)));
        check("straße ÄÖ äö", "äö", &[8..12, 13..17]);
        check("a.c abc", "a.c", std::slice::from_ref(&(0..3)));
        check("aaaa", "aa", &[0..2, 2..4]);
        check("abc", "", &[]);
        check("(((", "(", &[0..1, 1..2, 2..3]);
    }

    #[test]
    fn an_answer_that_streams_is_searched_as_if_it_were_whole() {
        let text = "needle in NEEDLES of nee dle needle";
        for chars in 1..8 {
            let mut transcript = Transcript::new(20);
            let state = AnswerState::Writing;
            let block = transcript.push(Kind::Assistant(Answer { model: None, state }), "");
            let mut find = Find::new((0, 0));
            find.set_query("needle", &transcript);
            let letters: Vec<char> = text.chars().collect();
            for part in letters.chunks(chars) {
                let text = part.iter().collect();
                transcript.append(
                    block,
                    &[Piece {
                        text,
                        drafter: None,
                    }],
                );
                find.search(&transcript);
            }
            assert_eq!(find.blocks[0].found, [0..6, 10..16, 29..35]);
            assert_eq!(find.count(), (1, 3));
        }
    }

    #[test]
    fn steps_go_round() {
        let mut transcript = Transcript::new(20);
        transcript.push(Kind::User, "a x a");
        transcript.push(Kind::Notice, "nothing");
        transcript.push(Kind::User, "a");
        let mut find = Find::new((0, 1));
        find.set_query("a", &transcript);
        let mut positions = vec![find.count()];
        for forward in [true, true, true, false, false] {
            find.step(forward);
            positions.push(find.count());
        }
        assert_eq!(positions, [(2, 3), (3, 3), (1, 3), (2, 3), (1, 3), (3, 3)]);
        transcript.clear();
        find.search(&transcript);
        assert_eq!(find.count(), (0, 0));
    }
}
