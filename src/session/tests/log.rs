//! A log that was cut or changed anywhere: what comes out is a prefix, and the flaw is found.

use proptest::prelude::*;

use super::*;
use crate::session::log::{Flaw, Log, NoChat, read};

fn opened(bytes: &[u8]) -> Result<Log, NoChat> {
    let log = read(bytes)?;
    assert!(log.good <= bytes.len() as u64);
    Ok(log)
}

#[test]
fn a_whole_log_gives_what_was_written() {
    let log = opened(&bytes(&sample())).unwrap();
    assert_eq!((log.records, log.flaw), (sample(), None));
}

/// Opens every cut of a log: a prefix of its records, with a flaw unless the cut is between two lines.
fn check_cuts(records: &[Record]) {
    let whole = bytes(records);
    let ends: Vec<usize> = (0..whole.len()).filter(|&i| whole[i] == b'\n').collect();
    for cut in 0..=whole.len() {
        let n_ended = ends.iter().filter(|&&end| end < cut).count();
        // A record is whole without the end of its line.
        let n_whole = n_ended + usize::from(ends.get(n_ended) == Some(&cut));
        match opened(&whole[..cut]) {
            Ok(log) => {
                assert_eq!(log.records, records[..n_whole], "cut at {cut}");
                let expect = match (n_whole > n_ended, cut == 0 || whole[cut - 1] == b'\n') {
                    (true, _) => Some(Flaw::Unended),
                    (false, true) => None,
                    (false, false) => Some(Flaw::Torn),
                };
                assert_eq!(log.flaw, expect, "cut at {cut}");
            }
            Err(_) => assert_eq!(n_whole, 0, "cut at {cut}"),
        }
    }
}

#[test]
fn every_cut_opens_to_a_prefix() {
    check_cuts(&sample());
}

#[test]
fn every_flipped_byte_is_found_and_what_stands_before_it_is_kept() {
    let whole = bytes(&sample());
    for at in 0..whole.len() {
        let line = n_lines(&whole[..at]);
        for flip in [0x01, 0x20, 0x80, 0xff, whole[at] ^ b'\n'] {
            if flip == 0 {
                continue;
            }
            let mut damaged = whole.clone();
            damaged[at] ^= flip;
            let Ok(log) = opened(&damaged) else {
                assert_eq!(line, 0, "byte {at} ^ {flip:#x}");
                continue;
            };
            assert!(log.flaw.is_some(), "byte {at} ^ {flip:#x} was not found");
            assert!(log.records.len() >= line, "byte {at} ^ {flip:#x}");
            assert_eq!(log.records, sample()[..log.records.len()]);
            // What is cut off without a copy is never a record that was written to its end.
            assert!(
                matches!(log.flaw, Some(Flaw::Damaged(..))),
                "byte {at} ^ {flip:#x}: {:?}",
                log.flaw
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn logs_of_any_texts_open_at_every_cut(texts in prop::collection::vec(any::<String>(), 1..4)) {
        let mut records = vec![header()];
        for text in &texts {
            records.extend([asked(text), partial(text), turn(text, text)]);
        }
        check_cuts(&records);
    }

    #[test]
    fn lines_that_are_swapped_doubled_or_left_out_are_found(a in 1..9_usize, b in 1..9_usize) {
        let lines: Vec<Vec<u8>> = (0..).zip(sample()).map(|(i, r)| encode(i, &r).unwrap()).collect();
        let mut swapped = lines.clone();
        swapped.swap(a, b);
        let mut doubled = lines.clone();
        doubled.insert(a, lines[b - 1].clone());
        let mut missing = lines.clone();
        missing.remove(a);
        for (changed, first) in [(swapped, a.min(b)), (doubled, a + usize::from(b - 1 == a)), (missing, a)] {
            if changed == lines {
                continue;
            }
            let log = opened(&changed.concat()).unwrap();
            prop_assert_eq!(&log.records[..], &sample()[..first]);
            prop_assert!(matches!(log.flaw, Some(Flaw::Damaged(line, _)) if line == first + 1));
        }
    }
}
