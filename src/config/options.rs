//! What can be changed between two messages: how tokens are chosen, how long drafts and answers are, and
//! the system prompt.
//!
//! `/set` reads it by the names that the command line has, with the same checks.

use super::sampling::{MAX_NUMBER, MAX_TOP_K, Sampling, Seed, number, seed, whole};
use super::{MAX_DRAFT_LENGTH, MAX_MAX_TOKENS};

/// What holds for the next answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// How tokens are chosen.
    pub sampling: Sampling,
    /// Tokens that the draft model drafts in a round.
    pub draft_length: usize,
    /// Tokens of an answer at most.
    pub max_tokens: usize,
    /// The system prompt, if not the template's own.
    pub system: Option<String>,
}

/// An option that has a name.
struct Named {
    name: &'static str,
    get: fn(&Options) -> String,
    set: fn(&mut Options, &str) -> Result<(), String>,
}

/// All of them, in the order of the list.
const NAMED: &[Named] = &[
    Named {
        name: "temperature",
        get: |options| options.sampling.temperature.to_string(),
        set: |options, text| {
            let value = &mut options.sampling.temperature;
            put(value, number::<0, MAX_NUMBER>(text))
        },
    },
    Named {
        name: "top-k",
        get: |options| options.sampling.top_k.to_string(),
        set: |options, text| put(&mut options.sampling.top_k, count::<0, MAX_TOP_K>(text)),
    },
    Named {
        name: "top-p",
        get: |options| options.sampling.top_p.to_string(),
        set: |options, text| put(&mut options.sampling.top_p, number::<0, 1>(text)),
    },
    Named {
        name: "min-p",
        get: |options| options.sampling.min_p.to_string(),
        set: |options, text| put(&mut options.sampling.min_p, number::<0, 1>(text)),
    },
    Named {
        name: "repetition-penalty",
        get: |options| options.sampling.repetition_penalty.to_string(),
        set: |options, text| {
            let value = &mut options.sampling.repetition_penalty;
            put(value, number::<1, MAX_NUMBER>(text))
        },
    },
    Named {
        name: "presence-penalty",
        get: |options| options.sampling.presence_penalty.to_string(),
        set: |options, text| {
            let value = &mut options.sampling.presence_penalty;
            put(value, number::<0, MAX_NUMBER>(text))
        },
    },
    Named {
        name: "seed",
        get: |options| match options.sampling.seed {
            Seed::Random => "random".to_owned(),
            Seed::Fixed(seed) => seed.to_string(),
        },
        set: |options, text| put(&mut options.sampling.seed, seed(text)),
    },
    Named {
        name: "max-tokens",
        get: |options| options.max_tokens.to_string(),
        set: |options, text| put(&mut options.max_tokens, count::<1, MAX_MAX_TOKENS>(text)),
    },
    Named {
        name: "draft-length",
        get: |options| options.draft_length.to_string(),
        set: |options, text| {
            put(
                &mut options.draft_length,
                count::<1, MAX_DRAFT_LENGTH>(text),
            )
        },
    },
];

fn put<T>(place: &mut T, value: Result<T, String>) -> Result<(), String> {
    *place = value?;
    Ok(())
}

/// A whole number that is a length here.
fn count<const LEAST: u64, const MOST: u64>(text: &str) -> Result<usize, String> {
    whole::<LEAST, MOST>(text).and_then(|n| usize::try_from(n).map_err(|why| why.to_string()))
}

impl Options {
    /// Reads the value of `name` from `text`; an error says what is valid, and leaves everything as it was.
    pub fn set(&mut self, name: &str, text: &str) -> Result<(), String> {
        let plain = name.trim_start_matches("--").replace('_', "-");
        let Some(named) = NAMED.iter().find(|named| named.name == plain) else {
            let names: Vec<_> = NAMED.iter().map(|named| named.name).collect();
            return Err(format!(
                "there is nothing called `{name}` to set; there are {}",
                names.join(", ")
            ));
        };
        (named.set)(self, text).map_err(|why| format!("{}: {why}", named.name))
    }

    /// Names and values.
    pub fn list(&self) -> impl Iterator<Item = (&'static str, String)> + '_ {
        NAMED.iter().map(|named| (named.name, (named.get)(self)))
    }
}

impl Default for Options {
    fn default() -> Self {
        let decoding = super::Decoding::default();
        Self {
            sampling: Sampling::default(),
            draft_length: decoding.draft_length,
            max_tokens: decoding.max_tokens,
            system: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_and_listed_by_name() {
        let check = |name: &str, text: &str, expect: Result<&str, &str>| {
            let mut options = Options::default();
            let before = options.clone();
            match (options.set(name, text), expect) {
                (Ok(()), Ok(shown)) => {
                    let plain = name.replace('_', "-");
                    let found = options.list().find(|(name, _)| *name == plain);
                    assert_eq!(found.unwrap().1, shown, "{name} {text}");
                }
                (Err(error), Err(part)) => {
                    assert!(error.contains(part), "{name} {text}: {error}");
                    assert_eq!(options, before);
                }
                (found, expect) => panic!("{name} {text}: {found:?}, not {expect:?}"),
            }
        };
        check("temperature", "0.70", Ok("0.7"));
        check("temperature", "11", Err("11 is not a number from 0 to 10"));
        check("temperature", "hot", Err("it is not a number from 0 to 10"));
        check("top_k", "40", Ok("40"));
        check("top-k", "-1", Err("it is not a whole number from 0 to"));
        check("top-p", "0.9", Ok("0.9"));
        check("min-p", "nan", Err("NaN is not a number from 0 to 1"));
        check("repetition-penalty", "0.5", Err("from 1 to 10"));
        check("presence-penalty", "1", Ok("1"));
        check("seed", "7", Ok("7"));
        check("seed", "random", Ok("random"));
        check("seed", "4294967296", Err("\"random\" or a whole number"));
        check("max-tokens", "0", Err("from 1 to 1048576"));
        check("max-tokens", "12", Ok("12"));
        check("draft-length", "17", Err("from 1 to 16"));
        check("draft-length", "5", Ok("5"));
        check("heat", "1", Err("there are temperature, top-k"));
    }
}
