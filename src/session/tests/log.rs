//! A log that was cut or changed anywhere: what comes out is what was written, without a gap but for a
//! damaged beginning, and every flaw is found.

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
    assert_eq!((log.records, log.flaws), (sample(), Vec::new()));
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
                assert_eq!(log.flaws, Vec::from_iter(expect), "cut at {cut}");
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
            let log = opened(&damaged).unwrap();
            if line == 0 {
                check_headless(&log, &sample());
                continue;
            }
            assert!(log.records.len() >= line, "byte {at} ^ {flip:#x}");
            assert_eq!(log.records, sample()[..log.records.len()]);
            // What is cut off without a copy is never a record that was written to its end.
            assert!(
                matches!(log.flaws[..], [Flaw::Damaged(..)]),
                "byte {at} ^ {flip:#x}: {:?}",
                log.flaws
            );
        }
    }
}

/// All but the beginning of `whole` is there, under a header that is made up.
#[track_caller]
fn check_headless(log: &Log, whole: &[Record]) {
    let [Flaw::Headless(n)] = log.flaws[..] else {
        panic!("{:?}", log.flaws)
    };
    assert!((1..3).contains(&n), "{n}");
    assert!(matches!(&log.records[0], Record::Header(header) if header.settings.time == time()));
    assert_eq!(log.records[1..], whole[n as usize..]);
    assert_eq!(log.next, whole.len() as u64);
}

#[test]
fn a_damaged_beginning_leaves_the_rest() {
    let lines: Vec<Vec<u8>> = (0..)
        .zip(sample())
        .map(|(i, r)| encode(i, &r).unwrap())
        .collect();
    let read = |beginning: &[u8]| opened(&[beginning, &lines[2..].concat()].concat());
    for beginning in [
        &b""[..],
        b"\n",
        b"\0\0\0\0\n",
        b"a\nb\nc\nd\n",
        &lines[1][9..],
        &lines[0][..9],
    ] {
        let log = read(beginning).unwrap();
        let n = if beginning.starts_with(b"{") { 3 } else { 2 };
        assert_eq!(log.flaws, [Flaw::Headless(n)], "{beginning:?}");
        assert_eq!(log.records[1..], sample()[n as usize..], "{beginning:?}");
    }
    // The end may be damaged too.
    let log = read(&[b"\n", &lines[2][..]].concat()).unwrap();
    assert!(
        matches!(log.flaws[..], [Flaw::Headless(2), Flaw::Damaged(3, _)]),
        "{:?}",
        log.flaws
    );
    let damaged = log.flaws[0].to_string();
    assert!(
        damaged.contains("first 2 records") && damaged.contains("system prompt"),
        "{damaged}"
    );
}

#[test]
fn a_record_of_a_later_speck_is_passed_over() {
    let line = |seq: usize| {
        line_of(&format!(
            "\"seq\":{seq},\"record\":{{\"poem\":{{\"lines\":[1,2]}}}}}}"
        ))
    };
    let records = sample();
    for at in 1..=records.len() {
        let mut lines: Vec<Vec<u8>> = Vec::new();
        for (i, record) in records.iter().enumerate() {
            if i == at {
                lines.push(line(i));
            }
            lines.push(encode((i + usize::from(i >= at)) as u64, record).unwrap());
        }
        if at == records.len() {
            lines.push(line(at));
        }
        let log = opened(&lines.concat()).unwrap();
        assert_eq!(
            (log.records, log.flaws),
            (records.clone(), Vec::new()),
            "{at}"
        );
        assert_eq!(log.next, records.len() as u64 + 1);
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
            prop_assert!(matches!(log.flaws[..], [Flaw::Damaged(line, _)] if line == first + 1));
        }
    }
}
