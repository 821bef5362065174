//! Every instruction set against the scalar specification, and packing against candle's reading of the
//! same blocks.
//!
//! Under Miri (`scripts/check-miri.sh`) they take one type of each form and small sizes, and what looks at
//! numbers alone is left out.

mod attention_rows;
mod lanes_random;
mod order;

use candle_core::Device;
use candle_core::Tensor;
use candle_core::quantized::{GgmlDType, QTensor};

use super::attention::{self, HeadCache};
use super::buffers::Quantized;
use super::isa::{Isa, for_each_isa};
use super::kernel::{self, Activations, Job, NONE, Out, TILE};
use super::lanes::{self, LANES, Lanes};
use super::ops;
use super::pack::{Form, GROUP, Matrix};
use super::shared::Shared;
use super::unpack::BLOCK;

/// Reproducible numbers in -1..1.
fn numbers(seed: u64, n: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    };
    (0..n).map(|_| next()).collect()
}

#[cfg(miri)]
const DTYPES: [GgmlDType; 4] = [
    GgmlDType::Q4_1,
    GgmlDType::Q5_1,
    GgmlDType::Q8_0,
    GgmlDType::Q6K,
];
#[cfg(not(miri))]
const DTYPES: [GgmlDType; 11] = [
    GgmlDType::F32,
    GgmlDType::F16,
    GgmlDType::BF16,
    GgmlDType::Q4_0,
    GgmlDType::Q4_1,
    GgmlDType::Q5_0,
    GgmlDType::Q5_1,
    GgmlDType::Q8_0,
    GgmlDType::Q4K,
    GgmlDType::Q5K,
    GgmlDType::Q6K,
];

/// Columns of a matrix of `dtype`.
fn columns_of(dtype: GgmlDType) -> usize {
    if cfg!(miri) { dtype.block_size() } else { 512 }
}

/// Width of a head for attention.
const HEAD: usize = if cfg!(miri) { LANES } else { 64 };
/// Positions that a tile's first row sees; under Miri the rows end in two panels.
const SEEN: usize = if cfg!(miri) { LANES - 1 } else { 290 };

/// Blocks of `dtype` as candle quantises random numbers, and the numbers candle reads back from them.
fn blocks(dtype: GgmlDType, rows: usize, columns: usize) -> (Vec<u8>, Vec<f32>) {
    let values =
        Tensor::from_vec(numbers(7, rows * columns), (rows, columns), &Device::Cpu).unwrap();
    let tensor = QTensor::quantize(&values, dtype).unwrap();
    let bytes = tensor.data().unwrap().into_owned();
    let read = tensor
        .dequantize(&Device::Cpu)
        .unwrap()
        .flatten_all()
        .unwrap()
        .to_vec1()
        .unwrap();
    (bytes, read)
}

#[test]
fn packed_weights_stand_for_what_the_file_says() {
    // The last group is filled up.
    let rows = if cfg!(miri) { 2 } else { 24 };
    for dtype in DTYPES {
        let columns = columns_of(dtype);
        let (bytes, expect) = blocks(dtype, rows, columns);
        let matrix = Matrix::pack(dtype, &bytes, rows, columns).unwrap();
        // Exact where packing only moves bits; else within what rounding to f16 or 8 bits costs.
        let tolerance = match dtype {
            GgmlDType::Q4_0
            | GgmlDType::Q4_1
            | GgmlDType::Q5_0
            | GgmlDType::Q5_1
            | GgmlDType::Q8_0 => 0.0,
            GgmlDType::Q4K | GgmlDType::Q5K | GgmlDType::Q6K => 2e-3,
            _ => 5e-3,
        };
        let mut row = vec![0.0; columns];
        for (i, expect) in expect.chunks_exact(columns).enumerate() {
            matrix.row(i, &mut row);
            for (column, (&got, &expect)) in row.iter().zip(expect).enumerate() {
                let off = (got - expect).abs();
                assert!(
                    off <= tolerance,
                    "{dtype:?} [{i}, {column}]: {got} for {expect}"
                );
            }
        }
    }
}

