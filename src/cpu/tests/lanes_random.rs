//! Each operation on lanes against the specification's, for numbers of every size.

use super::*;

/// Numbers with random signs, exponents from 2^-20 to 2^20 and fractions.
fn sizes(seed: u64, n: usize) -> Vec<f32> {
    let exponents = numbers(seed + 100, n);
    let pairs = numbers(seed, n).into_iter().zip(exponents);
    pairs.map(|(x, e)| x * (e * 20.0).exp2()).collect()
}

/// One name and the bits of one operation's results.
type Results = Vec<(&'static str, Vec<u32>)>;

fn stored<L: Lanes>(lanes: L) -> Vec<u32> {
    let mut out = [0.0; LANES];
    lanes.store(&mut out);
    out.map(f32::to_bits).to_vec()
}

for_each_isa! {
    fn results<L>(a: &[f32; LANES], b: &[f32; LANES], c: &[f32; LANES], words: &[u8; 4 * LANES]) -> Results {
        let (x, y, z) = (L::load(a), L::load(b), L::load(c));
        let (most, lane) = x.largest(y);
        let mut quants = [0i8; LANES];
        // Within i8.
        let total = x.mul(L::splat(127.0 / most)).round(&mut quants);
        let mut rounded = vec![total as u32];
        rounded.extend(quants.map(|quant| quant as u32));
        let mut results = vec![
            ("load", stored(x)),
            ("splat", stored(L::splat(a[0]))),
            ("mul", stored(x.mul(y))),
            ("mul_add", stored(x.mul_add(y, z))),
            ("max", stored(x.max(y))),
            ("largest", vec![most.to_bits(), lane as u32]),
            ("round", rounded),
        ];
        for (from, n) in [(0, 4), (4, 4), (8, 8), (24, 8), (28, 4), (3, 11), (0, 24)] {
            results.push(("unsigned", stored(L::unsigned(words, from, n))));
            results.push(("signed", stored(L::signed(words, from, n))));
        }
        results
    }
}

#[test]
#[cfg_attr(miri, ignore = "numbers alone")]
fn every_operation_has_the_specifications_bits() {
    for seed in 1..50 {
        let row = |n: u64| -> [f32; LANES] { sizes(3 * seed + n, LANES).try_into().unwrap() };
        let (mut a, mut b, c) = (row(0), row(1), row(2));
        // The largest twice: the first counts, on either side.
        match seed % 3 {
            0 => (a[3], a[9]) = (-3e6, 3e6),
            1 => (b[2], a[14]) = (3e6, 3e6),
            _ => (b[7], b[15]) = (3e6, -3e6),
        }
        let words = numbers(seed, 4 * LANES)
            .into_iter()
            .map(|x| (x * 128.0) as i8 as u8);
        let words: Vec<_> = words.collect();
        let words = words.first_chunk().expect("as many");
        let expect = results(Isa::Scalar, &a, &b, &c, words);
        for &isa in Isa::ALL.iter().filter(|isa| isa.is_here()) {
            let got = results(isa, &a, &b, &c, words);
            for ((name, got), (_, expect)) in got.iter().zip(&expect) {
                assert_eq!(got, expect, "{name} on {}, seed {seed}", isa.name());
            }
        }
    }
}
