//! Packed weights × a few rows of activations, a group of 16 weight rows at a time.

use super::isa::Isa;
use super::kernel::{self, Activations, Job, Out, TILE};
use super::pack::Matrix;

/// Multiplies the rows `0..n` by group `group` of `matrix`. The group's weights come from memory once,
/// and from the core's cache for each further tile.
pub(super) fn multiply_group(
    isa: Isa,
    matrix: &Matrix,
    group: usize,
    activations: Activations,
    n: usize,
    out: Out,
) {
    let job = Job {
        form: matrix.form(),
        weights: matrix.group(group),
        activations,
        out,
    };
    // Tiles of nearly equal size: a last tile of one row would unpack the weights for itself alone.
    let tiles = n.div_ceil(TILE);
    let mut first = 0;
    for tile in 0..tiles {
        let rows = (n - first).div_ceil(tiles - tile);
        kernel::group(isa, &job, first, rows);
        first += rows;
    }
}
