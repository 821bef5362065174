//! Any bytes as a saved chat: an error, or a prefix that is written back the same, never a crash.
#![no_main]

use libfuzzer_sys::fuzz_target;
use speck::session::Conversation;
use speck::session::log::read;
use speck::session::record::encode;

fuzz_target!(|bytes: &[u8]| {
    let Ok(log) = read(bytes) else { return };
    assert!(!log.records.is_empty() && log.good <= bytes.len() as u64);
    for (record, seq) in log.records.iter().zip(0..) {
        assert!(encode(seq, record).is_some());
    }
    assert!(Conversation::new(log.records).is_some());
});
