//! Causal attention of a few rows of one query head over the cache.
//!
//! Keys and values are f16 in panels of [`LANES`]: keys by position (a panel holds 16 positions of one
//! component), values by component (a panel holds 16 components of one position), so that every sum
//! runs down a lane in order, components for scores and positions for values. **A row's bits depend on
//! the row and its prefix alone**, not on the rows that share its tile.

#![expect(
    clippy::inline_always,
    reason = "what works on registers must be compiled into its caller, for its instruction set"
)]

use super::isa::{Isa, for_each_isa};
use super::lanes::{LANES, Lanes, narrow};
use super::ops::{add_lanes, exp};

/// Rows that share the reading of keys and values.
pub(super) const TILE: usize = 4;

/// Keys and values of one head, `capacity` positions (a multiple of [`LANES`]) each.
#[derive(Clone, Copy)]
pub(super) struct HeadCache<'a> {
    /// `(capacity / 16, size, 16)`.
    pub keys: &'a [u16],
    /// `(size / 16, capacity, 16)`.
    pub values: &'a [u16],
}

/// Stores the key of `position`.
pub(super) fn put_key(keys: &mut [u16], position: usize, key: &[f32]) {
    let panels = &mut keys[position / LANES * LANES * key.len()..][..LANES * key.len()];
    for (panel, &x) in panels.chunks_exact_mut(LANES).zip(key) {
        panel[position % LANES] = narrow(x);
    }
}

/// Stores the value of `position`.
pub(super) fn put_value(values: &mut [u16], position: usize, value: &[f32]) {
    let panels = values.len() / value.len() * LANES;
    for (panels, value) in values
        .chunks_exact_mut(panels)
        .zip(value.chunks_exact(LANES))
    {
        for (cached, &x) in panels[position * LANES..][..LANES].iter_mut().zip(value) {
            *cached = narrow(x);
        }
    }
}

for_each_isa! {
    /// `out = softmax(q · keysᵀ / √size) · values` for the `n <= TILE` rows of `q` and `out`, `(n, size)`:
    /// row `i` sees `seen + i` positions. `scores` has room for a number per position and row, positions
    /// rounded up to [`LANES`].
    fn attend<L>(q: &[f32], n: usize, cache: HeadCache, seen: usize, scores: &mut [f32], out: &mut [f32]) {
        match n {
            1 => tile::<L, 1, 4>(q, cache, seen, scores, out),
            2 => tile::<L, 2, 2>(q, cache, seen, scores, out),
            3 => tile::<L, 3, 1>(q, cache, seen, scores, out),
            TILE => tile::<L, TILE, 1>(q, cache, seen, scores, out),
            _ => unreachable!("at most TILE rows"),
        }
    }
}

/// As [`attend`], for `T` rows and, for `P` panels at a time, so that enough sums run side by side.
#[inline(always)]
fn tile<L: Lanes, const T: usize, const P: usize>(
    q: &[f32],
    cache: HeadCache,
    seen: usize,
    scores: &mut [f32],
    out: &mut [f32],
) {
    let size = q.len() / T;
    let stride = scores.len() / T;
    let panels = (seen + T - 1).div_ceil(LANES);
    let many = panels / P * P;
    for panel in (0..many).step_by(P) {
        score::<L, T, P>(q, cache.keys, panel, scores);
    }
    for panel in many..panels {
        score::<L, T, 1>(q, cache.keys, panel, scores);
    }
    let mut inverse = [0.0; T];
    for t in 0..T {
        inverse[t] = softmax::<L>(&mut scores[t * stride..][..stride], seen + t);
    }
    out.fill(0.0);
    let many = size / LANES / P * P;
    for panel in (0..many).step_by(P) {
        weigh::<L, T, P>(scores, cache.values, size, panel, 0..seen, out);
    }
    for panel in many..size / LANES {
        weigh::<L, T, 1>(scores, cache.values, size, panel, 0..seen, out);
    }
    for t in 1..T {
        let (scores, out) = (
            &scores[t * stride..][..stride],
            &mut out[t * size..][..size],
        );
        for panel in 0..size / LANES {
            weigh::<L, 1, 1>(scores, cache.values, size, panel, seen..seen + t, out);
        }
    }
    for (out, inverse) in out.chunks_exact_mut(size).zip(inverse) {
        for out in out {
            *out *= inverse;
        }
    }
}

