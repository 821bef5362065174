//! Commands that change conversation, options and models: **whatever was asked for before, an answer is what a
//! fresh engine writes that is told the same conversation.**

use std::sync::{Arc, LazyLock};

use proptest::prelude::*;

use super::protocol::*;
use super::tests::{scripted, settings};
use super::*;
use crate::config::sampling::Seed;
use crate::model::Token;
use crate::model::chat_template::ChatTemplate;
use crate::model::device::Device;
use crate::model::memory::NoRoomBeside;
use crate::model::pair::Pair;
use crate::model::scripted::ScriptedModel;
use crate::model::tokenizer::Tokenizer;

pub(super) const CONTEXT: usize = 128;
const N_LOGITS: usize = 64;
const TEMPLATE: &str =
    "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}";

static TOKENIZER: LazyLock<Arc<Tokenizer>> = LazyLock::new(|| {
    let loaded = load::load(&scripted(0), &Cancel::new(), &mut |_| {}).unwrap();
    loaded.tokenizer
});

/// What the fake writes depends on every token before it; sampling has a say.
fn logits(salt: u64) -> impl FnMut(&[Token]) -> Vec<f32> + Send + 'static {
    move |tokens| {
        let mut hash = salt;
        for &token in tokens {
            hash = (hash ^ u64::from(token)).wrapping_mul(0x0100_0000_01b3);
            hash ^= hash >> 29;
        }
        (0..N_LOGITS as u64)
            .map(|i| ((hash.wrapping_mul(2 * i + 1) >> 40) % 997) as f32 / 200.0)
            .collect()
    }
}

/// Pairs without waiting in their passes. What they write follows from the length of their name, and `broken`,
/// `panics`, `waits` (until it is stopped) and `large` (which fits alone) are what they are called.
fn load_fake(wanted: &Wanted, cancel: &Cancel) -> anyhow::Result<Loaded> {
    let first = scripted(CONTEXT).names();
    let names = wanted.models.unwrap_or(&first).clone();
    match names.target.as_str() {
        "broken" => anyhow::bail!("it is broken"),
        "panics" => panic!("it panics"),
        "waits" => loop {
            cancel.check()?;
            std::thread::yield_now();
        },
        name if name.starts_with("large") && wanted.occupied > 0 => {
            return Err(NoRoomBeside.into());
        }
        "large and broken" => anyhow::bail!("it is broken"),
        _ => {}
    }
    let salt = names.target.len() as u64;
    let model = |salt| {
        let fake = ScriptedModel::with_logits("fake", N_LOGITS, CONTEXT, logits(salt));
        Box::new(fake)
    };
    Ok(Loaded {
        names,
        pair: Pair {
            target: model(salt),
            draft: Ok(model(1)),
            device: Device::scripted(),
            identity: None,
            memory: 10,
            notes: Vec::new(),
        },
        tokenizer: Arc::clone(&TOKENIZER),
        template: ChatTemplate::new(TEMPLATE, None, None)?,
    })
}

/// A pair that writes by `salt`.
fn named(salt: usize) -> ModelRef {
    ModelRef {
        target: "m".repeat(salt),
        draft: "auto".into(),
    }
}

pub(super) struct Engine(pub Handle);

impl Engine {
    pub fn start(salt: usize) -> Self {
        let mut settings = settings("plain");
        settings.options.max_tokens = 12;
        settings.options.sampling.seed = Seed::Fixed(0);
        let first = named(salt);
        Self(start_with(
            move |wanted, cancel, _| {
                let models = Some(wanted.models.unwrap_or(&first));
                load_fake(&Wanted { models, ..*wanted }, cancel)
            },
            settings,
        ))
    }

    pub fn tell(&self, command: Command) {
        self.0.commands.send(command).unwrap();
    }

    pub fn until<T>(&mut self, mut found: impl FnMut(Event) -> Option<T>) -> T {
        loop {
            let event = self.0.events.blocking_recv().expect("the engine runs");
            if let Some(found) = found(event) {
                return found;
            }
        }
    }

