//! A loaded pair, ready to answer: decoder and strategies, the draft model they share, tokenizer and
//! template, and what its passes cost on this machine.

use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;
use std::sync::Arc;

use super::calibration::Calibrator;
use super::calibration_cache::{CalibrationCache, Key};
use super::protocol::{ModelRef, Ready, StrategyInfo};
use crate::cancel::Cancel;
use crate::config::options::Options;
use crate::config::sampling::Seed;
use crate::decoding::Decoder;
use crate::model::Token;
use crate::model::chat_template::ChatTemplate;
use crate::model::device::Device;
use crate::model::pair::{Identity, Loaded};
use crate::model::tokenizer::Tokenizer;
use crate::sampling::Sampling;
use crate::strategy::{self, Drafter, Entry, Parts};

/// Seeds are drawn below this, so that they are short to type.
const DRAWN_SEEDS: u64 = 1_000_000;

/// Options that hold: the seed is a number.
#[derive(Clone, Debug)]
pub(super) struct Fixed {
    /// As they are told.
    pub options: Options,
    /// How tokens are chosen.
    pub sampling: Sampling,
}

impl Fixed {
    /// Draws a seed where none is given.
    pub fn new(mut options: Options) -> Self {
        let seed = match options.sampling.seed {
            Seed::Fixed(seed) => seed,
            // Every `RandomState` is made from fresh random numbers.
            Seed::Random => (RandomState::new().hash_one("seed") % DRAWN_SEEDS) as u32,
        };
        options.sampling.seed = Seed::Fixed(seed);
        let chosen = &options.sampling;
        let sampling = Sampling {
            temperature: chosen.temperature,
            top_k: chosen.top_k,
            top_p: chosen.top_p,
            min_p: chosen.min_p,
            repetition_penalty: chosen.repetition_penalty,
            presence_penalty: chosen.presence_penalty,
            seed: seed.into(),
        };
        Self { options, sampling }
    }
}

/// A loaded pair.
pub(super) struct Pair {
    /// What the models are called.
    pub names: ModelRef,
    /// Bytes that they need.
    pub memory: u64,
    pub decoder: Decoder,
    pub tokenizer: Arc<Tokenizer>,
    pub template: ChatTemplate,
    pub calibrator: Calibrator,
    draft: Result<Drafter, String>,
    ends: Vec<Token>,
    /// Where calibrations are kept, and the models that they are of; `None`: nowhere.
    kept: Option<(PathBuf, Identity)>,
    device: Device,
    calibrations: Option<CalibrationCache>,
}

impl Pair {
    /// Builds the strategies, of which `strategy` drafts first, and tells what there is. Calibrations are
    /// kept in `cache`, if anywhere.
    pub fn new(
        loaded: Loaded,
        strategy: &'static str,
        fixed: &Fixed,
        cache: Option<PathBuf>,
    ) -> (Self, Ready) {
        let Loaded {
            names,
            pair,
            tokenizer,
            template,
        } = loaded;
        let name = |model: &dyn crate::model::Model| model.name().to_owned();
        let target = name(&*pair.target);
        let draft_name = pair.draft.as_ref().ok().map(|draft| name(&**draft));
        let ends = tokenizer.end_of_turn().to_vec();
        let draft = pair.draft.map(|model| Drafter::new(model, fixed.sampling));
        let kept = cache.zip(pair.identity);
        let calibrations = calibrations(kept.as_ref(), &pair.device, fixed);
        let calibration = calibrations.as_ref().and_then(CalibrationCache::load);
        let calibrator = Calibrator::new(draft.clone().ok(), calibration.is_none());
        let (strategies, missing) = strategy::build_all(&Parts {
            draft: draft.clone(),
            draft_length: fixed.options.draft_length,
            ends: ends.clone(),
            calibration,
        });
        let mut decoder =
            Decoder::new(pair.target, strategies, ends.clone()).with_sampling(fixed.sampling);
        let mut notes = pair.notes;
        let mut replaced = None;
        if !decoder.set_strategy(strategy) {
            let why = missing.iter().find(|(name, _)| *name == strategy);
            let why = why.map_or(String::new(), |(_, why)| format!(": {why}"));
            let instead = decoder.strategy();
            replaced = Some(format!(
                "{strategy} cannot run{why}; {instead} runs instead"
            ));
        }
        let others = missing.iter().filter(|(name, _)| *name != strategy);
        notes.extend(
            others
                .filter(|(name, _)| strategy::find(name).is_some_and(|entry| entry.cycled))
                .map(|(name, why)| format!("{name} cannot run: {why}")),
        );
        notes.extend(replaced.clone());
        let ready = Ready {
            models: names.clone(),
            target,
            draft: draft_name,
            device: pair.device.to_string(),
            context_limit: decoder.capacity(),
            strategies: decoder
                .strategies()
                .filter_map(strategy::find)
                .map(info)
                .collect(),
            strategy: decoder.strategy(),
            options: Box::new(fixed.options.clone()),
            notes,
            replaced,
        };
        let pair = Self {
            names,
            memory: pair.memory,
            decoder,
            tokenizer,
            template,
            calibrator,
            draft,
            ends,
            kept,
            device: pair.device,
            calibrations,
        };
        (pair, ready)
    }

    /// Chooses and drafts by `after` instead of `before` from the next answer on. Neither cache is touched,
    /// and `auto` keeps what it has learnt; what passes cost is looked up, or timed, where that changes.
    pub fn set(&mut self, before: &Fixed, after: &Fixed) {
        self.decoder.set_sampling(after.sampling);
        if let Ok(draft) = &self.draft {
            draft.set_sampling(after.sampling);
        }
        if before.options.draft_length != after.options.draft_length {
            self.set_draft_length(after.options.draft_length);
        }
        if before.sampling.is_greedy() != after.sampling.is_greedy() {
            self.calibrations = calibrations(self.kept.as_ref(), &self.device, after);
            let known = self.calibrations.as_ref().and_then(CalibrationCache::load);
            if let Some(calibration) = &known {
                self.decoder.calibrate(calibration);
            }
            self.calibrator = Calibrator::new(self.draft.clone().ok(), known.is_none());
        }
    }

    fn set_draft_length(&mut self, draft_length: usize) {
        let parts = Parts {
            draft: self.draft.clone(),
            draft_length,
            ends: self.ends.clone(),
            calibration: None,
        };
        let fixed = strategy::ALL.iter().filter(|entry| entry.fixed_length);
        for strategy in fixed.filter_map(|entry| entry.build(&parts).ok()) {
            self.decoder.replace_strategy(strategy);
        }
    }

    /// Times the next pass of the calibration; the last one is followed by its use.
    pub fn calibrate(&mut self, cancel: &Cancel) {
        let Some(calibration) = self.calibrator.time_pass(&mut self.decoder, cancel) else {
            return;
        };
        self.decoder.calibrate(&calibration);
        if let Some(calibrations) = &self.calibrations {
            calibrations.store(&calibration);
        }
    }
}

fn calibrations(
    kept: Option<&(PathBuf, Identity)>,
    device: &Device,
    fixed: &Fixed,
) -> Option<CalibrationCache> {
    let (folder, models) = kept?;
    let key = Key::new(models.clone(), device, fixed.sampling.is_greedy());
    Some(CalibrationCache::new(folder.clone(), key))
}

fn info(entry: &Entry) -> StrategyInfo {
    StrategyInfo {
        name: entry.name,
        summary: entry.summary,
        cycled: entry.cycled,
    }
}