/// Scores of `T` rows for the positions of `P` panels from `panel` on.
#[inline(always)]
fn score<L: Lanes, const T: usize, const P: usize>(
    q: &[f32],
    keys: &[u16],
    panel: usize,
    scores: &mut [f32],
) {
    let size = q.len() / T;
    let stride = scores.len() / T;
    let keys: [&[u16]; P] =
        std::array::from_fn(|p| &keys[(panel + p) * size * LANES..][..size * LANES]);
    let q: [&[f32]; T] = std::array::from_fn(|t| &q[t * size..][..size]);
    let mut sums = [[L::splat(0.0); P]; T];
    for i in 0..size {
        let x: [L; T] = std::array::from_fn(|t| L::splat(q[t][i]));
        for p in 0..P {
            let key = L::widen(sixteen(&keys[p][i * LANES..]));
            for t in 0..T {
                sums[t][p] = x[t].mul_add(key, sums[t][p]);
            }
        }
    }
    let scale = L::splat(1.0 / (size as f32).sqrt());
    for (t, sums) in sums.into_iter().enumerate() {
        for (p, sum) in sums.into_iter().enumerate() {
            let to = &mut scores[t * stride + (panel + p) * LANES..];
            sum.mul(scale).store(sixteen_mut(to));
        }
    }
}

/// Scores of the first `seen` positions to their exponentials; returns one over their sum.
#[inline(always)]
fn softmax<L: Lanes>(scores: &mut [f32], seen: usize) -> f32 {
    let scores = &mut scores[..seen.next_multiple_of(LANES)];
    scores[seen..].fill(f32::NEG_INFINITY);
    let mut lanes = [f32::NEG_INFINITY; LANES];
    let mut largest = L::splat(f32::NEG_INFINITY);
    for scores in scores.chunks_exact(LANES) {
        largest = L::load(sixteen(scores)).max(largest);
    }
    largest.store(&mut lanes);
    let largest = lanes.into_iter().fold(f32::NEG_INFINITY, f32::max);
    let mut total = [0.0f32; LANES];
    for scores in scores.chunks_exact_mut(LANES) {
        let scores = sixteen_mut(scores);
        for i in 0..LANES {
            scores[i] = exp(scores[i] - largest);
            total[i] += scores[i];
        }
    }
    1.0 / add_lanes(total)
}

/// Adds the values of some positions, weighed, to `P` panels of components of `T` rows.
#[inline(always)]
fn weigh<L: Lanes, const T: usize, const P: usize>(
    weights: &[f32],
    values: &[u16],
    size: usize,
    panel: usize,
    positions: std::ops::Range<usize>,
    out: &mut [f32],
) {
    let stride = weights.len() / T;
    let capacity = values.len() / size;
    let (from, len) = (positions.start, positions.len());
    let weights: [&[f32]; T] = std::array::from_fn(|t| &weights[t * stride + from..][..len]);
    let values: [&[u16]; P] =
        std::array::from_fn(|p| &values[((panel + p) * capacity + from) * LANES..][..len * LANES]);
    let at = |t: usize, p: usize| t * size + (panel + p) * LANES;
    let mut sums = [[L::splat(0.0); P]; T];
    for t in 0..T {
        for p in 0..P {
            sums[t][p] = L::load(sixteen(&out[at(t, p)..]));
        }
    }
    for i in 0..len {
        let weight: [L; T] = std::array::from_fn(|t| L::splat(weights[t][i]));
        for p in 0..P {
            let value = L::widen(sixteen(&values[p][i * LANES..]));
            for t in 0..T {
                sums[t][p] = weight[t].mul_add(value, sums[t][p]);
            }
        }
    }
    for (t, sums) in sums.into_iter().enumerate() {
        for (p, sum) in sums.into_iter().enumerate() {
            sum.store(sixteen_mut(&mut out[at(t, p)..]));
        }
    }
}

#[inline(always)]
fn sixteen<X>(from: &[X]) -> &[X; LANES] {
    from.first_chunk().expect("a whole panel")
}

#[inline(always)]
fn sixteen_mut<X>(from: &mut [X]) -> &mut [X; LANES] {
    from.first_chunk_mut().expect("a whole panel")
}
