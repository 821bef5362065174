//! The engine with the scripted pair: what its front ends are told, in which order.

use super::protocol::*;
use super::*;
use crate::config::sampling::Seed;
use crate::model::device::DeviceChoice;
use crate::model::pair::DraftChoice;
use crate::model::registry::Reference;

pub(super) fn settings(strategy: &'static str) -> Settings {
    Settings {
        strategy,
        options: Options {
            draft_length: 4,
            max_tokens: 400,
            ..Options::default()
        },
        cache: None,
    }
}

pub(super) fn scripted(context: usize) -> LoadSettings {
    LoadSettings {
        target: Reference::Scripted,
        draft: DraftChoice::Auto,
        context,
        device: DeviceChoice::Cpu,
        n_threads: 0,
        offline: true,
    }
}

/// An engine and what it has said.
struct Session {
    handle: Handle,
}

/// What one message brought.
#[derive(Default)]
struct Answer {
    text: String,
    rounds: Vec<Round>,
    strategies: Vec<&'static str>,
    end: Option<Result<Finished, Failure>>,
}

impl Session {
    fn start(strategy: &'static str, context: usize) -> (Self, Ready) {
        Self::start_with(settings(strategy), context)
    }

    fn start_with(settings: Settings, context: usize) -> (Self, Ready) {
        let mut session = Self {
            handle: start(scripted(context), None, settings),
        };
        let ready = session.until(|event| match event {
            Event::Ready(ready) => Some(ready),
            _ => None,
        });
        (session, ready)
    }

    fn until<T>(&mut self, mut found: impl FnMut(Event) -> Option<T>) -> T {
        loop {
            let event = self.handle.events.blocking_recv().expect("the engine runs");
            if let Some(found) = found(event) {
                return found;
            }
        }
    }

    fn tell(&self, command: Command) {
        self.handle.commands.send(command).expect("the engine runs");
    }

    /// Sends `text`; `during(rounds so far, cancel)` may act after each round.
    fn ask(&mut self, text: &str, mut during: impl FnMut(&Self, usize, &Cancel)) -> Answer {
        let cancel = Cancel::new();
        self.tell(Command::Send {
            text: text.into(),
            cancel: cancel.clone(),
            pasted: Vec::new(),
        });
        let mut answer = Answer::default();
        while answer.end.is_none() {
            match self.handle.events.blocking_recv().expect("the engine runs") {
                Event::Round(round) => {
                    answer.text += &round.text();
                    answer.rounds.push(round);
                    during(self, answer.rounds.len(), &cancel);
                }
                Event::Strategy(name) => answer.strategies.push(name),
                Event::Finished(finished) => {
                    answer.text += &finished.rest;
                    answer.end = Some(Ok(finished));
                }
                Event::Failed(failure) => answer.end = Some(Err(failure)),
                Event::Prefill { .. } | Event::Baseline(_) => {}
                event => panic!("unexpected {event:?}"),
            }
        }
        answer
    }
}

impl Answer {
    fn finished(&self) -> &Finished {
        self.end.as_ref().unwrap().as_ref().unwrap()
    }

    fn failure(&self) -> &Failure {
        self.end.as_ref().unwrap().as_ref().unwrap_err()
    }
}

const QUESTION: &str = "one two three four five six seven eight";

#[test]
fn every_strategy_writes_the_same_and_is_named() {
    let mut texts = Vec::new();
    for name in crate::strategy::names() {
        let (mut session, ready) = Session::start(name, 0);
        assert_eq!(ready.strategy, name);
        assert!(ready.notes[0].contains("fake"));
        let answer = session.ask(QUESTION, |_, _, _| {});
        assert_eq!(answer.finished().reason, FinishReason::EndOfTurn);
        let emitted: usize = answer.rounds.iter().map(|round| round.n_emitted).sum();
        assert_eq!(emitted, answer.finished().answer_tokens);
        assert!(
            answer
                .rounds
                .iter()
                .all(|round| round.strategy == name && round.note.is_none())
        );
        let used = answer.finished().prompt_tokens + emitted;
        assert_eq!(answer.rounds.last().unwrap().context_used, used);
        texts.push(answer.text);
    }
    assert!(
        texts[0].ends_with(QUESTION) && texts[0].contains("Once more"),
        "{}",
        texts[0]
    );
    assert!(texts.iter().all(|text| text == &texts[0]));
}

