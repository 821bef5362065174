//! The screen answers to the keyboard while the engine takes all cores, and more threads than there are
//! cores end no answer: the default pair in a pseudo-terminal, with one to three threads.

use std::time::{Duration, Instant};

use portable_pty::CommandBuilder;

use crate::pty::Pty;
use crate::{CTRL_C, CTRL_D, ENTER, ESC};

/// Half of the keys must be seen within this: far more than the 20 ms that speck aims at, for machines
/// that do other work too, and far less than a starved screen takes.
const HALF_WITHIN: Duration = Duration::from_millis(500);

#[test]
#[ignore = "needs the default pair: scripts/test.sh"]
fn pair_keys_are_echoed_while_an_answer_is_computed_on_one_to_three_threads() {
    let target =
        std::env::var("SPECK_TEST_TARGET").expect("SPECK_TEST_TARGET: see scripts/test.sh");
    for n_threads in 1..=3 {
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_speck"));
        let n = n_threads.to_string();
        command.args([
            "chat",
            "--target",
            &target,
            "--device",
            "cpu",
            "--threads",
            &n,
        ]);
        let mut pty = Pty::start(command, &[]);
        pty.wait_for(&format!("cpu ×{n_threads}"));
        pty.keys("Write a very long story about a lighthouse.");
        pty.wait_for("lighthouse.");
        pty.keys(ENTER);
        pty.wait_for("… writing");

        let mut waits = Vec::new();
        let mut typed = String::new();
        for key in "qzjxkvwqzjxkvwqzjxkvw".chars() {
            typed.push(key);
            let pressed = Instant::now();
            pty.keys(&key.to_string());
            pty.wait_for(&typed);
            waits.push(pressed.elapsed());
        }
        waits.sort();
        println!("{n_threads} threads: keys seen after {waits:.1?}");
        assert!(
            waits[waits.len() / 2] < HALF_WITHIN,
            "{n_threads} threads: {waits:?}"
        );

        pty.keys(ESC);
        pty.wait_for("stopped");
        pty.keys(CTRL_C);
        pty.wait_gone(&typed);
        pty.keys(CTRL_D);
        assert_eq!(pty.exit_code(), 0);
        pty.assert_restored();
    }
}
