//! The order of additions, written out: the kernels' bits are those of the documented one, and of no
//! other. Without this, a comparison of bits that cannot see a fault would pass.

use super::*;
use crate::cpu::pack::get;

/// What one weight row adds to a product, as factors, in the documented order.
struct Terms {
    blocks: Vec<(f32, f32)>,
    outliers: Vec<(f32, f32)>,
}

fn terms(matrix: &Matrix, a: Activations, weight_row: usize) -> Terms {
    let form = matrix.form();
    let (mut blocks, mut outliers) = (Vec::new(), Vec::new());
    for (b, block) in matrix
        .group(0)
        .chunks_exact(form.block_bytes())
        .take(a.n_blocks)
        .enumerate()
    {
        let row = get(form, block, weight_row);
        let quants = &a.quants[b * BLOCK..][..BLOCK];
        let dot = |columns: std::ops::Range<usize>| {
            let products = columns.map(|i| i32::from(row.quants[i]) * i32::from(quants[i]));
            products.sum::<i32>() as f32 * a.scales[b]
        };
        match form {
            Form::Q8 => blocks.push((dot(0..BLOCK), row.scale)),
            Form::Q4 | Form::Q8Min => {
                blocks.push((dot(0..BLOCK), row.scale));
                blocks.push((a.sums[b], row.extra));
            }
            Form::Q8Half => {
                blocks.push((dot(0..BLOCK / 2), row.scale));
                blocks.push((dot(BLOCK / 2..BLOCK), row.extra));
            }
        }
        let column = usize::from(a.outlier_columns[b]);
        if column < BLOCK {
            let second = form == Form::Q8Half && column >= BLOCK / 2;
            let scale = if second { row.extra } else { row.scale };
            outliers.push((a.outlier_values[b] * f32::from(row.quants[column]), scale));
        }
    }
    Terms { blocks, outliers }
}

fn fused(terms: impl IntoIterator<Item = (f32, f32)>) -> f32 {
    terms.into_iter().fold(0.0, |y, (a, b)| a.mul_add(b, y))
}

/// An order of additions that a faulty kernel could have, and the one that it must have.
type Order = fn(&Terms) -> f32;

fn all(terms: &Terms) -> impl DoubleEndedIterator<Item = (f32, f32)> {
    terms.blocks.iter().chain(&terms.outliers).copied()
}

const DOCUMENTED: Order = |terms| fused(all(terms));

const FAULTS: [(&str, Order); 5] = [
    ("blocks backwards", |terms| fused(all(terms).rev())),
    ("two sums", |terms| {
        fused(all(terms).step_by(2)) + fused(all(terms).skip(1).step_by(2))
    }),
    ("the columns in two halves", |terms| {
        let n = terms.blocks.len() / 2;
        fused(all(terms).take(n)) + fused(all(terms).skip(n))
    }),
    ("outliers first", |terms| {
        fused(terms.outliers.iter().chain(&terms.blocks).copied())
    }),
    ("products rounded", |terms| {
        all(terms).fold(0.0, |y, (a, b)| y + a * b)
    }),
];

#[test]
#[cfg_attr(miri, ignore = "numbers alone")]
fn bits_are_those_of_the_documented_order_and_of_no_other() {
    let columns = 512;
    for dtype in DTYPES {
        let (bytes, _) = blocks(dtype, GROUP, columns);
        let matrix = Matrix::pack(dtype, &bytes, GROUP, columns).unwrap();
        let rows = Quantized::new(columns);
        let mut x = numbers(11, columns);
        x.iter_mut().step_by(2 * BLOCK + 1).for_each(|x| *x += 20.0);
        // SAFETY: nobody else has the buffers.
        let activations = unsafe {
            rows.put(Isa::Scalar, 0, 0, &x);
            rows.rows()
        };
        let terms: Vec<Terms> = (0..GROUP)
            .map(|row| terms(&matrix, activations, row))
            .collect();
        assert!(!terms[0].outliers.is_empty());
        let sums = |order: Order| -> Vec<u32> {
            terms.iter().map(|terms| order(terms).to_bits()).collect()
        };
        for &isa in Isa::ALL.iter().filter(|isa| isa.is_here()) {
            let got = products(isa, &matrix, columns, 1, 1);
            assert!(got == sums(DOCUMENTED), "{dtype:?} on {}", isa.name());
            for (fault, order) in FAULTS {
                assert!(
                    got != sums(order),
                    "{dtype:?} on {}: {fault} goes unseen",
                    isa.name()
                );
            }
        }
    }
}