/// Products of `n` rows with every group of a matrix, as bits.
fn products(isa: Isa, matrix: &Matrix, columns: usize, n: usize, tile: usize) -> Vec<u32> {
    let mut x = numbers(11, n * columns);
    // Outliers in all columns of a block, by and by.
    x.iter_mut().step_by(2 * BLOCK + 1).for_each(|x| *x += 20.0);
    let rows = Quantized::new(columns);
    for (row, x) in x.chunks_exact(columns).enumerate() {
        // SAFETY: nobody else has the buffers.
        unsafe { rows.put(isa, row, 0, x) };
    }
    // SAFETY: as above.
    let activations = unsafe { rows.rows() };
    let stride = matrix.groups() * GROUP;
    let values = Shared::new(n * stride);
    for group in 0..matrix.groups() {
        let out = Out {
            values: &values,
            start: group * GROUP,
            stride,
        };
        let job = Job {
            form: matrix.form(),
            weights: matrix.group(group),
            activations,
            out,
        };
        for first in (0..n).step_by(tile) {
            kernel::group(isa, &job, first, tile.min(n - first));
        }
    }
    // SAFETY: nobody else has the buffer.
    unsafe { values.read(0, n * stride) }
        .iter()
        .map(|value| value.to_bits())
        .collect()
}

#[test]
fn every_instruction_set_gives_the_specifications_bits_for_any_number_of_rows() {
    let mut forms = Vec::new();
    let (rows, n, tiles) = if cfg!(miri) {
        (2, 3, 2..=2)
    } else {
        (2 * GROUP, 7, 1..=TILE)
    };
    for dtype in DTYPES {
        let columns = columns_of(dtype);
        let (bytes, _) = blocks(dtype, rows, columns);
        let matrix = Matrix::pack(dtype, &bytes, rows, columns).unwrap();
        forms.push(matrix.form());
        let expect = products(Isa::Scalar, &matrix, columns, n, 1);
        for &isa in Isa::ALL.iter().filter(|isa| isa.is_here()) {
            for tile in tiles.clone() {
                let got = products(isa, &matrix, columns, n, tile);
                assert!(
                    got == expect,
                    "{dtype:?} on {} in tiles of {tile}",
                    isa.name()
                );
            }
        }
    }
    for form in [Form::Q4, Form::Q8, Form::Q8Min, Form::Q8Half] {
        assert!(forms.contains(&form));
    }
}

/// The largest quants of both sides: where a narrow sum would overflow.
#[test]
fn extreme_quants_do_not_overflow() {
    for (dtype, block) in [
        (GgmlDType::Q4_1, [&[0, 60, 0, 0][..], &[0xFF; 16]].concat()),
        (GgmlDType::Q8_0, [&[0, 60][..], &[0x80; 32]].concat()),
        (GgmlDType::Q8_0, [&[0, 60][..], &[0x7F; 32]].concat()),
    ] {
        let matrix = Matrix::pack(dtype, &block.repeat(GROUP), GROUP, BLOCK).unwrap();
        let quants = [-127i8; BLOCK];
        let activations = Activations {
            quants: &quants,
            quant_sums: &[[-127 * 16; 2]],
            scales: &[1.0],
            sums: &[-127.0 * 32.0],
            outlier_columns: &[NONE; 8],
            outlier_values: &[0.0],
            n_blocks: 1,
        };
        let mut weights = [0.0; BLOCK];
        matrix.row(0, &mut weights);
        let expect: f32 = weights.iter().map(|weight| weight * -127.0).sum();
        for &isa in Isa::ALL.iter().filter(|isa| isa.is_here()) {
            let values = Shared::new(GROUP);
            let out = Out {
                values: &values,
                start: 0,
                stride: GROUP,
            };
            let job = Job {
                form: matrix.form(),
                weights: matrix.group(0),
                activations,
                out,
            };
            kernel::group(isa, &job, 0, 1);
            // SAFETY: nobody else has the buffer.
            assert_eq!(
                unsafe { values.read(0, GROUP) },
                [expect; GROUP],
                "{dtype:?} {}",
                isa.name()
            );
        }
    }
}