/// Asks with stop strings; whatever drafts, the text ends before the first of them, and the statistics and
/// the context with the token that completes it.
fn check_stop(stop: &[&str], max_tokens: usize, text: &str, reason: FinishReason) {
    let mut tokens = Vec::new();
    for name in crate::strategy::names() {
        let mut settings = settings(name);
        settings.options.sampling.stop = stop.iter().map(|&stop| stop.to_owned()).collect();
        settings.options.max_tokens = max_tokens;
        let (mut session, _) = Session::start_with(settings, 0);
        let answer = session.ask(QUESTION, |_, _, _| {});
        assert_eq!(answer.text, text, "{stop:?}, {name}");
        let finished = answer.finished();
        assert_eq!(finished.reason, reason, "{stop:?}, {name}");
        let emitted: usize = answer.rounds.iter().map(|round| round.n_emitted).sum();
        assert_eq!(finished.answer_tokens, emitted);
        let used = finished.prompt_tokens + emitted;
        assert_eq!(answer.rounds.last().unwrap().context_used, used);
        tokens.push(emitted);
    }
    assert!(tokens.iter().all(|n| n == &tokens[0]), "{tokens:?}");
}

#[test]
fn a_stop_string_ends_text_statistics_and_context_at_one_token() {
    let all = format!(
        "You wrote:\n\n{QUESTION}\n\nOnce more, so that there is something to copy:\n\n{QUESTION}"
    );
    let before = |stop: &str| &all[..all.find(stop).unwrap()];
    let stopped = FinishReason::StopString;
    // Inside a token, across tokens, the first of two, and one that begins like the text before it.
    for stop in ["hree", "eight\n\nOnce more, so", "\n\nOnce", "Y"] {
        check_stop(&[stop], 400, before(stop), stopped);
    }
    check_stop(&["copy", "four", "four five"], 400, before("four"), stopped);
    // Held back to the end, and then shown after all.
    let end = FinishReason::EndOfTurn;
    check_stop(&["seven eight!"], 400, &all, end);
    check_stop(&[&format!("{all}!")], 400, &all, end);
    check_stop(&["You wrote: no"], 2, "You wrote", FinishReason::MaxTokens);
}

#[test]
fn a_character_whose_rest_is_cut_off_is_left_out() {
    let texts: Vec<_> = (1..16)
        .map(|max_tokens| {
            let mut settings = settings("plain");
            settings.options.max_tokens = max_tokens;
            let (mut session, _) = Session::start_with(settings, 0);
            session.ask("🦀🦑🦞", |_, _, _| {}).text
        })
        .collect();
    let all = "You wrote:\n\n🦀🦑🦞";
    for text in &texts {
        assert!(
            all.starts_with(text.as_str()) || text.starts_with(all),
            "{text:?}"
        );
    }
    // A character of several tokens: some budgets end inside it.
    assert!(texts.windows(2).any(|pair| pair[0] == pair[1]), "{texts:?}");
}

#[test]
fn sampled_answers_follow_from_the_seed_and_say_it() {
    let answer = |strategy, seed| {
        let mut settings = settings(strategy);
        settings.options.max_tokens = 60;
        settings.options.sampling.temperature = 3.0;
        settings.options.sampling.seed = Seed::Fixed(seed);
        let (mut session, ready) = Session::start_with(settings, 0);
        let info = SamplingInfo {
            temperature: 3.0,
            seed: seed.into(),
        };
        assert_eq!(ready.sampling(), Some(info));
        let answer = session.ask(QUESTION, |_, _, _| {});
        assert_eq!(answer.finished().sampling, Some(info));
        answer.text
    };
    let texts: Vec<_> = crate::strategy::names()
        .map(|name| answer(name, 5))
        .collect();
    assert!(texts.iter().all(|text| text == &texts[0]), "{texts:?}");
    assert_ne!(texts[0], answer("plain", 6));
}

#[test]
fn a_swap_in_the_middle_takes_effect_at_the_next_round() {
    let (mut session, _) = Session::start("plain", 0);
    let answer = session.ask(QUESTION, |session, rounds, _| {
        if rounds == 3 {
            session.tell(Command::SetStrategy("draft"));
        }
    });
    assert_eq!(answer.strategies, ["draft"]);
    let names: Vec<_> = answer.rounds.iter().map(|round| round.strategy).collect();
    assert_eq!((names[0], *names.last().unwrap()), ("plain", "draft"));
    assert!(names.is_sorted_by(|a, b| a >= b), "{names:?}");
    assert!(answer.rounds.iter().any(|round| round.n_accepted > 0));
}

