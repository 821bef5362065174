//! Plain decoding: no draft, one token per pass. The baseline that the others are measured against.

use super::Strategy;
use crate::cancel::Cancel;
use crate::model::{PassError, Token};

pub(super) const NAME: &str = "plain";

/// Drafts nothing.
pub struct Plain;

impl Strategy for Plain {
    fn name(&self) -> &'static str {
        NAME
    }

    fn begin(&mut self, _committed: &[Token]) {}

    fn draft(&mut self, _: &[Token], _: usize, _: &Cancel) -> Result<Vec<Token>, PassError> {
        Ok(Vec::new())
    }
}
