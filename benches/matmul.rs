//! The CPU engine's matrix products on one thread, by weight format, instruction set and rows: `cargo
//! bench`, or one of them by its name, `cargo bench -- q4_1`.
//!
//! The matrix is the size of one of the default target's feed-forward matrices, so it comes from the
//! core's cache: this is the arithmetic; `speck measure` shows it together with memory.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use speck::cpu::{Isa, Product};
use speck::model::gguf::GgufFile;

use candle_core::quantized::GgmlDType;

const ROWS: usize = 1536;
const COLUMNS: usize = 768;

fn main() {
    divan::main();
}

fn cases() -> impl Iterator<Item = Case> {
    let here = || {
        Isa::ALL
            .iter()
            .copied()
            .filter(|isa| isa.is_here() && *isa != Isa::Scalar)
    };
    here().flat_map(|isa| [1, 2, 4, 8, 16].map(|n| Case { isa, n }))
}

/// An instruction set and a number of rows.
struct Case {
    isa: Isa,
    n: usize,
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{}, {:2} rows", self.isa.name(), self.n)
    }
}

fn multiply(bencher: Bencher, case: &Case, dtype: GgmlDType) {
    let tensor = ("weights".to_owned(), vec![ROWS, COLUMNS], dtype);
    let file = GgufFile::random("random", vec![tensor]).expect("the shape fits the type");
    let bytes = file.bytes(file.tensor("weights").expect("it was asked for"));
    let mut product = Product::new(dtype, bytes, ROWS, COLUMNS).expect("the engine has the type");
    // About as many outliers as activations have: a fifth of the blocks.
    let x: Vec<f32> = (0..case.n * COLUMNS)
        .map(|i| {
            if i % 157 == 0 {
                5.0
            } else {
                (i as f32 * 0.7).sin()
            }
        })
        .collect();
    bencher
        .counter(ItemsCount::new(case.n * ROWS * COLUMNS))
        .bench_local(|| {
            black_box(product.run(case.isa, black_box(&x)));
        });
}

#[divan::bench(args = cases())]
fn q4_0(bencher: Bencher, case: &Case) {
    multiply(bencher, case, GgmlDType::Q4_0);
}

#[divan::bench(args = cases())]
fn q4_1(bencher: Bencher, case: &Case) {
    multiply(bencher, case, GgmlDType::Q4_1);
}

#[divan::bench(args = cases())]
fn q4_k(bencher: Bencher, case: &Case) {
    multiply(bencher, case, GgmlDType::Q4K);
}

#[divan::bench(args = cases())]
fn q6_k(bencher: Bencher, case: &Case) {
    multiply(bencher, case, GgmlDType::Q6K);
}

#[divan::bench(args = cases())]
fn q8_0(bencher: Bencher, case: &Case) {
    multiply(bencher, case, GgmlDType::Q8_0);
}
