//! The instruction sets: which this machine has, and functions compiled for each of them.

#[cfg(target_arch = "aarch64")]
use std::arch::is_aarch64_feature_detected;

use anyhow::{Context as _, Result};

/// An instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isa {
    /// Plain Rust: the specification of the others.
    Scalar,
    /// AVX2 with FMA and F16C.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 with VNNI: Intel's Ice Lake, AMD's Zen 4.
    #[cfg(target_arch = "x86_64")]
    Avx512Vnni,
    /// NEON with the dot products of 8-bit integers: Apple's M1, Arm's Cortex-A76.
    #[cfg(target_arch = "aarch64")]
    Dotprod,
    /// NEON with the matrix products of 8-bit integers: Apple's M2, Arm's Neoverse V1.
    #[cfg(target_arch = "aarch64")]
    I8mm,
}

impl Isa {
    /// All that this build knows, best last.
    pub const ALL: &'static [Self] = &[
        Self::Scalar,
        #[cfg(target_arch = "x86_64")]
        Self::Avx2,
        #[cfg(target_arch = "x86_64")]
        Self::Avx512Vnni,
        #[cfg(target_arch = "aarch64")]
        Self::Dotprod,
        #[cfg(target_arch = "aarch64")]
        Self::I8mm,
    ];

    /// Its name, as in `SPECK_ISA`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Vnni => "avx512",
            #[cfg(target_arch = "aarch64")]
            Self::Dotprod => "dotprod",
            #[cfg(target_arch = "aarch64")]
            Self::I8mm => "i8mm",
        }
    }

    /// Whether this machine has it.
    pub fn is_here(self) -> bool {
        match self {
            Self::Scalar => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => {
                is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("fma")
                    && is_x86_feature_detected!("f16c")
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Vnni => {
                Self::Avx2.is_here()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512vnni")
            }
            #[cfg(target_arch = "aarch64")]
            Self::Dotprod => is_aarch64_feature_detected!("dotprod"),
            #[cfg(target_arch = "aarch64")]
            Self::I8mm => Self::Dotprod.is_here() && is_aarch64_feature_detected!("i8mm"),
        }
    }

    /// The one that the environment variable `SPECK_ISA` names, else the best that this machine has;
    /// `None` where that is only the specification.
    pub fn choose() -> Result<Option<Self>> {
        let here = || Self::ALL.iter().copied().filter(|isa| isa.is_here());
        match std::env::var("SPECK_ISA")
            .ok()
            .filter(|name| !name.is_empty())
        {
            Some(name) => here()
                .find(|isa| isa.name() == name)
                .map(Some)
                .with_context(|| {
                    let names: Vec<_> = here().map(Self::name).collect();
                    format!(
                        "SPECK_ISA={name}: this machine has {}; unset it to have the best chosen",
                        names.join(", ")
                    )
                }),
            None => Ok(here().rfind(|&isa| isa != Self::Scalar)),
        }
    }
}

/// Compiles each function once for every instruction set and calls the one asked for. `<L>` stands for
/// its [`Lanes`](super::lanes::Lanes).
macro_rules! for_each_isa {
    ($($(#[$doc:meta])* fn $name:ident $(<$lanes:ident>)? ($($arg:ident: $type:ty),*) $(-> $out:ty)? $body:block)*) => {$(
        $(#[$doc])*
        pub(super) fn $name(isa: Isa, $($arg: $type),*) $(-> $out)? {
            #[inline(always)]
            fn body$(<$lanes: $crate::cpu::lanes::Lanes>)?($($arg: $type),*) $(-> $out)? $body
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,f16c")]
            fn avx2($($arg: $type),*) $(-> $out)? {
                $(type $lanes = $crate::cpu::lanes::avx2::Lanes16;)?
                body$(::<$lanes>)?($($arg),*)
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni,fma,f16c")]
            fn avx512($($arg: $type),*) $(-> $out)? {
                $(type $lanes = $crate::cpu::lanes::avx512::Lanes16;)?
                body$(::<$lanes>)?($($arg),*)
            }
            match isa {
                Isa::Scalar => {
                    $(type $lanes = $crate::cpu::lanes::Array;)?
                    body$(::<$lanes>)?($($arg),*)
                }
                #[cfg(target_arch = "x86_64")]
                // SAFETY: the instruction set is only chosen where `Isa::is_here`.
                Isa::Avx2 => unsafe { avx2($($arg),*) },
                #[cfg(target_arch = "x86_64")]
                // SAFETY: as above.
                Isa::Avx512Vnni => unsafe { avx512($($arg),*) },
                // Every aarch64 has NEON: the function itself is compiled for it.
                #[cfg(target_arch = "aarch64")]
                Isa::Dotprod | Isa::I8mm => {
                    $(type $lanes = $crate::cpu::lanes::neon::Lanes16;)?
                    body$(::<$lanes>)?($($arg),*)
                }
            }
        }
    )*};
}
pub(super) use for_each_isa;
