//! The states of the screen that are pictured and drawn at every size, each by what a user did and what the
//! engine said.

use speck::app::Msg;
use speck::engine::protocol::{Event, FinishReason};

use crate::user::{self, CODE, User, failure, fetch};

/// Brings a user at a screen of a size into a state.
pub type State = fn((u16, u16)) -> User;

const QUESTION: &str = "Write is_palindrome(s) with a docstring.";
const DRAFTED: &[usize] = &[3, 4, 2, 4, 0, 3];

pub fn asked(size: (u16, u16)) -> User {
    let mut user = User::ready(size);
    user.keys(&format!("{QUESTION}<Enter>"));
    user
}

pub fn streaming(size: (u16, u16)) -> User {
    let mut user = asked(size);
    user.stream(CODE, "draft", DRAFTED);
    user
}

pub fn fetching(size: (u16, u16)) -> User {
    let mut user = User::new(size);
    user.hear(fetch(10_000_000, Some(98_362_432)));
    user.wait(10_000);
    user.hear(fetch(42_123_456, Some(98_362_432)));
    user
}

pub fn fetching_waiting(size: (u16, u16)) -> User {
    let mut user = User::new(size);
    user.keys(&format!("{QUESTION}<Enter>"));
    user.hear(fetch(42_123_456, None));
    user.keys("and then");
    user
}

pub fn loading(size: (u16, u16)) -> User {
    let mut user = User::new(size);
    user.hear(user::loading(31_000_000));
    user
}

pub fn empty(size: (u16, u16)) -> User {
    User::ready(size)
}

pub fn prefill(size: (u16, u16)) -> User {
    let mut user = asked(size);
    user.hear(Event::Prefill {
        done: 120,
        total: 412,
    });
    user
}

/// The end of a long answer with code, lists and wide characters, in view.
pub fn long_answer(size: (u16, u16)) -> User {
    let mut user = asked(size);
    for part in 1..=6 {
        let text = format!("Part {part}.\n\n- 日本語 first\n- second 👍🏽\n\n{CODE}\n\n");
        user.stream(&text, "draft", DRAFTED);
    }
    user
}

pub fn swap_pending(size: (u16, u16)) -> User {
    let mut user = streaming(size);
    user.keys("<S-Tab>");
    user
}

pub fn slower(size: (u16, u16)) -> User {
    let mut user = asked(size);
    user.hear(Event::Strategy("lookup"));
    user.stream(CODE, "lookup", &[0]);
    user.note = Some("nothing in the context continues the last 3 tokens".to_owned());
    user.stream("So it is.", "lookup", &[2]);
    user.wait(250);
    user
}

pub fn plain(size: (u16, u16)) -> User {
    let mut user = asked(size);
    user.hear(Event::Strategy("plain"));
    user.stream(CODE, "plain", &[0]);
    user.wait(250);
    user
}

pub fn scrolled(size: (u16, u16)) -> User {
    let mut user = asked(size);
    let paragraphs = |from: usize| {
        let lines = (from..from + 20).map(|i| format!("{i}. A line of a long answer.\n"));
        lines.collect::<Vec<_>>().concat()
    };
    user.stream(&paragraphs(1), "draft", DRAFTED);
    user.keys("<PgUp>");
    user.stream(&paragraphs(21), "draft", DRAFTED);
    user
}

pub fn wide(size: (u16, u16)) -> User {
    let mut user = User::ready(size);
    user.keys("日本語で答えて 👩‍👩‍👧‍👦 e\u{301}<Enter>");
    user.stream(
            "投機的デコードは、小さなモデルが次のトークンを下書きし、大きなモデルが一度の計算でまとめて検証する方法です。速くなるとは限りません。\n👍🏽 👩‍👩‍👧‍👦 🇯🇵 한국어도 됩니다. cafe\u{301}",
            "draft",
            DRAFTED,
        );
    user.keys("入力中の文字列も長くなれば折り返されます。折り返しは文字の幅で決まります。");
    user
}

pub fn error(size: (u16, u16)) -> User {
    let mut user = asked(size);
    user.hear(failure(
            "The prompt has 9210 tokens, but the context holds 8192. Start a new conversation with /new, or allow more with --context.",
            false,
        ));
    user
}

pub fn fatal(size: (u16, u16)) -> User {
    let mut user = User::new(size);
    user.hear(failure(
            "Cannot fetch SmolLM2-135M-Instruct.Q4_1.gguf: the hub cannot be reached and pip is not installed. Download the file by hand and name it with --target.",
            true,
        ));
    user
}

pub fn help(size: (u16, u16)) -> User {
    let mut user = User::ready(size);
    user.keys("?");
    user
}

pub fn stopped(size: (u16, u16)) -> User {
    let mut user = streaming(size);
    user.keys("<C-c>");
    user.finish(FinishReason::Stopped);
    user
}

pub fn finished(size: (u16, u16)) -> User {
    let mut user = streaming(size);
    user.finish(FinishReason::EndOfTurn);
    user.keys("first line<C-j>second line");
    user
}

pub fn quit(size: (u16, u16)) -> User {
    let mut user = streaming(size);
    user.finish(FinishReason::EndOfTurn);
    user.keys("<C-t><C-c>");
    user
}

pub fn notes(size: (u16, u16)) -> User {
    let mut user = User::new(size);
    let Event::Ready(mut ready) = user::ready() else {
        unreachable!()
    };
    ready.notes = vec![
        "`draft` cannot run: the draft model's vocabulary differs from the target's at id 4711."
            .to_owned(),
    ];
    user.hear(Event::Ready(ready));
    user
}

pub fn popup(size: (u16, u16)) -> User {
    let mut user = streaming(size);
    user.keys("/<Down>");
    user
}

pub fn history(size: (u16, u16)) -> User {
    let mut user = streaming(size);
    user.keys("Explain how the sieve of Eratosthenes finds all primes below a limit.<C-c>");
    user.finish(FinishReason::EndOfTurn);
    user.keys("two<C-j>lines of a palindrome<C-c><C-r>pal");
    user
}

pub fn paste(size: (u16, u16)) -> User {
    let mut user = User::ready(size);
    user.keys("Sum up ");
    user.update(Msg::Paste("a line\n".repeat(143)));
    user.keys(" in one sentence.");
    user
}
