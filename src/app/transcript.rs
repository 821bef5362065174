//! The conversation: blocks in order, and which line of the screen shows what.

use crate::app::block::{Answer, Block, Kind, LineView};
use crate::engine::protocol::Piece;

/// A place in the conversation that survives wrapping it anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchor {
    block: usize,
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Heading,
    Byte(usize),
    /// Lines after the text.
    After(usize),
}

/// The conversation.
#[derive(Clone, Debug)]
pub struct Transcript {
    blocks: Vec<Block>,
    /// The first line of each block.
    starts: Vec<usize>,
    width: usize,
}

impl Transcript {
    /// An empty conversation whose text is set `width` columns wide.
    pub fn new(width: usize) -> Self {
        Self {
            blocks: Vec::new(),
            starts: Vec::new(),
            width,
        }
    }

    /// Whether there is nothing to show.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Whether nobody has asked or answered anything: at most notes and errors are there.
    pub fn is_unused(&self) -> bool {
        self.blocks.iter().all(|block| match block.kind {
            Kind::User | Kind::Assistant(_) => false,
            Kind::Notice | Kind::Error => true,
        })
    }

    /// The blocks in order.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Lines in all, without the space after the last block.
    pub fn len(&self) -> usize {
        match (self.starts.last(), self.blocks.last()) {
            (Some(start), Some(block)) => start + block.height() - 1,
            (None, _) | (_, None) => 0,
        }
    }

    /// The lines from `first` on.
    pub fn lines(&self, first: usize) -> impl Iterator<Item = LineView<'_>> {
        let block = self.block_at(first);
        let skip = first - self.starts.get(block).copied().unwrap_or(0);
        self.blocks[block.min(self.blocks.len())..]
            .iter()
            .flat_map(|block| (0..block.height()).map(|index| block.line(index)))
            .skip(skip)
    }

    /// Adds a block and returns its index.
    pub fn push(&mut self, kind: Kind, text: &str) -> usize {
        self.starts
            .push(match (self.starts.last(), self.blocks.last()) {
                (Some(start), Some(block)) => start + block.height(),
                (None, _) | (_, None) => 0,
            });
        self.blocks.push(Block::new(kind, text, self.width));
        self.blocks.len() - 1
    }

    /// Appends text to block `index`.
    pub fn append(&mut self, index: usize, pieces: &[Piece]) {
        self.blocks[index].append(pieces, self.width);
        self.restart(index);
    }

    /// The answer in block `index`, to change its state.
    pub fn answer_mut(&mut self, index: usize) -> Option<&mut Answer> {
        match &mut self.blocks.get_mut(index)?.kind {
            Kind::Assistant(answer) => Some(answer),
            Kind::User | Kind::Notice | Kind::Error => None,
        }
    }

    /// Forgets block `index` and all after it.
    pub fn truncate(&mut self, index: usize) {
        self.blocks.truncate(index);
        self.starts.truncate(index);
    }

    /// Adds a block before block `index`, or at the end.
    pub fn insert(&mut self, index: usize, kind: Kind, text: &str) {
        let index = index.min(self.blocks.len());
        self.blocks
            .insert(index, Block::new(kind, text, self.width));
        self.starts.push(0);
        self.restart(index.saturating_sub(1));
    }

    /// Forgets block `index`.
    pub fn remove(&mut self, index: usize) {
        self.blocks.remove(index);
        self.starts.pop();
        self.restart(index.saturating_sub(1));
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.blocks.clear();
        self.starts.clear();
    }

    /// Wraps everything to another width; says whether it was another.
    pub fn set_width(&mut self, width: usize) -> bool {
        if width == self.width {
            return false;
        }
        self.width = width;
        for block in &mut self.blocks {
            block.wrap_again(width);
        }
        self.restart(0);
        true
    }

    /// The place that `line` shows.
    pub fn anchor(&self, line: usize) -> Option<Anchor> {
        let index = self.block_at(line);
        let block = self.blocks.get(index)?;
        let heading = usize::from(block.kind.has_heading());
        let place = match (line - self.starts[index]).checked_sub(heading) {
            None => Place::Heading,
            Some(body) => match block.lines().get(body) {
                Some(line) => Place::Byte(line.line.range.start),
                None => Place::After(body - block.lines().len()),
            },
        };
        Some(Anchor {
            block: index,
            place,
        })
    }

    /// The line that shows the place, at the width of now.
    pub fn line_of(&self, anchor: Anchor) -> usize {
        let Some(block) = self.blocks.get(anchor.block) else {
            return 0;
        };
        let body = self.starts[anchor.block] + usize::from(block.kind.has_heading());
        match anchor.place {
            Place::Heading => self.starts[anchor.block],
            Place::Byte(byte) => {
                let after = block
                    .lines()
                    .partition_point(|line| line.line.range.start <= byte);
                body + after.saturating_sub(1)
            }
            Place::After(lines) => body + block.lines().len() + lines,
        }
    }

    fn block_at(&self, line: usize) -> usize {
        self.starts
            .partition_point(|start| *start <= line)
            .saturating_sub(1)
    }

    /// Counts the lines anew from block `index` on.
    fn restart(&mut self, index: usize) {
        for next in index + 1..self.blocks.len() {
            self.starts[next] = self.starts[next - 1] + self.blocks[next - 1].height();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::block::AnswerState;

    fn piece(text: &str, drafted: bool) -> Piece {
        Piece {
            text: text.to_owned(),
            drafted,
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
            .map(|line| match line {
                LineView::Heading(_) => "#".to_owned(),
                LineView::Body(block, line, _) => block.text()[line.line.range.clone()].to_owned(),
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
        let expect = ["#", "one two ", "three", "", "#", "=", "", "note", ""];
        assert_eq!(shown(&transcript, 0), expect);
        assert_eq!(transcript.len(), expect.len() - 1);
        for first in 0..expect.len() {
            assert_eq!(shown(&transcript, first), expect[first..]);
        }
    }

    #[test]
    fn appending_equals_wrapping_the_whole() {
        let text = "Here is code:\n```python\ndef f(x):\n    return x + x + x\n```\nand 日本語 some more words";
        for cut in 1..6 {
            let mut streamed = Transcript::new(12);
            let index = streamed.push(answer(), "");
            let chars: Vec<char> = text.chars().collect();
            for (i, chunk) in chars.chunks(cut).enumerate() {
                streamed.append(
                    index,
                    &[piece(&chunk.iter().collect::<String>(), i % 2 == 0)],
                );
            }
            let mut whole = Transcript::new(12);
            whole.push(answer(), text);
            assert_eq!(streamed.blocks[0].lines(), whole.blocks[0].lines());
            assert_eq!(streamed.len(), whole.len());
        }
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
        transcript.set_width(24);
        let shown = shown(&transcript, transcript.line_of(anchor));
        assert!(shown[0].contains("five"), "{shown:?}");
        transcript.set_width(10);
        assert_eq!(transcript.line_of(anchor), line);
    }
}