#[test]
fn operations_have_the_same_bits_on_every_instruction_set() {
    let run = |isa: Isa| {
        let mut x = numbers(1, 256);
        let mut out = vec![0.0; 256];
        ops::rms_norm(isa, &x, &numbers(2, 256), 1e-5, &mut out);
        ops::silu_product(isa, &mut out, &numbers(3, 256));
        ops::add(isa, &mut x, &out);
        ops::rotate_halves(isa, &mut x, &numbers(4, 128), &numbers(5, 128));
        ops::rotate_neighbours(isa, &mut x, &numbers(6, 128), &numbers(7, 128));
        let capacity = (SEEN + 2).next_multiple_of(LANES);
        let cache: Vec<u16> = numbers(8, HEAD * capacity)
            .into_iter()
            .map(lanes::narrow)
            .collect();
        let cache = HeadCache {
            keys: &cache,
            values: &cache,
        };
        let (q, mut scores) = (numbers(9, 3 * HEAD), vec![0.0; 3 * capacity]);
        let attended = &mut out[..3 * HEAD];
        attention::attend(isa, &q, 3, cache, SEEN, &mut scores, attended);
        x.extend(out);
        x.into_iter().map(f32::to_bits).collect::<Vec<_>>()
    };
    let expect = run(Isa::Scalar);
    for &isa in Isa::ALL.iter().filter(|isa| isa.is_here()) {
        assert!(run(isa) == expect, "{}", isa.name());
    }
}

#[test]
#[cfg_attr(miri, ignore = "numbers alone")]
fn the_exponential_is_close() {
    for i in -8700..8800 {
        let x = i as f32 / 100.0;
        let (got, expect) = (f64::from(ops::exp(x)), f64::from(x).exp());
        assert!(
            (got / expect - 1.0).abs() < 3e-7,
            "e^{x} = {expect}, not {got}"
        );
    }
    assert_eq!(ops::exp(-1000.0).to_bits(), 0);
}

#[test]
#[cfg_attr(miri, ignore = "numbers alone")]
fn halves_survive_the_cache() {
    for bits in (0u16..0x7C00).chain(0x8000..0xFC00) {
        let x = half::f16::from_bits(bits).to_f32();
        assert_eq!(lanes::narrow(x), bits);
        assert_eq!(lanes::widen(bits).to_bits(), x.to_bits());
    }
    assert_eq!(lanes::narrow(1e9), half::f16::MAX.to_bits());
}

/// What the rounding to 8 bits says of values that are no numbers.
#[test]
fn quantising_shows_what_is_not_finite() {
    for &isa in Isa::ALL.iter().filter(|isa| isa.is_here()) {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut x = numbers(1, 2 * BLOCK);
            x[BLOCK + 5] = bad;
            let rows = Quantized::new(2 * BLOCK);
            // SAFETY: nobody else has the buffers.
            let Activations { scales, sums, .. } = unsafe {
                rows.put(isa, 0, 0, &x);
                rows.rows()
            };
            assert!(scales[0].is_finite() && scales[1].is_nan() && sums[1].is_nan());
        }
    }
}

#[test]
fn quants_are_the_nearest_to_even_and_their_sum_is_exact() {
    let x: [f32; LANES] = [
        0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 126.5, -126.5, 127.0, -127.0, 0.49, -0.51, 3.0, 64.2,
        -64.8, 0.0,
    ];
    let expect = [
        0, 2, 2, 0, -2, -2, 126, -126, 127, -127, 0, -1, 3, 64, -65, 0,
    ];
    let total: i32 = expect.iter().map(|&quant| i32::from(quant)).sum();
    // The largest is 127: the scale is 1.
    let x = [x, [0.0; LANES]].concat();
    let expect = [expect, [0; LANES]].concat();
    for &isa in Isa::ALL.iter().filter(|isa| isa.is_here()) {
        let rows = Quantized::new(BLOCK);
        // SAFETY: nobody else has the buffers.
        let Activations {
            quants,
            quant_sums,
            scales,
            sums,
            ..
        } = unsafe {
            rows.put(isa, 0, 0, &x);
            rows.rows()
        };
        let got = (&quants[..BLOCK], quant_sums[0], scales[0], sums[0]);
        let expect = (&expect[..], [total, 0], 1.0, total as f32);
        assert_eq!(got, expect, "{}", isa.name());
    }
}

