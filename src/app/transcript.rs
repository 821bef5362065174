//! The conversation: blocks in order, and which line of the screen shows what.
//!
//! A saved chat that is opened may be long, and only its end is in view: its first blocks have no lines until
//! the view comes near ([`Transcript::render_more`]).

use crate::app::block::{Answer, Block, Kind, LineView, View};
use crate::app::highlight::{Highlighted, Job};
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

impl Anchor {
    /// Byte `byte` of block `block`.
    pub fn byte(block: usize, byte: usize) -> Self {
        Self {
            block,
            place: Place::Byte(byte),
        }
    }

    /// The index of its block.
    pub fn block(self) -> usize {
        self.block
    }
}

/// The conversation.
#[derive(Clone, Debug)]
pub struct Transcript {
    blocks: Vec<Block>,
    /// The first line of each block.
    starts: Vec<usize>,
    /// So many of the first blocks have no lines yet.
    unrendered: usize,
    view: View,
    next_id: u64,
    /// Code to be highlighted.
    jobs: Vec<Job>,
}

impl Transcript {
    /// An empty conversation whose text is set `width` columns wide.
    pub fn new(width: usize) -> Self {
        Self {
            blocks: Vec::new(),
            starts: Vec::new(),
            unrendered: 0,
            view: View {
                width,
                markdown: true,
            },
            next_id: 0,
            jobs: Vec::new(),
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
            (Some(start), Some(block)) => (start + block.height()).saturating_sub(1),
            (None, _) | (_, None) => 0,
        }
    }

    /// The lines from `first` on, each with the index of its block.
    pub fn lines(&self, first: usize) -> impl Iterator<Item = (usize, LineView<'_>)> {
        let block = self.block_at(first);
        let skip = first - self.starts.get(block).copied().unwrap_or(0);
        self.blocks
            .iter()
            .enumerate()
            .skip(block)
            .flat_map(|(at, block)| (0..block.height()).map(move |index| (at, block.line(index))))
            .skip(skip)
    }

    /// Adds a block and returns its index.
    pub fn push(&mut self, kind: Kind, text: &str) -> usize {
        let mut block = Block::new(self.next_id, kind, text, self.view);
        self.jobs.extend(block.take_job());
        self.add(block)
    }

    /// Adds a block that need not have lines before the view comes near, as long as none has, and returns its
    /// index.
    pub fn push_unrendered(&mut self, kind: Kind, text: &str) -> usize {
        if self.unrendered < self.blocks.len() {
            return self.push(kind, text);
        }
        self.unrendered += 1;
        self.add(Block::unrendered(self.next_id, kind, text))
    }

    /// How many of the first blocks have no lines yet.
    pub fn unrendered(&self) -> usize {
        self.unrendered
    }

    /// Renders the last `n` of the blocks without lines, and returns how many lines stand before the others now.
    pub fn render_more(&mut self, n: usize) -> usize {
        let end = self.unrendered;
        self.unrendered = end.saturating_sub(n);
        let mut lines = 0;
        for block in &mut self.blocks[self.unrendered..end] {
            block.render_again(self.view);
            self.jobs.extend(block.take_job());
            lines += block.height();
        }
        self.restart(self.unrendered);
        lines
    }

    fn add(&mut self, block: Block) -> usize {
        self.starts
            .push(match (self.starts.last(), self.blocks.last()) {
                (Some(start), Some(block)) => start + block.height(),
                (None, _) | (_, None) => 0,
            });
        self.next_id += 1;
        self.blocks.push(block);
        self.blocks.len() - 1
    }

    /// Appends text to block `index`.
    pub fn append(&mut self, index: usize, pieces: &[Piece]) {
        self.blocks[index].append(pieces, self.view);
        self.jobs.extend(self.blocks[index].take_job());
        self.restart(index);
    }

    /// No more text will come to block `index`.
    pub fn finish(&mut self, index: usize) {
        if let Some(block) = self.blocks.get_mut(index) {
            block.finish(self.view);
            self.jobs.extend(block.take_job());
            self.restart(index);
        }
    }

    /// The code that is to be highlighted and was not asked for before.
    pub fn take_jobs(&mut self) -> Vec<Job> {
        std::mem::take(&mut self.jobs)
    }

    /// Takes what was highlighted, if its block is still there.
    pub fn highlighted(&mut self, highlighted: &Highlighted) {
        let found = self
            .blocks
            .iter_mut()
            .rev()
            .find(|block| block.id() == highlighted.id);
        if let Some(block) = found {
            block.highlighted(&highlighted.classes);
        }
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
        self.unrendered = self.unrendered.min(index);
        self.blocks.truncate(index);
        self.starts.truncate(index);
    }

    /// Adds a block before block `index`, or at the end.
    pub fn insert(&mut self, index: usize, kind: Kind, text: &str) {
        let index = index.min(self.blocks.len());
        let mut block = Block::unrendered(self.next_id, kind, text);
        if index < self.unrendered {
            self.unrendered += 1;
        } else {
            block.render_again(self.view);
            self.jobs.extend(block.take_job());
        }
        self.next_id += 1;
        self.blocks.insert(index, block);
        self.starts.push(0);
        self.restart(index.saturating_sub(1));
    }

    /// Forgets block `index`.
    pub fn remove(&mut self, index: usize) {
        self.unrendered -= usize::from(index < self.unrendered);
        self.blocks.remove(index);
        self.starts.pop();
        self.restart(index.saturating_sub(1));
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.truncate(0);
    }

    /// How texts are shown.
    pub fn view(&self) -> View {
        self.view
    }

    /// Shows everything in another way; says whether it was another.
    pub fn set_view(&mut self, view: View) -> bool {
        if view == self.view {
            return false;
        }
        self.view = view;
        for block in &mut self.blocks[self.unrendered..] {
            block.render_again(view);
            self.jobs.extend(block.take_job());
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
                Some(line) => Place::Byte(line.start),
                None => Place::After(body - block.lines().len()),
            },
        };
        Some(Anchor {
            block: index,
            place,
        })
    }

    /// The block and the byte that `line` shows.
    pub fn position(&self, line: usize) -> (usize, usize) {
        match self.anchor(line) {
            None => (0, 0),
            Some(Anchor { block, place }) => match place {
                Place::Heading => (block, 0),
                Place::Byte(byte) => (block, byte),
                Place::After(_) => (block + 1, 0),
            },
        }
    }

    /// The line that shows the place, at the width of now.
    pub fn line_of(&self, anchor: Anchor) -> usize {
        let Some(block) = self.blocks.get(anchor.block) else {
            return 0;
        };
        let body = self.starts[anchor.block] + usize::from(block.kind.has_heading());
        match anchor.place {
            Place::Heading => self.starts[anchor.block],
            Place::Byte(byte) => body + block.line_of(byte),
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
mod tests;
