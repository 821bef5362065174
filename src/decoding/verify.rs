//! Verify: accept drafted tokens while the target's own choice equals them.
//!
//! For a drafter that proposes one token at a time with certainty this is the same law as rejection
//! sampling (Leviathan et al. 2023, arXiv 2211.17192), so **the text is what the target alone writes**.

use crate::model::{Logits, Token};

/// What became of a draft.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Drafted tokens that were judged: all of them, unless the answer ended before.
    pub n_verified: usize,
    /// Drafted tokens that the target chose too.
    pub n_accepted: usize,
    /// Whether the last emitted token ends the answer.
    pub ended: bool,
}

/// Judges `drafted` by the rows of one pass over the last committed token and the draft, and appends
/// what the target chose to `committed`: the accepted tokens and the target's own next one.
///
/// `pick` chooses from a row, given the tokens before it; `None` means that the row holds no numbers:
/// then nothing is appended. `ends` is told each token that is emitted, in order, and says after which
/// nothing more is.
pub fn verify(
    committed: &mut Vec<Token>,
    drafted: &[Token],
    logits: &Logits,
    mut pick: impl FnMut(&[f32], &[Token]) -> Option<Token>,
    mut ends: impl FnMut(Token) -> bool,
) -> Option<Verified> {
    assert_eq!(
        logits.rows(),
        drafted.len() + 1,
        "a row for the last committed token and each drafted one"
    );
    let start = committed.len();
    let mut n_accepted = 0;
    loop {
        let Some(token) = pick(logits.row(n_accepted), committed) else {
            committed.truncate(start);
            return None;
        };
        committed.push(token);
        let accepted = drafted.get(n_accepted) == Some(&token);
        if ends(token) {
            let judged = (n_accepted + 1).min(drafted.len());
            n_accepted += usize::from(accepted);
            return Some(Verified {
                n_verified: judged,
                n_accepted,
                ended: true,
            });
        }
        if !accepted {
            return Some(Verified {
                n_verified: drafted.len(),
                n_accepted,
                ended: false,
            });
        }
        n_accepted += 1;
    }
}

#[cfg(test)]
mod tests;
