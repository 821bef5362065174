//! Where a model computes: the CPU, or the Mac's GPU. The only platform choice in speck.

use anyhow::{Result, bail};
use candle_core::Device;

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

/// Opens the device, and says in a word or two what it is.
pub(super) fn open(choice: DeviceChoice) -> Result<(Device, String)> {
    let cpu = || {
        (
            Device::Cpu,
            format!("cpu ×{}", candle_core::utils::get_num_threads()),
        )
    };
    match choice {
        DeviceChoice::Cpu => Ok(cpu()),
        DeviceChoice::Auto => Ok(metal()?.unwrap_or_else(cpu)),
        DeviceChoice::Metal => match metal()? {
            Some(metal) => Ok(metal),
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

/// The first Metal device. Listed first: candle panics where there is none.
#[cfg(feature = "metal")]
fn metal() -> Result<Option<(Device, String)>> {
    if candle_metal_kernels::metal::Device::all().is_empty() {
        return Ok(None);
    }
    Ok(Some((Device::new_metal(0)?, "metal".into())))
}

#[cfg(not(feature = "metal"))]
#[expect(clippy::unnecessary_wraps, reason = "the same signature as with Metal")]
fn metal() -> Result<Option<(Device, String)>> {
    Ok(None)
}
