//! From a row of logits to a token.

use crate::model::Token;

/// The first of the largest logits: greedy decoding. `None` when no logit is a number above minus
/// infinity, which only a broken model gives.
pub fn argmax(row: &[f32]) -> Option<Token> {
    let mut best = f32::NEG_INFINITY;
    let mut first = None;
    for (token, &logit) in (0..).zip(row) {
        if logit > best {
            best = logit;
            first = Some(token);
        }
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_equal_maxima_wins_and_nan_never_does() {
        let check = |row: &[f32], expect| assert_eq!(argmax(row), expect, "{row:?}");
        check(&[1.0, 3.0, 3.0, 2.0], Some(1));
        check(&[f32::NAN, -5.0, f32::NAN], Some(1));
        check(&[f32::NAN], None);
        check(&[f32::NEG_INFINITY], None);
        check(&[], None);
        check(&[0.0, f32::INFINITY], Some(1));
    }
}
