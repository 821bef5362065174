//! Any reads of a terminal: never a crash, and after a pause Ctrl-C is heard.
#![no_main]

use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use libfuzzer_sys::fuzz_target;
use speck::terminal::input::{Decoder, Input};

fuzz_target!(|reads: Vec<Vec<u8>>| {
    let mut decoder = Decoder::new(false);
    let now = Instant::now();
    for read in reads {
        decoder.push(&read, now);
    }
    let later = now + Duration::from_secs(1);
    decoder.expire(later);
    let ctrl_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    let inputs = decoder.push(b"\x03", later);
    assert_eq!(inputs.last(), Some(&Input::Key(ctrl_c)));
    assert_eq!(decoder.deadline(), None);
});
