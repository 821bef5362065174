//! `[sampling]`: how tokens are chosen, as it is configured.

use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize, Serializer};

/// The highest temperature and the largest penalties that can be asked for.
pub const MAX_NUMBER: u64 = 10;
/// The most tokens that top-k can be asked to keep.
pub const MAX_TOP_K: u64 = 1 << 20;
/// What stands for a seed that is drawn.
const RANDOM: &str = "random";

/// `[sampling]`
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sampling {
    /// Divides the logits; 0 takes the likeliest token.
    #[serde(deserialize_with = "in_range::<_, 0, MAX_NUMBER>")]
    pub temperature: f64,
    /// Keeps this many of the likeliest tokens; 0 keeps all.
    #[serde(deserialize_with = "super::in_range::<_, 0, MAX_TOP_K>")]
    pub top_k: usize,
    /// Keeps the likeliest tokens that have this probability together.
    #[serde(deserialize_with = "in_range::<_, 0, 1>")]
    pub top_p: f64,
    /// Keeps tokens with this share of the likeliest one's probability.
    #[serde(deserialize_with = "in_range::<_, 0, 1>")]
    pub min_p: f64,
    /// Divides the logits of tokens that the answer has already.
    #[serde(deserialize_with = "in_range::<_, 1, MAX_NUMBER>")]
    pub repetition_penalty: f64,
    /// Is subtracted from the logits of tokens that the answer has already.
    #[serde(deserialize_with = "in_range::<_, 0, MAX_NUMBER>")]
    pub presence_penalty: f64,
    /// What the noise is made from.
    pub seed: Seed,
    /// Strings that end an answer.
    pub stop: Vec<String>,
}

impl Default for Sampling {
    fn default() -> Self {
        Self {
            temperature: 0.0,
            top_k: 0,
            top_p: 1.0,
            min_p: 0.0,
            repetition_penalty: 1.0,
            presence_penalty: 0.0,
            seed: Seed::Random,
            stop: Vec::new(),
        }
    }
}

/// A seed, or the wish that one be drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seed {
    /// Another one in each run.
    Random,
    /// This one.
    Fixed(u32),
}

impl<'de> Deserialize<'de> for Seed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = toml::Value::deserialize(deserializer)?;
        let number = value.as_integer().and_then(|n| u32::try_from(n).ok());
        match (number, value.as_str()) {
            (Some(number), _) => Ok(Self::Fixed(number)),
            (None, Some(RANDOM)) => Ok(Self::Random),
            (None, _) => Err(D::Error::custom(format!(
                "{value} is no seed: \"{RANDOM}\", or a whole number from 0 to {}",
                u32::MAX
            ))),
        }
    }
}

impl Serialize for Seed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Random => serializer.serialize_str(RANDOM),
            Self::Fixed(number) => serializer.serialize_u32(*number),
        }
    }
}

/// A number from `LEAST` to `MOST`; what is not a number is none.
pub fn check<const LEAST: u64, const MOST: u64>(number: f64) -> Result<f64, String> {
    if (LEAST as f64..=MOST as f64).contains(&number) {
        return Ok(number);
    }
    Err(format!("{number} is not a number from {LEAST} to {MOST}"))
}

/// Reads a seed as it is typed.
pub fn seed(text: &str) -> Result<Seed, String> {
    if text == RANDOM {
        return Ok(Seed::Random);
    }
    let number = text.parse().map(Seed::Fixed);
    number.map_err(|_| {
        format!(
            "it is not \"{RANDOM}\" or a whole number from 0 to {}",
            u32::MAX
        )
    })
}

/// Reads a number from `LEAST` to `MOST` as it is typed.
pub fn number<const LEAST: u64, const MOST: u64>(text: &str) -> Result<f64, String> {
    let number = text
        .parse()
        .map_err(|_| format!("it is not a number from {LEAST} to {MOST}"))?;
    check::<LEAST, MOST>(number)
}

/// Reads a whole number from `LEAST` to `MOST` as it is typed.
pub fn whole<const LEAST: u64, const MOST: u64>(text: &str) -> Result<u64, String> {
    let number = text.parse().ok();
    number
        .filter(|n| (LEAST..=MOST).contains(n))
        .ok_or_else(|| format!("it is not a whole number from {LEAST} to {MOST}"))
}

fn in_range<'de, D, const LEAST: u64, const MOST: u64>(deserializer: D) -> Result<f64, D::Error>
where
    D: Deserializer<'de>,
{
    check::<LEAST, MOST>(f64::deserialize(deserializer)?).map_err(D::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_judged_with_what_is_valid() {
        let check = |line: &str, part: &str| {
            let error = toml::from_str::<Sampling>(line).unwrap_err().to_string();
            assert!(error.contains(part), "{line}: {error}");
        };
        check("temperature = -0.1", "-0.1 is not a number from 0 to 10");
        check("temperature = nan", "NaN is not a number from 0 to 10");
        check("temperature = inf", "inf is not a number from 0 to 10");
        check("temperature = \"hot\"", "expected f64");
        check("top_p = 1.01", "1.01 is not a number from 0 to 1");
        check("min_p = -1", "-1 is not a number from 0 to 1");
        check("top_k = -1", "-1 is not a number from 0 to 1048576");
        check(
            "repetition_penalty = 0.9",
            "0.9 is not a number from 1 to 10",
        );
        check("presence_penalty = 11", "11 is not a number from 0 to 10");
        check("seed = -1", "-1 is no seed: \"random\", or a whole number");
        check("seed = 4294967296", "4294967296 is no seed");
        check("seed = \"dice\"", "\"dice\" is no seed");
        check("seed = 1.5", "1.5 is no seed");
        check("stop = \"END\"", "expected a sequence");
    }

    #[test]
    fn what_is_written_reads_the_same() {
        for seed in [Seed::Random, Seed::Fixed(0), Seed::Fixed(u32::MAX)] {
            let sampling = Sampling {
                temperature: 0.7,
                seed,
                stop: vec!["\n\n".into()],
                ..Sampling::default()
            };
            let text = toml::to_string(&sampling).unwrap();
            assert_eq!(toml::from_str::<Sampling>(&text).unwrap(), sampling);
        }
        let whole: Sampling = toml::from_str("temperature = 1").unwrap();
        assert!((whole.temperature - 1.0).abs() < f64::EPSILON);
    }
}
