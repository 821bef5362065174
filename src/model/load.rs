//! From a reference to a pair of models that share a vocabulary.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};

use super::candle_decoder::CandleDecoder;
use super::chat_template::ChatTemplate;
use super::cpu_decoder::CpuDecoder;
use super::device::{self, Backend, DeviceChoice};
use super::gguf::GgufFile;
use super::hyperparameters::Hyperparameters;
use super::pair::{DraftChoice, Identity, LoadSettings, Loaded, Pair};
use super::progress::{Fetch, Loading};
use super::registry::{Draft, Reference, SMOLLM2_135M_DRAFT};
use super::shape::{DraftShape, PairShape, Shape};
use super::tensors::Tensors;
use super::tokenizer::Tokenizer;
use super::{Model, demo, fetch, memory};
use crate::cancel::Cancel;
use crate::config::LEAST_CONTEXT;

/// Context when none is asked for, unless the model was trained for less.
const DEFAULT_CONTEXT: usize = 8192;

/// Progress of loading.
#[derive(Clone, Debug)]
pub enum Progress {
    /// A file is being fetched.
    Fetch(Fetch),
    /// Weights are being read.
    Loading(Loading),
}

/// A model that is to be loaded.
struct Source {
    title: String,
    file: GgufFile,
    hyper: Hyperparameters,
}

impl Source {
    fn new(title: String, file: GgufFile) -> Result<Self> {
        let hyper = Hyperparameters::from_gguf(&file)?;
        Ok(Self { title, file, hyper })
    }

    fn identity(&self) -> String {
        format!("{}, {:?}", self.file.identity(), self.hyper)
    }
}

/// What is asked of a pair.
#[derive(Clone, Copy)]
struct Asked {
    context: usize,
    n_threads: usize,
    /// Bytes that others need meanwhile.
    occupied: u64,
}

/// Fetches, checks and loads.
pub fn load(
    settings: &LoadSettings,
    cancel: &Cancel,
    progress: &mut dyn FnMut(Progress),
) -> Result<Loaded> {
    load_beside(0, settings, cancel, progress)
}

/// As [`load`], while other models need `occupied` bytes; fails with [`memory::NoRoomBeside`] where only they
/// are in the way.
pub fn load_beside(
    occupied: u64,
    settings: &LoadSettings,
    cancel: &Cancel,
    progress: &mut dyn FnMut(Progress),
) -> Result<Loaded> {
    if let Reference::Scripted = settings.target {
        return demo::load(settings);
    }
    let backend = device::open(settings.device, settings.n_threads)?;
    let file = open(&settings.target, settings.offline, cancel, progress)?;
    let tokenizer = Arc::new(Tokenizer::from_gguf(&file)?);
    let template = ChatTemplate::from_gguf(&file, &tokenizer)?;
    let target = Source::new(settings.target.title(), file)?;
    let draft = draft(settings, &tokenizer, cancel, progress)?;
    let asked = Asked {
        context: settings.context,
        n_threads: settings.n_threads,
        occupied,
    };
    let pair = pair(backend, target, draft, asked, cancel, progress)?;
    Ok(Loaded {
        names: settings.names(),
        pair,
        tokenizer,
        template,
    })
}

/// A pair of the given shapes with random weights, to be measured; `n_threads` as in [`LoadSettings`].
pub fn load_shape(
    shape: &PairShape,
    context: usize,
    device: DeviceChoice,
    n_threads: usize,
    cancel: &Cancel,
    progress: &mut dyn FnMut(Progress),
) -> Result<Pair> {
    let random = |shape: &Shape| -> Result<Source> {
        Ok(Source {
            title: format!("{} (random weights)", shape.title),
            file: shape.random_file()?,
            hyper: shape.hyperparameters(),
        })
    };
    let backend = device::open(device, n_threads)?;
    let target = random(&shape.target)?;
    let draft = match &shape.draft {
        DraftShape::Embedded(embedded) => Source::new(embedded.name.to_owned(), embedded.open()?)?,
        DraftShape::Random(shape) => random(shape)?,
    };
    pair(
        backend,
        target,
        Ok(draft),
        Asked {
            context,
            n_threads,
            occupied: 0,
        },
        cancel,
        progress,
    )
}

