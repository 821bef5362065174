//! `speck template`: the prompt that a chat template makes of a conversation, for checking it.

use std::path::Path;

use anyhow::Context;
use serde::Deserialize;

use crate::cli::TemplateArgs;
use crate::model::chat_template::{ChatTemplate, Message, Role};
use crate::model::tokenizer::Tokenizer;
use crate::terminal::{Exit, stdout};

use super::{open_model, read_file, settings};

/// A message as the file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    role: WrittenRole,
    content: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum WrittenRole {
    System,
    User,
    Assistant,
}

/// Prints the rendered prompt.
pub fn run(args: &TemplateArgs) -> anyhow::Result<Exit> {
    let text = read_file(&args.messages)?;
    let written: Vec<Written> = serde_json::from_str(&text).with_context(|| {
        format!(
            "{} must be a JSON array of messages with `role` and `content`",
            args.messages.display()
        )
    })?;
    let messages: Vec<Message> = written
        .into_iter()
        .map(|Written { role, content }| {
            let role = match role {
                WrittenRole::System => Role::System,
                WrittenRole::User => Role::User,
                WrittenRole::Assistant => Role::Assistant,
            };
            Message { role, content }
        })
        .collect();
    stdout::write(&template(args)?.render(&messages)?)?;
    Ok(Exit::Done)
}

fn template(args: &TemplateArgs) -> anyhow::Result<ChatTemplate> {
    let (bos, eos) = (args.bos.as_deref(), args.eos.as_deref());
    if Path::new(&args.source)
        .extension()
        .is_some_and(|extension| extension == "jinja")
    {
        return ChatTemplate::new(&read_file(args.source.as_ref())?, bos, eos);
    }
    let file = open_model(
        &settings::reference("the model", &args.source)?,
        args.offline,
    )?;
    let tokenizer = Tokenizer::from_gguf(&file)?;
    let source = file
        .str("tokenizer.chat_template")?
        .context("this model has no chat template")?;
    ChatTemplate::new(source, bos.or(tokenizer.bos()), eos.or(tokenizer.eos()))
}
