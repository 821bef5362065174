//! A small model drafts, greedily (Leviathan et al. 2023, arXiv 2211.17192; Chen et al. 2023,
//! arXiv 2302.01318).

use super::{Drafter, Strategy};
use crate::cancel::Cancel;
use crate::model::{PassError, Token};

pub(super) const NAME: &str = "draft";

/// Drafts a fixed number of tokens with a draft model.
pub struct DraftModel {
    drafter: Drafter,
    length: usize,
}

impl DraftModel {
    /// Drafts `length` tokens a round with `drafter`.
    pub fn new(drafter: Drafter, length: usize) -> Self {
        Self { drafter, length }
    }
}

impl Strategy for DraftModel {
    fn name(&self) -> &'static str {
        NAME
    }

    fn begin(&mut self, _committed: &[Token]) {}

    fn draft(
        &mut self,
        committed: &[Token],
        limit: usize,
        cancel: &Cancel,
    ) -> Result<Vec<Token>, PassError> {
        let length = self.length.min(limit);
        self.drafter
            .draft(committed, length, cancel, &mut |_, _| true)
    }
}