    /// The answer to `text`, and how many of its tokens were read before; `None` where it was refused.
    pub fn ask(&mut self, text: &str) -> Option<(String, usize)> {
        self.tell(Command::Send {
            text: text.to_owned(),
            cancel: Cancel::new(),
            pasted: Vec::new(),
        });
        let mut answer = String::new();
        self.until(|event| match event {
            Event::Round(round) => {
                answer += &round.text();
                None
            }
            Event::Finished(finished) => {
                answer += &finished.rest;
                Some(Some((std::mem::take(&mut answer), finished.reused_tokens)))
            }
            Event::Failed(_) => Some(None),
            _ => None,
        })
    }
}

impl Engine {
    /// Asks for other models: the target that is ready in the end, and why it is not the one asked for.
    pub fn load(&mut self, models: ModelRef) -> (Vec<String>, Option<NotLoaded>) {
        let asked = models.target.clone();
        let cancel = Cancel::new();
        if asked == "waits" {
            cancel.cancel();
        }
        self.tell(Command::Load { models, cancel });
        let mut ready = Vec::new();
        let why = self.until(|event| match event {
            Event::Ready(now) => {
                ready.push(now.models.target.clone());
                (now.models.target == asked).then_some(None)
            }
            Event::NotLoaded(why) => Some(Some(why)),
            _ => None,
        });
        (ready, why)
    }
}

#[derive(Clone, Debug)]
enum Step {
    Send(usize),
    Rewind(usize),
    Reset,
    Temperature(bool),
    Seed(u32),
    DraftLength(usize),
    System(Option<usize>),
    MakeRoom(usize),
    Restore(usize),
    Strategy(&'static str),
    Load(usize),
}

const TEXTS: [&str; 4] = [
    "one",
    "and two",
    "three, which is longer than the others",
    "four\n\nfive",
];

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..TEXTS.len()).prop_map(Step::Send),
        2 => (0..3usize).prop_map(Step::Rewind),
        1 => Just(Step::Reset),
        1 => any::<bool>().prop_map(Step::Temperature),
        1 => (0..3u32).prop_map(Step::Seed),
        1 => (1..5usize).prop_map(Step::DraftLength),
        1 => prop::option::of(0..TEXTS.len()).prop_map(Step::System),
        2 => (0..TEXTS.len()).prop_map(Step::MakeRoom),
        1 => (0..3usize).prop_map(Step::Restore),
        2 => prop::sample::select(vec!["plain", "draft", "lookup", "auto"]).prop_map(Step::Strategy),
        1 => (1..3usize).prop_map(Step::Load),
    ]
}

fn turn(role: Role, text: &str) -> Turn {
    Turn {
        role,
        text: text.to_owned(),
    }
}

/// What the engine should know.
struct Known {
    salt: usize,
    turns: Vec<Turn>,
    options: Options,
}

impl Known {
    /// What a fresh engine answers.
    fn answer(&self, text: &str) -> Option<String> {
        let mut fresh = Engine::start(self.salt);
        fresh.tell(Command::Set(self.options.clone()));
        fresh.tell(Command::Restore {
            turns: self.turns.clone(),
        });
        fresh.ask(text).map(|(answer, _)| answer)
    }

