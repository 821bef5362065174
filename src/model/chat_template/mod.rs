//! Conversation → prompt: the model's own chat template, rendered, and its tokens.
//!
//! In come messages, out comes the text or the tokens that ask the model for its next turn. **What a
//! user or a model wrote never becomes a control token, whatever it spells; what the template wrote
//! does.** Rendering runs on a thread of its own, with a large stack, limited fuel and
//! limited time.

mod environment;

use std::borrow::Cow;
use std::error::Error as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use minijinja::value::Serde;
use minijinja::{Environment, Error, context};
use serde::Serialize;

use super::Token;
use super::gguf::GgufFile;
use super::tokenizer::Tokenizer;
use environment::{Capped, environment};

/// Largest template; real ones are up to tens of kilobytes.
const MAX_SOURCE_BYTES: usize = 1 << 20;
/// A stack for values nested as deeply as the fuel allows. Only what is used takes memory.
const STACK_BYTES: usize = 256 << 20;
/// Rendering takes milliseconds.
const TIME_LIMIT: Duration = Duration::from_secs(10);
const NAME: &str = "chat template";

/// Who wrote a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Instructions for the whole conversation.
    System,
    /// The user.
    User,
    /// The model.
    Assistant,
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Message {
    /// Who wrote it.
    pub role: Role,
    /// What it says.
    pub content: String,
}

/// A compiled chat template.
#[derive(Debug)]
pub struct ChatTemplate {
    environment: Arc<Environment<'static>>,
    bos: String,
    eos: String,
    time_limit: Duration,
    /// It took too long once: its thread may still run, and there will be no other.
    timed_out: AtomicBool,
}

/// A template took longer than this.
#[derive(Debug, thiserror::Error)]
#[error("it takes longer than {0:?}: take another model file")]
struct TimedOut(Duration);

impl ChatTemplate {
    /// Compiles `source`; `bos` and `eos` are the texts of the model's tokens for begin and end.
    pub fn new(source: &str, bos: Option<&str>, eos: Option<&str>) -> Result<Self> {
        if source.len() > MAX_SOURCE_BYTES {
            bail!(
                "the chat template has {} bytes, more than {MAX_SOURCE_BYTES}: it is damaged",
                source.len()
            );
        }
        let source = source.to_owned();
        let environment = on_thread(TIME_LIMIT, || {
            let mut environment = environment()?;
            environment.add_template_owned(NAME, source)?;
            Ok(environment)
        })
        .context("the chat template is not one that speck can read")?;
        Ok(Self {
            environment: Arc::new(environment),
            bos: bos.unwrap_or_default().to_owned(),
            eos: eos.unwrap_or_default().to_owned(),
            time_limit: TIME_LIMIT,
            timed_out: AtomicBool::new(false),
        })
    }

    /// Compiles the template of a model file.
    pub fn from_gguf(file: &GgufFile, tokenizer: &Tokenizer) -> Result<Self> {
        match file.str("tokenizer.chat_template")? {
            Some(source) => Self::new(source, tokenizer.bos(), tokenizer.eos())
                .with_context(|| format!("cannot use the model file {}", file.name())),
            None => Err(file.error("it has no chat template: take a model that was trained to chat (often called Instruct)")),
        }
    }

    /// The conversation as text, up to where the model's next turn begins. A template that took too long
    /// once is not tried again.
    pub fn render(&self, messages: &[Message]) -> Result<String> {
        let rendered = if self.timed_out.load(Ordering::Relaxed) {
            Err(TimedOut(self.time_limit).into())
        } else {
            self.render_on_thread(messages)
        };
        if rendered.as_ref().is_err_and(anyhow::Error::is::<TimedOut>) {
            self.timed_out.store(true, Ordering::Relaxed);
        }
        rendered.context("the model's chat template does not take this conversation")
    }

    fn render_on_thread(&self, messages: &[Message]) -> Result<String> {
        let environment = Arc::clone(&self.environment);
        let context = context! {
            messages => Serde(messages),
            add_generation_prompt => true,
            bos_token => self.bos.as_str(),
            eos_token => self.eos.as_str(),
            tools => (),
            documents => (),
        };
        on_thread(self.time_limit, move || {
            let mut out = Capped::default();
            environment
                .get_template(NAME)?
                .render_captured_to(context, &mut out)?;
            out.into_string()
        })
    }

    /// The conversation as tokens. Control tokens come from the template alone.
    ///
    /// A message that spells a control token gets a mark inside that text, a character that is in no
    /// message. So the rendered text spells control tokens only where the template wrote them; it is
    /// split there, and the marks are taken out of the rest before that is encoded.
    pub fn prompt(&self, messages: &[Message], tokenizer: &Tokenizer) -> Result<Vec<Token>> {
        // Noncharacters are for uses like this one, inside a program.
        let mark = ('\u{fdd0}'..='\u{fdef}')
            .find(|&mark| {
                messages
                    .iter()
                    .all(|message| !message.content.contains(mark))
            })
            .context("the conversation holds every noncharacter of Unicode: it is not text")?;
        let marked: Vec<_> = messages
            .iter()
            .map(|message| Message {
                content: mark_control(&message.content, mark, tokenizer),
                ..message.clone()
            })
            .collect();
        tokenizer.encode_marked(&self.render(&marked)?, Some(mark))
    }
}

/// `text` with `mark` after the first character of everything that spells a control token.
fn mark_control(text: &str, mark: char, tokenizer: &Tokenizer) -> String {
    let mut text = Cow::Borrowed(text);
    // Names that overlap are found one round after the other.
    loop {
        let mut marked = String::new();
        let mut at = 0;
        for found in tokenizer.find_control(&text) {
            let first = text[found.start..].chars().next().map_or(0, char::len_utf8);
            marked.push_str(&text[at..found.start + first]);
            marked.push(mark);
            at = found.start + first;
        }
        if at == 0 {
            return text.into_owned();
        }
        marked.push_str(&text[at..]);
        text = Cow::Owned(marked);
    }
}

/// The error and its first cause, on one line.
fn explain(error: &Error) -> String {
    let Some(mut cause) = error.source() else {
        return error.to_string();
    };
    while let Some(earlier) = cause.source() {
        cause = earlier;
    }
    format!("{error}: {cause}")
}

/// Runs template work where deep nesting cannot overflow the stack, for a limited time.
///
/// Fuel bounds the work, but minijinja charges for turning a list into text when it is done, and a list
/// that holds one list many times over can be longer than any memory. Past the time limit the thread is
/// left behind; the caller has its error and does not use the template again.
fn on_thread<T: Send + 'static>(
    time_limit: Duration,
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T> {
    let (sender, receiver) = mpsc::sync_channel(1);
    thread::Builder::new()
        .name(NAME.to_owned())
        .stack_size(STACK_BYTES)
        // An error holds values of the template, so it ends here too. The receiver is gone when this
        // took too long.
        .spawn(move || _ = sender.send(work().map_err(|error| explain(&error))))
        .context("cannot start a thread for the chat template")?;
    match receiver.recv_timeout(time_limit) {
        Ok(result) => result.map_err(anyhow::Error::msg),
        Err(RecvTimeoutError::Timeout) => Err(TimedOut(time_limit).into()),
        Err(RecvTimeoutError::Disconnected) => {
            bail!("the template engine crashed on it: take another model file")
        }
    }
}

#[cfg(test)]
mod tests;
