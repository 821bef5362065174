//! Where a model computes: the CPU, or the Mac's GPU. The only platform choice in speck.

use std::fmt::{self, Display, Formatter};

use anyhow::{Context as _, Result, bail};
use candle_core::Device as CandleDevice;

use crate::cpu::{Cores, Isa};

/// The device asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceChoice {
    /// The GPU where there is one that speck was built for, else the CPU.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// The Mac's GPU.
    Metal,
}

/// What computes a model.
#[derive(Clone)]
pub(super) enum Backend {
    /// The CPU engine.
    Cpu(Cores),
    /// Candle, on a GPU or on a CPU that the engine has no fast instruction set for.
    Candle(CandleDevice),
}

/// Where a model computes, for people and programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// `cpu`, `metal`, or `scripted` for the fake model.
    pub name: &'static str,
    /// Threads, on a CPU.
    pub n_threads: Option<usize>,
    /// The CPU engine's instruction set, where it computes.
    pub isa: Option<&'static str>,
}

impl Device {
    /// The fake model's.
    pub(crate) fn scripted() -> Self {
        Self {
            name: "scripted",
            n_threads: None,
            isa: None,
        }
    }
}

impl Display for Device {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        write!(f, "{}", self.name)?;
        match self.n_threads {
            Some(n_threads) => write!(f, " ×{n_threads}"),
            None => Ok(()),
        }
    }
}

impl Backend {
    /// What it is.
    pub fn device(&self) -> Device {
        let cpu = |n_threads, isa| Device {
            name: "cpu",
            n_threads: Some(n_threads),
            isa,
        };
        match self {
            Self::Cpu(cores) => cpu(cores.n_threads(), Some(cores.isa().name())),
            Self::Candle(device) if device.is_metal() => Device {
                name: "metal",
                n_threads: None,
                isa: None,
            },
            Self::Candle(_) => cpu(candle_core::utils::get_num_threads(), None),
        }
    }
}

/// Opens the device asked for. `n_threads` of the CPU engine; 0 leaves their number to the machine.
pub(super) fn open(choice: DeviceChoice, n_threads: usize) -> Result<Backend> {
    match choice {
        DeviceChoice::Cpu => cpu(n_threads),
        DeviceChoice::Auto => match metal()? {
            Some(device) => Ok(Backend::Candle(device)),
            None => cpu(n_threads),
        },
        DeviceChoice::Metal => match metal()? {
            Some(device) => Ok(Backend::Candle(device)),
            None if cfg!(feature = "metal") => {
                bail!("no Metal device is visible to this process: use --device cpu")
            }
            None => bail!(
                "this speck was built without Metal: use --device cpu, or build on a Mac with \
                 --features metal"
            ),
        },
    }
}

fn cpu(n_threads: usize) -> Result<Backend> {
    match Isa::choose()? {
        None => Ok(Backend::Candle(CandleDevice::Cpu)),
        Some(isa) => {
            let n_threads = match n_threads {
                0 => default_threads(),
                asked => asked,
            };
            let cores = Cores::new(isa, n_threads)
                .with_context(|| format!("cannot start the engine's {n_threads} threads"))?;
            Ok(Backend::Cpu(cores))
        }
    }
}

/// Physical cores, on a Mac performance cores: a pass waits for its slowest thread. No more than this
/// process may use: a container or `taskset` can leave it less than the machine has.
fn default_threads() -> usize {
    let cores = candle_core::utils::get_num_threads();
    std::thread::available_parallelism().map_or(cores, |most| cores.min(most.get()))
}

/// The first Metal device. Listed first: candle panics where there is none.
#[cfg(feature = "metal")]
fn metal() -> Result<Option<CandleDevice>> {
    if candle_metal_kernels::metal::Device::all().is_empty() {
        return Ok(None);
    }
    Ok(Some(CandleDevice::new_metal(0)?))
}

#[cfg(not(feature = "metal"))]
#[expect(clippy::unnecessary_wraps, reason = "the same signature as with Metal")]
fn metal() -> Result<Option<CandleDevice>> {
    Ok(None)
}
