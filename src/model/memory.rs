//! What models need in memory, and whether this machine has it: a failed allocation would end the program
//! without a word.

use anyhow::{Result, bail};

/// Two pairs do not fit next to each other, though the new one alone would.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it does not fit beside the models that are loaded")]
pub struct NoRoomBeside;

/// The memory of this machine in bytes; `None` where it does not tell.
pub fn total() -> Option<u64> {
    let mut system = sysinfo::System::new().ok()?;
    system.refresh_memory();
    Some(system.total_memory()).filter(|&total| total > 0)
}

/// Why `needed` bytes are more than a machine with `total` has, in words; `None` where they are not.
pub fn shortage(needed: u64, total: u64) -> Option<String> {
    let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    (needed > total).then(|| {
        format!(
            "weights and context need {:.1} GiB and this machine has {:.1}",
            gib(needed),
            gib(total)
        )
    })
}

/// Refuses `needed` bytes where a machine with `total` has not as many, or has not beside `occupied`: that is
/// [`NoRoomBeside`].
pub fn check(needed: u64, occupied: u64, total: Option<u64>) -> Result<()> {
    let Some(total) = total else { return Ok(()) };
    if let Some(why) = shortage(needed, total) {
        bail!("{why}: choose a smaller model or a smaller --context");
    }
    if needed.saturating_add(occupied) > total {
        return Err(NoRoomBeside.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_and_what_fits_alone_is_told_apart() {
        let gib = 1 << 30;
        assert!(check(2 * gib, gib, Some(3 * gib)).is_ok());
        assert!(check(2 * gib, 9 * gib, None).is_ok());
        let beside = check(2 * gib, 2 * gib, Some(3 * gib)).unwrap_err();
        assert!(beside.is::<NoRoomBeside>());
        let alone = check(4 * gib, 0, Some(3 * gib)).unwrap_err();
        assert!(
            !alone.is::<NoRoomBeside>() && alone.to_string().contains("need 4.0 GiB"),
            "{alone}"
        );
    }
}
