//! The fake model: what it writes is a function of the tokens before it, with a pass of known cost.
//!
//! It stands in for a real model in tests and in the demo (`--target scripted`), keeps the same
//! contract, and can be told to fail.

use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};

use super::{Logits, Model, PassError, Token, check_room, prefill_in_chunks};
use crate::cancel::Cancel;

/// Tokens of one prefill chunk.
const CHUNK: usize = 64;
/// The logit of the token that a script writes, where the others have 0: at temperatures up to 1, sampling
/// writes it too.
const WRITTEN: f32 = 30.0;

/// What the model does after the given tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It writes this token.
    Write(Token),
    /// The pass fails.
    Fail,
    /// The pass panics, as a bug would.
    Panic,
}

/// Fills a row of zeros with the logits after the given tokens.
type Script = Box<dyn FnMut(&[Token], &mut [f32]) -> Result<()> + Send>;

/// A model that follows a function.
pub struct ScriptedModel {
    name: String,
    n_logits: usize,
    capacity: usize,
    pass_time: Duration,
    script: Script,
    cached: Vec<Token>,
}

impl ScriptedModel {
    /// A model that writes `script(all tokens so far)`, with rows of `n_logits`.
    pub fn new(
        name: &str,
        n_logits: usize,
        capacity: usize,
        mut script: impl FnMut(&[Token]) -> Step + Send + 'static,
    ) -> Self {
        let fill = move |tokens: &[Token], row: &mut [f32]| match script(tokens) {
            Step::Write(next) => {
                row[next as usize] = WRITTEN;
                Ok(())
            }
            Step::Fail => Err(anyhow!("the scripted model was told to fail")),
            Step::Panic => panic!("the scripted model was told to panic"),
        };
        Self::with_script(name, n_logits, capacity, Box::new(fill))
    }

    /// A model whose row of `n_logits` after any tokens is `logits(all tokens so far)`.
    pub fn with_logits(
        name: &str,
        n_logits: usize,
        capacity: usize,
        mut logits: impl FnMut(&[Token]) -> Vec<f32> + Send + 'static,
    ) -> Self {
        let fill = move |tokens: &[Token], row: &mut [f32]| {
            row.copy_from_slice(&logits(tokens));
            Ok(())
        };
        Self::with_script(name, n_logits, capacity, Box::new(fill))
    }

    fn with_script(name: &str, n_logits: usize, capacity: usize, script: Script) -> Self {
        Self {
            name: name.to_owned(),
            n_logits,
            capacity,
            pass_time: Duration::ZERO,
            script,
            cached: Vec::new(),
        }
    }

    /// Makes each pass (and each chunk of a prefill) take at least this long.
    #[must_use]
    pub fn with_pass_time(mut self, pass_time: Duration) -> Self {
        self.pass_time = pass_time;
        self
    }

    /// Sleeps until the pass has taken its time, as a real pass would: cancel is seen on the way.
    fn spend(&self, started: Instant, cancel: &Cancel) -> Result<(), PassError> {
        loop {
            cancel.check()?;
            let left = self.pass_time.saturating_sub(started.elapsed());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(Duration::from_millis(5)));
        }
    }
}

impl Model for ScriptedModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn n_logits(&self) -> usize {
        self.n_logits
    }

    fn capacity(&self) -> usize {
        self.capacity
    }

    fn len(&self) -> usize {
        self.cached.len()
    }

    fn pass_bytes(&self) -> u64 {
        0
    }

    fn truncate(&mut self, len: usize) {
        self.cached.truncate(len);
    }

    fn prefill(
        &mut self,
        tokens: &[Token],
        cancel: &Cancel,
        progress: &mut dyn FnMut(usize),
    ) -> Result<(), PassError> {
        prefill_in_chunks(self, tokens, CHUNK, progress, |model, chunk| {
            model.spend(Instant::now(), cancel)?;
            model.cached.extend_from_slice(chunk);
            Ok(())
        })
    }

    fn forward(&mut self, tokens: &[Token], cancel: &Cancel) -> Result<Logits, PassError> {
        check_room(self, tokens.len())?;
        let started = Instant::now();
        let before = self.cached.len();
        let mut data = vec![0.0; tokens.len() * self.n_logits];
        for (row, &token) in data.chunks_exact_mut(self.n_logits).zip(tokens) {
            self.cached.push(token);
            if let Err(error) = (self.script)(&self.cached, row) {
                self.cached.truncate(before);
                return Err(error.into());
            }
        }
        if let Err(stopped) = self.spend(started, cancel) {
            self.cached.truncate(before);
            return Err(stopped);
        }
        Ok(Logits::new(data, self.n_logits))
    }
}
