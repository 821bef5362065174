//! What `/copy` copies: an answer as Markdown, or its last code block.

use crate::app::block::{Block, Kind};
use crate::app::transcript::Transcript;

/// A text to copy, and what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copy {
    /// The text.
    pub text: String,
    /// What it is, for people: `the last answer`.
    pub what: String,
}

/// What `argument` asks for: nothing (the last answer), a number (that many answers back, 1 is the last) or
/// `code` (the last code block of the last answer). An error says what there is.
pub(super) fn find(transcript: &Transcript, argument: &str) -> Result<Copy, String> {
    let answers: Vec<&str> = transcript
        .blocks()
        .iter()
        .rev()
        .filter_map(answer)
        .collect();
    let back = match argument {
        "" | "code" => 1,
        number => match number.parse() {
            Ok(back @ 1..) => back,
            Ok(0) | Err(_) => {
                return Err(format!(
                    "/copy takes a number (1 is the last answer) or `code`, not `{number}`"
                ));
            }
        },
    };
    let Some(answer) = answers.get(back - 1_usize) else {
        return Err(match answers.len() {
            0 => "there is no answer to copy yet".to_owned(),
            1 => "there is one answer only".to_owned(),
            n => format!("there are {n} answers only"),
        });
    };
    if argument == "code" {
        let text = last_code_block(answer).ok_or("the last answer has no code block")?;
        let what = "the last code block".to_owned();
        return Ok(Copy { text, what });
    }
    Ok(Copy {
        text: (*answer).to_owned(),
        what: match back {
            1 => "the last answer".to_owned(),
            _ => format!("answer {back} from the end"),
        },
    })
}

/// The text of an answer that has one.
fn answer(block: &Block) -> Option<&str> {
    match block.kind {
        Kind::Assistant(_) => Some(block.text()).filter(|text| !text.trim().is_empty()),
        Kind::User | Kind::Notice | Kind::Error => None,
    }
}

/// The lines inside the last fence of backticks or tildes; it may be open, in an answer that was stopped.
fn last_code_block(text: &str) -> Option<String> {
    let mut last: Option<String> = None;
    let mut open: Option<(&str, usize)> = None;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim();
        let mark = ["`", "~"]
            .into_iter()
            .find(|mark| trimmed.starts_with(mark));
        let length = mark.map_or(0, |mark| {
            trimmed.len() - trimmed.trim_start_matches(mark).len()
        });
        match (open, mark) {
            (None, Some(mark)) if length >= 3 && !trimmed[length..].contains('`') => {
                open = Some((mark, length));
                last = Some(String::new());
            }
            (Some((with, at_least)), Some(mark))
                if mark == with && length >= at_least && length == trimmed.len() =>
            {
                open = None;
            }
            (Some(_), _) => last.get_or_insert_default().push_str(line),
            (None, _) => {}
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::block::{Answer, AnswerState};

    fn transcript(answers: &[&str]) -> Transcript {
        let mut transcript = Transcript::new(80);
        for text in answers {
            transcript.push(Kind::User, "question");
            let answer = Answer {
                model: None,
                state: AnswerState::Writing,
            };
            transcript.push(Kind::Assistant(answer), text);
            transcript.push(Kind::Notice, "note");
        }
        transcript
    }

    #[track_caller]
    fn check(answers: &[&str], argument: &str, expect: Result<(&str, &str), &str>) {
        match (find(&transcript(answers), argument), expect) {
            (Ok(copy), Ok(expect)) => assert_eq!((&*copy.text, &*copy.what), expect),
            (Err(why), Err(expect)) => assert!(why.contains(expect), "{why}"),
            (found, expect) => panic!("{found:?}, not {expect:?}"),
        }
    }

    #[test]
    fn answers_are_counted_from_the_end() {
        let answers = ["**one**", "", "two"];
        check(&answers, "", Ok(("two", "the last answer")));
        check(&answers, "1", Ok(("two", "the last answer")));
        check(&answers, "2", Ok(("**one**", "answer 2 from the end")));
        check(&answers, "3", Err("there are 2 answers only"));
        check(&answers, "0", Err("or `code`, not `0`"));
        check(&answers, "all", Err("or `code`, not `all`"));
        check(
            &answers,
            "99999999999999999999",
            Err("/copy takes a number"),
        );
        check(&answers, "code", Err("no code block"));
        check(&[], "", Err("no answer to copy yet"));
        check(&["one"], "2", Err("one answer only"));
    }

    #[test]
    fn the_last_code_block() {
        let check = |text, expect: Option<&str>| {
            assert_eq!(last_code_block(text).as_deref(), expect, "{text}");
        };
        check("a\n```rust\nfn a() {}\n\n```\nb", Some("fn a() {}\n\n"));
        check("```\na\n```\n~~~\nb\n```\nc\n~~~", Some("b\n```\nc\n"));
        check("````\n```\na\n```\n````", Some("```\na\n```\n"));
        check("```\nstopped in the mid", Some("stopped in the mid"));
        check("```\n```", Some(""));
        check("``` a ``` is inline", None);
        check("no code", None);
    }
}