for_each_isa! {
    fn widened<L>(halves: &[u16], out: &mut [f32]) {
        for (halves, out) in halves.as_chunks().0.iter().zip(out.as_chunks_mut().0) {
            L::widen(halves).store(out);
        }
    }

    fn larger<L>(a: &[f32], b: &[f32], out: &mut [f32]) {
        let (a, b) = (a.as_chunks().0, b.as_chunks().0);
        for ((a, b), out) in a.iter().zip(b).zip(out.as_chunks_mut().0) {
            L::load(a).max(L::load(b)).store(out);
        }
    }
}

/// Every f16 but NaN; zeros of both signs and NaN on either side of a comparison.
#[test]
#[cfg_attr(miri, ignore = "numbers alone")]
fn lanes_have_the_specifications_bits_for_odd_numbers() {
    let mut halves: Vec<u16> = (0..=0x7C00).chain(0x8000..=0xFC00).collect();
    halves.resize(halves.len().next_multiple_of(LANES), 0);
    let odd = [
        0.0,
        -0.0,
        f32::NAN,
        f32::INFINITY,
        f32::MIN_POSITIVE,
        -1.0,
        1e-40,
        2.0,
    ];
    let a: Vec<f32> = odd.iter().flat_map(|&x| [x; 8]).collect();
    let b = odd.repeat(8);
    let run = |isa: Isa| {
        let (mut wide, mut most) = (vec![0.0; halves.len()], vec![0.0; a.len()]);
        widened(isa, &halves, &mut wide);
        larger(isa, &a, &b, &mut most);
        wide.extend(most);
        wide.into_iter().map(f32::to_bits).collect::<Vec<_>>()
    };
    let expect = run(Isa::Scalar);
    for &isa in Isa::ALL.iter().filter(|isa| isa.is_here()) {
        assert!(run(isa) == expect, "{}", isa.name());
    }
}

/// A block's number that is far larger than the others does not cost them their precision.
#[test]
fn an_outlier_is_multiplied_as_it_is() {
    let (bytes, weights) = blocks(GgmlDType::Q4_1, GROUP, BLOCK);
    let matrix = Matrix::pack(GgmlDType::Q4_1, &bytes, GROUP, BLOCK).unwrap();
    for &isa in Isa::ALL.iter().filter(|isa| isa.is_here()) {
        for column in (0..BLOCK).step_by(if cfg!(miri) { 13 } else { 1 }) {
            let mut x = numbers(5, BLOCK);
            x[column] = -1000.25;
            let rows = Quantized::new(BLOCK);
            let values = Shared::new(GROUP);
            // SAFETY: nobody else has the buffers.
            let y = unsafe {
                rows.put(isa, 0, 0, &x);
                let job = Job {
                    form: matrix.form(),
                    weights: matrix.group(0),
                    activations: rows.rows(),
                    out: Out {
                        values: &values,
                        start: 0,
                        stride: GROUP,
                    },
                };
                kernel::group(isa, &job, 0, 1);
                values.read(0, GROUP)
            };
            for (y, weights) in y.iter().zip(weights.chunks_exact(BLOCK)) {
                let expect: f32 = weights.iter().zip(&x).map(|(w, x)| w * x).sum();
                // With the outlier in the block its step would be 8, and the error up to 4 · Σ|w|.
                let bound = 0.004 * weights.iter().map(|w| w.abs()).sum::<f32>() + 1e-3;
                assert!(
                    (y - expect).abs() <= bound,
                    "{} {column}: {y} {expect}",
                    isa.name()
                );
            }
        }
    }
}
