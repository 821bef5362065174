//! The scripted pair behind `--target scripted`: a fake that needs no download, for trying the screen
//! and for tests of the program. It repeats what it is told, so drafting has something to win.
//!
//! A message that is exactly `please fail` or `please panic` makes its pass do that.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;

use super::Token;
use super::chat_template::ChatTemplate;
use super::device::Device;
use super::pair::{DraftChoice, LoadSettings, Loaded, Pair};
use super::registry::SMOLLM2_135M_DRAFT;
use super::scripted::{ScriptedModel, Step};
use super::tokenizer::{Specials, Tokenizer};

const CONTEXT: usize = 4096;
const TARGET_PASS: Duration = Duration::from_millis(24);
const DRAFT_PASS: Duration = Duration::from_millis(2);
const TEMPLATE: &str = "{% for message in messages %}<|im_start|>{{ message.role }}\n\
    {{ message.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant{{ '\n' }}";

/// The pair, its tokenizer (that of the built-in draft) and its template.
pub(super) fn load(settings: &LoadSettings) -> Result<Loaded> {
    let tokenizer = Arc::new(Tokenizer::from_gguf(&SMOLLM2_135M_DRAFT.open()?)?);
    let template = ChatTemplate::new(TEMPLATE, None, None)?;
    let capacity = match settings.context {
        0 => CONTEXT,
        context => context,
    };
    let script = Script::new(&tokenizer)?;
    let other = script.clone();
    let n_logits = tokenizer.vocab_len();
    let target = ScriptedModel::new("scripted", n_logits, capacity, move |tokens| {
        script.next(tokens)
    })
    .with_pass_time(TARGET_PASS);
    let draft = ScriptedModel::new("scripted draft", n_logits, capacity, move |tokens| {
        match other.next(tokens) {
            // Wrong at every seventh position.
            Step::Write(token) if tokens.len() % 7 == 0 => Step::Write(token ^ 1),
            step => step,
        }
    })
    .with_pass_time(DRAFT_PASS);
    let pair = Pair {
        target: Box::new(target),
        draft: match settings.draft {
            DraftChoice::None => Err("there is no draft model (--draft none)".into()),
            DraftChoice::Auto | DraftChoice::Model(_) => Ok(Box::new(draft)),
        },
        device: Device::scripted(),
        identity: None,
        memory: 0,
        notes: vec!["this is a fake model for trying the screen: it repeats what you write".into()],
    };
    Ok(Loaded {
        names: settings.names(),
        pair,
        tokenizer,
        template,
    })
}

/// The reply as a function of the prompt.
#[derive(Clone)]
struct Script {
    turn_start: Token,
    turn_end: Token,
    newline: Token,
    before: Vec<Token>,
    between: Vec<Token>,
    fail: Vec<Token>,
    panic: Vec<Token>,
}

impl Script {
    fn new(tokenizer: &Tokenizer) -> Result<Self> {
        let encode = |text: &str| tokenizer.encode(text, Specials::Parse);
        Ok(Self {
            turn_start: encode("<|im_start|>")?[0],
            turn_end: encode("<|im_end|>")?[0],
            newline: encode("\n")?[0],
            before: encode("You wrote:\n\n")?,
            between: encode("\n\nOnce more, so that there is something to copy:\n\n")?,
            fail: encode("please fail")?,
            panic: encode("please panic")?,
        })
    }

    /// The token after `tokens`, whose last turn is the reply so far.
    fn next(&self, tokens: &[Token]) -> Step {
        let starts: Vec<usize> = (0..tokens.len())
            .filter(|&i| tokens[i] == self.turn_start)
            .collect();
        let [.., user, reply] = starts[..] else {
            return Step::Write(self.turn_end);
        };
        let body = |start: usize, end: usize| {
            let turn = &tokens[start..end];
            let skip = turn
                .iter()
                .position(|&token| token == self.newline)
                .map_or(turn.len(), |i| i + 1);
            let end = turn
                .iter()
                .position(|&token| token == self.turn_end)
                .unwrap_or(turn.len());
            &turn[skip.min(end)..end]
        };
        let message = body(user, reply);
        if message == self.fail {
            return Step::Fail;
        }
        if message == self.panic {
            return Step::Panic;
        }
        let written = body(reply, tokens.len()).len();
        let parts = [&self.before[..], message, &self.between, message];
        let next = parts.into_iter().flatten().nth(written);
        Step::Write(next.copied().unwrap_or(self.turn_end))
    }
}
