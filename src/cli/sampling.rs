//! Flags on how tokens are chosen: each overrides a key of `[sampling]`.

#![expect(
    clippy::doc_markdown,
    reason = "these comments are the program's help, which has no markdown"
)]

use clap::Args;

use crate::config::sampling::{MAX_NUMBER, MAX_TOP_K, Sampling, Seed, number, seed, whole};

/// How tokens are chosen.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Sampling")]
pub struct SamplingArgs {
    /// How much chance has a say: 0 takes the likeliest token, 1 follows the model's probabilities [key: sampling.temperature]
    #[arg(long, value_name = "X", allow_negative_numbers = true, value_parser = number::<0, MAX_NUMBER>)]
    pub temperature: Option<f64>,
    /// Keep this many of the likeliest tokens; 0 = all [key: sampling.top_k]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<0, MAX_TOP_K>)]
    pub top_k: Option<u64>,
    /// Keep the likeliest tokens that have this probability together [key: sampling.top_p]
    #[arg(long, value_name = "P", allow_negative_numbers = true, value_parser = number::<0, 1>)]
    pub top_p: Option<f64>,
    /// Keep tokens with this share of the likeliest one's probability [key: sampling.min_p]
    #[arg(long, value_name = "P", allow_negative_numbers = true, value_parser = number::<0, 1>)]
    pub min_p: Option<f64>,
    /// Divide the logits of tokens that the answer has already, 1 to 10 [key: sampling.repetition_penalty]
    #[arg(long, value_name = "X", allow_negative_numbers = true, value_parser = number::<1, MAX_NUMBER>)]
    pub repetition_penalty: Option<f64>,
    /// Subtract this from the logits of tokens that the answer has already, 0 to 10 [key: sampling.presence_penalty]
    #[arg(long, value_name = "X", allow_negative_numbers = true, value_parser = number::<0, MAX_NUMBER>)]
    pub presence_penalty: Option<f64>,
    /// Repeat the answers of this seed, or draw one: "random", which is shown [key: sampling.seed]
    #[arg(long, value_name = "N|random", value_parser = seed, allow_negative_numbers = true)]
    pub seed: Option<Seed>,
    /// End an answer before this text; may be given several times [key: sampling.stop]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub stop: Vec<String>,
}

impl SamplingArgs {
    /// Puts what the flags say over `sampling`.
    pub fn override_config(&self, sampling: &mut Sampling) {
        let put = |flag: Option<f64>, value: &mut f64| *value = flag.unwrap_or(*value);
        put(self.temperature, &mut sampling.temperature);
        put(self.top_p, &mut sampling.top_p);
        put(self.min_p, &mut sampling.min_p);
        put(self.repetition_penalty, &mut sampling.repetition_penalty);
        put(self.presence_penalty, &mut sampling.presence_penalty);
        if let Some(top_k) = self.top_k {
            // Within range by the parser above.
            sampling.top_k = usize::try_from(top_k).unwrap_or(usize::MAX);
        }
        if let Some(seed) = self.seed {
            sampling.seed = seed;
        }
        if !self.stop.is_empty() {
            sampling.stop.clone_from(&self.stop);
        }
    }
}
