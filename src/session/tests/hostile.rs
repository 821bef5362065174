//! Files that were made to do harm: an error that says what is wrong, at once and in little memory.

use std::io::{BufReader, Read, repeat};

use super::*;
use crate::session::log::{Flaw, NoChat, read};

/// A file that begins well and goes on with `rest` ends there, for a reason that has `part`.
#[track_caller]
fn check(rest: &[u8], part: &str) {
    let start = bytes(&sample()[..2]);
    let log = read(&[&start, rest].concat()[..]).unwrap();
    assert_eq!(log.records, sample()[..2]);
    assert_eq!(log.good, start.len() as u64);
    match &log.flaws[..] {
        [Flaw::Damaged(3, why)] => assert!(why.contains(part), "{why}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn lines_that_are_no_records_end_the_chat_there() {
    check(b"\n", "checksum");
    check(b"hello\n", "checksum");
    check(b"\xff\xfe\0\n", "checksum");
    check(b"{\"crc\":\"00000000\",\"seq\":2}\n", "checksum");
    let upper = String::from_utf8(encode(2, &partial("x")).unwrap()).unwrap();
    check(upper.to_uppercase().as_bytes(), "checksum");
    check(&line_of("}"), "no record");
    check(&line_of("\"seq\":2,\"record\":{\"asked\":7}}"), "no record");
    check(
        &line_of("\"seq\":3,\"record\":{\"unknown\":{}}}"),
        "number 3, not 2",
    );
    check(
        &line_of("\"seq\":2,\"record\":{\"a\":{},\"b\":{}}}"),
        "no record",
    );
    check(&line_of("\"seq\":2,\"record\":{}}"), "no record");
    check(&line_of("\"seq\":2,\"record\":\"unknown\"}"), "no record");
    check(
        &line_of("\"seq\":-1,\"record\":{\"partial\":{\"text\":\"\"}}}"),
        "no record",
    );
    check(
        &line_of("\"seq\":2.5,\"record\":{\"partial\":{\"text\":\"\"}}}"),
        "no record",
    );
    check(
        &line_of("\"seq\":2,\"record\":{\"partial\":{\"text\":[]}}}"),
        "no record",
    );
    check(
        &line_of("\"seq\":2,\"record\":{\"partial\":{\"text\":\"\u{1b}[2J\"}}}"),
        "no record",
    );
    check(
        &line_of("\"seq\":2,\"record\":{\"partial\":{\"text\":\"\\ud800\"}}}"),
        "no record",
    );
    check(
        &line_of("\"seq\":2,\"record\":{\"partial\":{\"text\":\"\"}}} {}"),
        "no record",
    );
    check(&encode(1, &partial("again")).unwrap(), "number 1, not 2");
    check(&encode(u64::MAX, &partial("x")).unwrap(), "not 2");
    check(&encode(2, &header()).unwrap(), "header");
    let deep = format!(
        "\"x\":{}1{},\"seq\":2}}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    check(&line_of(&deep), "no record");
    let time = "\"seq\":2,\"record\":{\"asked\":{\"time\":\"99999-13-77\",\"text\":\"\"}}}";
    check(&line_of(time), "no record");
}

#[test]
fn files_that_are_no_chats_are_refused() {
    let check = |bytes: &[u8], expect: &str| {
        let error = read(bytes).unwrap_err().to_string();
        assert!(error.contains(expect), "{error}");
    };
    check(b"", "empty");
    check(b"GGUF\x03\0\0\0", "does not begin");
    check(b"{}\n{}\n", "does not begin");
    check(&bytes(&[partial("first")]), "does not begin");
    check(
        &line_of("\"seq\":0,\"record\":{\"header\":{}}}"),
        "does not begin",
    );
    let far = format!(
        "\"seq\":{},\"record\":{{\"partial\":{{\"text\":\"\"}}}}}}",
        u64::MAX
    );
    check(&line_of(&far), "does not begin");
    let later = line_of("\"seq\":0,\"record\":{\"header\":{\"version\":2,\"news\":[]}}}");
    check(&later, "format 2");
    check(&[later, b"anything".to_vec()].concat(), "format 2");
}

#[test]
fn an_endless_line_is_given_up_at_the_limit() {
    let start = bytes(&sample()[..2]);
    let endless = BufReader::new(start.chain(repeat(b'a')));
    match &read(endless).unwrap().flaws[..] {
        [Flaw::Damaged(3, why)] => assert!(why.contains("longer than"), "{why}"),
        other => panic!("{other:?}"),
    }
    assert!(matches!(
        read(BufReader::new(repeat(b'{'))),
        Err(NoChat::NoHeader)
    ));
    let giant = "x".repeat(crate::session::record::MAX_LINE);
    assert_eq!(encode(0, &partial(&giant)), None, "and never written");
}
