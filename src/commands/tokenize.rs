//! `speck tokenize`: a text's token ids, for checking a model's tokenizer.

use crate::cli::TokenizeArgs;
use crate::model::tokenizer::{Specials, Tokenizer};
use crate::terminal::{Exit, stdout};

use super::{open_model, read_stdin, settings};

/// Prints the ids of the text on standard input as a JSON array.
pub fn run(args: &TokenizeArgs) -> anyhow::Result<Exit> {
    let target = settings::target(args.target.as_deref())?;
    let tokenizer = Tokenizer::from_gguf(&open_model(&target, args.offline)?)?;
    let specials = if args.no_special {
        Specials::AsText
    } else {
        Specials::Parse
    };
    let ids = tokenizer.encode(&read_stdin()?, specials)?;
    stdout::write_line(&serde_json::to_string(&ids)?)?;
    Ok(Exit::Done)
}