    fn take(&mut self, engine: &mut Engine, step: &Step) {
        let before = self.options.clone();
        match *step {
            Step::Send(text) => {
                let text = TEXTS[text];
                let answer = engine.ask(text).map(|(answer, _)| answer);
                assert_eq!(answer, self.answer(text), "{:?}", self.turns);
                if let Some(answer) = answer {
                    self.turns.push(turn(Role::User, text));
                    self.turns.push(turn(Role::Assistant, &answer));
                }
            }
            Step::Rewind(turns) => {
                engine.tell(Command::Rewind { turns, all: turns });
                self.turns.truncate(2 * turns);
            }
            Step::Reset => {
                engine.tell(Command::Reset);
                self.turns.clear();
            }
            Step::Temperature(warm) => {
                self.options.sampling.temperature = f64::from(u8::from(warm));
            }
            Step::Seed(seed) => {
                self.options.sampling.seed = Seed::Fixed(seed);
            }
            Step::DraftLength(length) => self.options.draft_length = length,
            Step::System(text) => self.options.system = text.map(|text| TEXTS[text].to_owned()),
            Step::MakeRoom(text) => {
                let text = TEXTS[text].to_owned();
                engine.tell(Command::MakeRoom { text });
                let dropped = engine.until(|event| match event {
                    Event::Dropped { turns } => Some(turns),
                    _ => None,
                });
                self.turns.drain(..2 * dropped);
            }
            Step::Restore(n) => {
                self.turns = TEXTS[..n]
                    .iter()
                    .flat_map(|text| [turn(Role::User, text), turn(Role::Assistant, "so")])
                    .collect();
                engine.tell(Command::Restore {
                    turns: self.turns.clone(),
                });
            }
            Step::Load(salt) => {
                engine.load(named(salt));
                self.salt = salt;
            }
            Step::Strategy(name) => engine.tell(Command::SetStrategy(name)),
        }
        if self.options != before {
            engine.tell(Command::Set(self.options.clone()));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn an_answer_depends_on_the_conversation_alone(steps in prop::collection::vec(step(), 1..14)) {
        let mut engine = Engine::start(1);
        let options = engine.until(|event| match event {
            Event::Ready(ready) => Some(*ready.options),
            _ => None,
        });
        let mut known = Known { salt: 1, turns: Vec::new(), options };
        for step in &steps {
            known.take(&mut engine, step);
        }
        known.take(&mut engine, &Step::Send(0));
    }
}

#[test]
fn a_rewind_keeps_the_cache_and_a_refusal_names_a_way_out() {
    let mut engine = Engine::start(1);
    let (first, _) = engine.ask("one").unwrap();
    let (second, _) = engine.ask("two").unwrap();
    engine.tell(Command::Rewind { turns: 1, all: 1 });
    let (again, n_reused) = engine.ask("two").unwrap();
    assert_eq!(again, second);
    assert!(n_reused > first.len() / 8, "{n_reused}");

    let long = "word ".repeat(CONTEXT);
    engine.tell(Command::Send {
        text: long.clone(),
        cancel: Cancel::new(),
        pasted: Vec::new(),
    });
    let refused = |event| match event {
        Event::Failed(failure) => Some(failure.message),
        _ => None,
    };
    let message = engine.until(refused);
    // It is too long for an empty conversation too: dropping would not help, and nothing is dropped.
    assert!(
        message.contains("shorten it") && !message.contains("/drop") && message.contains("128"),
        "{message}"
    );
    engine.tell(Command::MakeRoom { text: long.clone() });
    let dropped = |event| match event {
        Event::Dropped { turns } => Some(turns),
        _ => None,
    };
    assert_eq!(engine.until(dropped), 0);
    engine.tell(Command::Reset);
    engine.tell(Command::Send {
        text: long,
        cancel: Cancel::new(),
        pasted: Vec::new(),
    });
    let message = engine.until(refused);
    assert!(
        !message.contains("/drop") && message.contains("--context"),
        "{message}"
    );
}

#[test]
fn room_is_made_by_dropping_as_few_turns_as_needed() {
    let mut engine = Engine::start(1);
    let mut turns = Vec::new();
    while let Some((answer, _)) = engine.ask("and two") {
        turns.push(answer);
    }
    engine.tell(Command::Send {
        text: "and two".into(),
        cancel: Cancel::new(),
        pasted: Vec::new(),
    });
    let message = engine.until(|event| match event {
        Event::Failed(failure) => Some(failure.message),
        _ => None,
    });
    assert!(message.contains("/drop"), "{message}");
    engine.tell(Command::MakeRoom {
        text: "and two".into(),
    });
    let dropped = engine.until(|event| match event {
        Event::Dropped { turns } => Some(turns),
        _ => None,
    });
    assert!(
        dropped > 0 && dropped < turns.len(),
        "{dropped} of {}",
        turns.len()
    );
    let (_, reused) = engine.ask("and two").unwrap();
    assert!(reused < CONTEXT);
    // Nothing more is needed right after, but for the turn that came.
    engine.tell(Command::MakeRoom { text: "x".into() });
    let more = engine.until(|event| match event {
        Event::Dropped { turns } => Some(turns),
        _ => None,
    });
    assert!(more <= dropped, "{more}");
}

#[test]
fn a_seed_that_is_to_be_drawn_is_told() {
    let mut engine = Engine::start(1);
    let mut options = Options::default();
    options.sampling.seed = Seed::Random;
    options.sampling.temperature = 1.0;
    engine.tell(Command::Set(options));
    let set = engine.until(|event| match event {
        Event::Options(options) => Some(options),
        _ => None,
    });
    assert!(SamplingInfo::of(&set).is_some(), "{set:?}");
}