fn pair(
    mut backend: Backend,
    target: Source,
    draft: Result<Source, String>,
    asked: Asked,
    cancel: &Cancel,
    progress: &mut dyn FnMut(Progress),
) -> Result<Pair> {
    let mut notes = Vec::new();
    let context = context(asked.context, target.hyper.trained_context, &mut notes)?;
    let mut sources = vec![&target];
    sources.extend(&draft);
    if matches!(backend, Backend::Cpu(_)) {
        let check = |source: &&Source| {
            CpuDecoder::check(&source.file, &source.hyper).with_context(|| source.title.clone())
        };
        if let Err(why) = sources.iter().try_for_each(check) {
            notes.push(format!("computing with candle, which is slower: {why:#}"));
            backend = Backend::Candle(candle_core::Device::Cpu);
        }
    }
    if asked.n_threads > 0 && matches!(backend, Backend::Candle(_)) {
        notes.push(
            "the number of threads asked for is for the CPU engine; candle computes here".into(),
        );
    }
    let needed = memory_of(&backend, &sources, context);
    memory::check(needed, asked.occupied, memory::total())?;
    let identity = Identity {
        target: target.identity(),
        draft: draft.as_ref().ok().map(Source::identity),
    };

    let mut decode = |source: Source, what: &str| -> Result<Box<dyn Model>> {
        let Source { title, file, hyper } = &source;
        let total = file.weight_bytes();
        let mut progress = |done| {
            let what = what.to_owned();
            progress(Progress::Loading(Loading { what, done, total }));
        };
        let tensors = Tensors::new(file, cancel, &mut progress);
        let loaded = match &backend {
            Backend::Cpu(cores) => CpuDecoder::load(title, hyper, tensors, context, cores)
                .map(|model| Box::new(model) as _),
            Backend::Candle(device) => CandleDecoder::load(title, hyper, tensors, context, device)
                .map(|model| Box::new(model) as _),
        };
        loaded.with_context(|| format!("cannot load {}", file.name()))
    };
    let target = decode(target, "target")?;
    let draft = match draft {
        Ok(draft) => Ok(decode(draft, "draft")?),
        Err(why) => Err(why),
    };
    Ok(Pair {
        target,
        draft,
        device: backend.device(),
        identity: Some(identity),
        memory: needed,
        notes,
    })
}

/// The file of `reference`, fetched if need be.
pub fn open(
    reference: &Reference,
    offline: bool,
    cancel: &Cancel,
    progress: &mut dyn FnMut(Progress),
) -> Result<GgufFile> {
    let path = match reference {
        Reference::Preset(preset) => {
            &fetch::locate(&preset.target, offline, cancel, &mut |fetch| {
                progress(Progress::Fetch(fetch));
            })?
        }
        Reference::Remote(remote) => &fetch::locate(remote, offline, cancel, &mut |fetch| {
            progress(Progress::Fetch(fetch));
        })?,
        Reference::File(path) => path as &Path,
        Reference::Scripted => bail!("the scripted model has no file"),
    };
    GgufFile::open(path)
}

/// The draft, or why there is none. What the user named must work; what speck would add itself may be
/// missing.
fn draft(
    settings: &LoadSettings,
    tokenizer: &Tokenizer,
    cancel: &Cancel,
    progress: &mut dyn FnMut(Progress),
) -> Result<Result<Source, String>> {
    let named = match &settings.draft {
        DraftChoice::None => return Ok(Err("there is no draft model (--draft none)".into())),
        DraftChoice::Model(reference) => Some((
            reference.title(),
            open(reference, settings.offline, cancel, progress)?,
        )),
        DraftChoice::Auto => match &settings.target {
            Reference::Preset(preset) => {
                Some(open_draft(&preset.draft, settings, cancel, progress)?)
            }
            Reference::Remote(_) | Reference::File(_) | Reference::Scripted => None,
        },
    };
    if let Some((title, file)) = named {
        Tokenizer::from_gguf(&file)
            .and_then(|draft| tokenizer.check_same(&draft))
            .with_context(|| format!("{} cannot draft for this target", file.name()))?;
        return Source::new(title, file).map(Ok);
    }
    let built_in = SMOLLM2_135M_DRAFT.open()?;
    match tokenizer.check_same(&Tokenizer::from_gguf(&built_in)?) {
        Ok(()) => Source::new(SMOLLM2_135M_DRAFT.name.to_owned(), built_in).map(Ok),
        Err(_) => Ok(Err(
            "the built-in draft model has another vocabulary: name one with --draft".into(),
        )),
    }
}

fn open_draft(
    draft: &Draft,
    settings: &LoadSettings,
    cancel: &Cancel,
    progress: &mut dyn FnMut(Progress),
) -> Result<(String, GgufFile)> {
    match draft {
        Draft::Embedded(embedded) => Ok((embedded.name.to_owned(), embedded.open()?)),
        Draft::Remote(remote) => {
            let reference = Reference::Remote(remote.clone());
            let file = open(&reference, settings.offline, cancel, progress)?;
            Ok((reference.title(), file))
        }
    }
}

/// The context to use: what was asked for, within reason.
pub(super) fn context(asked: usize, trained: usize, notes: &mut Vec<String>) -> Result<usize> {
    match asked {
        0 => Ok(trained.min(DEFAULT_CONTEXT)),
        1..LEAST_CONTEXT => {
            bail!("a context of {asked} tokens is too small: at least {LEAST_CONTEXT}")
        }
        _ if asked > trained => {
            notes.push(format!(
                "context is {trained} tokens: the model was trained for no more"
            ));
            Ok(trained)
        }
        _ => Ok(asked),
    }
}

/// Bytes that the models need.
fn memory_of(backend: &Backend, sources: &[&Source], context: usize) -> u64 {
    sources
        .iter()
        .map(|Source { file, hyper, .. }| match backend {
            Backend::Cpu(_) => CpuDecoder::memory(file, hyper, context),
            Backend::Candle(_) => CandleDecoder::memory(file, hyper, context),
        })
        .fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests;
