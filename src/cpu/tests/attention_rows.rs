//! Attention: right, and the same bits for a row in any tile.

use super::*;

/// Against a plain computation in f64: rows of a tile, prefixes that end inside a panel.
#[test]
fn attention_is_softmax_of_products_times_values() {
    let (size, capacity, tile) = if cfg!(miri) {
        (LANES, 2 * LANES, 2)
    } else {
        (32, 64, attention::TILE)
    };
    let prefixes = [1, 2, 15, 16, 17, 47, capacity + 1 - tile];
    // One of two rows under Miri sees a panel and a part of the next.
    let prefixes = if cfg!(miri) { &[LANES] } else { &prefixes[..] };
    let mut keys = vec![0; size * capacity];
    let mut values = keys.clone();
    let (k, v) = (numbers(1, size * capacity), numbers(2, size * capacity));
    for position in 0..capacity {
        let at = position * size;
        attention::put_key(&mut keys, position, &k[at..at + size]);
        attention::put_value(&mut values, position, &v[at..at + size]);
    }
    let cache = HeadCache {
        keys: &keys,
        values: &values,
    };
    for &isa in Isa::ALL.iter().filter(|isa| isa.is_here()) {
        for n in 1..=tile {
            for &seen in prefixes {
                let q = numbers(3, n * size);
                let (mut scores, mut out) = (vec![0.0; n * capacity], vec![0.0; n * size]);
                attention::attend(isa, &q, n, cache, seen, &mut scores, &mut out);
                for (i, (q, out)) in q.chunks(size).zip(out.chunks(size)).enumerate() {
                    let dot = |k: &[f32]| -> f64 {
                        let pairs = q.iter().zip(k);
                        pairs.map(|(q, k)| f64::from(*q) * f64::from(*k)).sum()
                    };
                    let weights: Vec<f64> = (k.chunks(size).take(seen + i))
                        .map(|k| (dot(k) / (size as f64).sqrt()).exp())
                        .collect();
                    let total: f64 = weights.iter().sum();
                    for (component, &got) in out.iter().enumerate() {
                        let value = |position: usize| f64::from(v[position * size + component]);
                        let sum: f64 = weights.iter().enumerate().map(|(p, w)| w * value(p)).sum();
                        let off = (f64::from(got) - sum / total).abs();
                        assert!(off < 1e-3, "{} n {n} seen {seen} row {i}", isa.name());
                    }
                }
            }
        }
    }
}

/// Rows of a tile against the specification's rows alone.
#[test]
fn attention_gives_a_row_the_same_bits_in_any_tile() {
    let size = HEAD;
    let capacity = (SEEN + attention::TILE).next_multiple_of(LANES);
    let cache: Vec<u16> = numbers(8, size * capacity)
        .into_iter()
        .map(lanes::narrow)
        .collect();
    let cache = HeadCache {
        keys: &cache,
        values: &cache,
    };
    let q = numbers(9, attention::TILE * size);
    let run = |isa, rows: std::ops::Range<usize>| -> Vec<u32> {
        let n = rows.len();
        let (mut scores, mut out) = (vec![0.0; n * capacity], vec![0.0; n * size]);
        let q = &q[rows.start * size..rows.end * size];
        attention::attend(isa, q, n, cache, SEEN + rows.start, &mut scores, &mut out);
        out.into_iter().map(f32::to_bits).collect()
    };
    for &isa in Isa::ALL.iter().filter(|isa| isa.is_here()) {
        for n in 1..=attention::TILE {
            let alone: Vec<u32> = (0..n)
                .flat_map(|row| run(Isa::Scalar, row..row + 1))
                .collect();
            assert!(run(isa, 0..n) == alone, "{}, {n} rows", isa.name());
        }
    }
}