#[test]
fn auto_explains_its_rounds_and_nobody_else_does() {
    let (mut session, _) = Session::start("auto", 0);
    let answer = session.ask(QUESTION, |session, rounds, _| {
        let swaps = [(3, "draft"), (5, "auto")];
        for (_, name) in swaps.iter().filter(|(at, _)| *at == rounds) {
            session.tell(Command::SetStrategy(name));
        }
    });
    assert_eq!(answer.strategies, ["draft", "auto"]);
    for round in &answer.rounds {
        let explained = round.explanation.as_ref().map(|chosen| chosen.length);
        let expect = (round.strategy == "auto").then_some(round.n_drafted);
        assert_eq!(explained, expect, "{round:?}");
    }
}

#[test]
fn a_stop_keeps_what_is_there_and_the_next_turn_reuses_it() {
    let (mut session, _) = Session::start("plain", 0);
    let stopped = session.ask(QUESTION, |_, rounds, cancel| {
        if rounds == 5 {
            cancel.cancel();
        }
    });
    assert_eq!(stopped.finished().reason, FinishReason::Stopped);
    assert!(stopped.finished().answer_tokens >= 5);
    let next = session.ask("again", |_, _, _| {});
    assert!(next.finished().reused_tokens > stopped.finished().prompt_tokens);
    assert!(next.text.ends_with("again"));
}

#[test]
fn a_reset_forgets_the_conversation() {
    let (mut session, _) = Session::start("plain", 0);
    let first = session.ask("hello", |_, _, _| {});
    session.tell(Command::Reset);
    let second = session.ask("hello", |_, _, _| {});
    assert_eq!(
        first.finished().prompt_tokens,
        second.finished().prompt_tokens
    );
    assert_eq!(second.finished().reused_tokens, 0);
}

#[test]
fn a_failure_or_a_panic_ends_the_answer_only() {
    for (text, expect) in [
        ("please fail", "told to fail"),
        ("please panic", "a bug in speck"),
    ] {
        let (mut session, _) = Session::start("draft", 0);
        let failed = session.ask(text, |_, _, _| {});
        assert!(
            failed.failure().message.contains(expect),
            "{}",
            failed.failure().message
        );
        assert!(!failed.failure().fatal);
        let next = session.ask("hello", |_, _, _| {});
        assert!(next.text.ends_with("hello"));
    }
}

#[test]
fn a_prompt_that_does_not_fit_is_refused_with_what_to_do() {
    let (mut session, _) = Session::start("plain", 128);
    let refused = session.ask(&"word ".repeat(200), |_, _, _| {});
    assert!(
        refused.failure().message.contains("--context"),
        "{}",
        refused.failure().message
    );
    assert!(!refused.failure().fatal);
    assert!(session.ask("hi", |_, _, _| {}).text.ends_with("hi"));
}

#[test]
fn an_answer_ends_with_the_context() {
    let (mut session, ready) = Session::start("draft", 64);
    // The fake writes it twice, which has no room.
    let question = [QUESTION; 2].join(" ");
    let answer = session.ask(&question, |_, _, _| {});
    assert_eq!(answer.finished().reason, FinishReason::ContextFull);
    assert_eq!(
        answer.rounds.last().unwrap().context_used,
        ready.context_limit
    );
}

#[test]
fn plain_decoding_is_timed_when_idle() {
    let (mut session, _) = Session::start("plain", 0);
    let baseline = session.until(|event| match event {
        Event::Baseline(baseline) => Some(baseline),
        _ => None,
    });
    assert!(baseline.per_token >= std::time::Duration::from_millis(20));
    assert_eq!(baseline.context, 0);
}

#[test]
fn failing_to_load_is_fatal_and_said() {
    let check = |load: fn() -> anyhow::Result<Loaded>, expect: &str| {
        let mut handle = start_with(move |_, _, _| load(), settings("plain"));
        match handle.events.blocking_recv() {
            Some(Event::Failed(Failure {
                message,
                fatal: true,
            })) => {
                assert!(message.contains(expect), "{message}");
            }
            event => panic!("{event:?}"),
        }
        assert!(handle.events.blocking_recv().is_none());
    };
    check(|| Err(anyhow::anyhow!("no such model")), "no such model");
    check(|| panic!("oh no"), "oh no");
}

#[test]
fn quitting_while_loading_ends_without_a_word() {
    let mut handle = start_with(
        |_, cancel, _| loop {
            cancel.check()?;
            std::thread::yield_now();
        },
        settings("plain"),
    );
    handle.quit.cancel();
    assert!(handle.events.blocking_recv().is_none());
}
