//! One case each: curves of several shapes, disturbances, and answers that change.

use super::*;
use crate::strategy::auto::ledger::BUDGET;
use crate::strategy::auto::simulator::Scripted;

fn flat(rows: usize, _: usize) -> f64 {
    1.0 + 0.01 * (rows - 1) as f64
}

fn steep(rows: usize, _: usize) -> f64 {
    1.0 + 0.4 * (rows - 1) as f64
}

fn step(rows: usize, _: usize) -> f64 {
    if rows == 1 { 1.0 } else { 2.0 }
}

/// Two cores of a server with a 135M model: 8 ms, then 1.10, 1.38, 2.38 and 3.99 at 2, 4, 8 and 16 rows.
fn two_cores(rows: usize, _: usize) -> f64 {
    let points = [(1, 1.0), (2, 1.10), (4, 1.38), (8, 2.38), (16, 3.99)];
    let right = points
        .iter()
        .position(|&(n, _)| n >= rows)
        .unwrap_or(4)
        .max(1);
    let ((n0, v0), (n1, v1)) = (points[right - 1], points[right]);
    v0 + (v1 - v0) * (rows as f64 - n0 as f64) / (n1 - n0) as f64
}

/// Flat at first, steep after 400 tokens.
fn drifting(rows: usize, answered: usize) -> f64 {
    let slope = 0.01 + 0.4 * (answered as f64 / 400.0).min(1.0);
    1.0 + slope * (rows - 1) as f64
}

fn text(length: usize, draft: f64) -> Stretch {
    Stretch {
        length,
        draft,
        copy: (0.0, 2.0),
        common: 0.4,
    }
}

fn copying(length: usize) -> Stretch {
    Stretch {
        copy: (0.5, 60.0),
        ..text(length, 0.2)
    }
}

#[test]
fn the_curve_decides_how_much_is_drafted() {
    /// The share of rounds that draft and the tokens they draft: medians over answers.
    fn medians(pass: fn(usize, usize) -> f64, cost: f64, draft: f64) -> (f64, f64) {
        let kind = Kind {
            machine: Machine::quiet(pass, cost),
            prompt: 30,
            stretches: &[text(300, draft)],
            warm: true,
        };
        let outcomes = (0..21).map(|seed| kind.auto(seed, BUDGET));
        let (mut shares, mut lengths): (Vec<_>, Vec<_>) = outcomes
            .map(|outcome| {
                let (rounds, length) = drafted(&outcome);
                (rounds as f64 / outcome.rounds.len() as f64, length)
            })
            .unzip();
        shares.sort_by(f64::total_cmp);
        lengths.sort_by(f64::total_cmp);
        (shares[10], lengths[10])
    }
    let check = |name, pass, cost, draft, shares: [f64; 2], lengths: [f64; 2]| {
        let (share, length) = medians(pass, cost, draft);
        let fits = |value: f64, [low, high]: [f64; 2]| low <= value && value <= high;
        let all = fits(share, shares) && fits(length, lengths);
        assert!(all, "{name}: {share} of the rounds, {length} tokens");
    };
    check("flat", flat, 0.05, 0.93, [0.9, 1.0], [7.0, 16.0]);
    check("steep", steep, 0.05, 0.9, [0.8, 1.0], [1.0, 5.0]);
    check("step, deep", step, 0.02, 0.95, [0.5, 1.0], [8.0, 16.0]);
    check("step, no use", step, 0.02, 0.4, [0.0, 0.02], [0.0, 16.0]);
    check("not worth it", steep, 0.4, 0.5, [0.0, 0.02], [0.0, 16.0]);
}

#[test]
fn on_a_step_one_token_is_never_drafted() {
    for (draft, least) in [(0.95, 1.5), (0.4, 0.98)] {
        let kind = Kind {
            machine: Machine::quiet(step, 0.02),
            prompt: 30,
            stretches: &[text(300, draft)],
            warm: true,
        };
        for seed in 0..20 {
            let outcome = kind.auto(seed, BUDGET);
            let ones = outcome.rounds.iter().filter(|round| round.drafted == 1);
            // But at the end of the answer, and in the two rounds before the draft model is left.
            let ones = ones.count();
            assert!(ones <= 2, "{draft} {seed}: {ones}");
            let speed_up = kind.fixed(seed, Fixed::Plain).ms / outcome.ms;
            assert!(speed_up >= least, "{draft} {seed}: {speed_up}");
        }
    }
}

/// The negative control: a length that climbs step by step, to the better of its neighbours.
#[derive(Default)]
struct Climber {
    length: usize,
    rates: [Option<f64>; 17],
    guesser: Option<Scripted>,
}

impl Strategy for Climber {
    fn name(&self) -> &'static str {
        "climber"
    }

    fn begin(&mut self, _: &[Token]) {}

    fn draft(
        &mut self,
        committed: &[Token],
        limit: usize,
        cancel: &Cancel,
    ) -> Result<Vec<Token>, PassError> {
        let near = self.length.saturating_sub(1)..=(self.length + 1).min(16);
        let untried = near.clone().find(|&length| self.rates[length].is_none());
        let by_rate = |a: &usize, b: &usize| self.rates[*a].partial_cmp(&self.rates[*b]).unwrap();
        self.length = near.clone().max_by(by_rate).unwrap();
        let length = untried.unwrap_or(self.length).min(limit);
        let mut drafted = Vec::new();
        if let Some(guesser) = self.guesser.as_mut().filter(|_| length > 0) {
            guesser.guess(committed, length, cancel, &mut |guesses| {
                drafted.extend(guesses.last().map(|guess| guess.token));
                true
            })?;
        }
        Ok(drafted)
    }

    fn accept(&mut self, round: &Feedback) {
        let wall = round.draft_time + round.verify_time;
        let rate = round.n_emitted as f64 / wall.as_secs_f64();
        let known = &mut self.rates[round.n_drafted];
        *known = Some(known.map_or(rate, |before| before + 0.1 * (rate - before)));
    }
}

#[test]
fn climbing_step_by_step_stays_at_the_foot_of_the_step() {
    let kind = Kind {
        machine: Machine::quiet(step, 0.02),
        prompt: 30,
        stretches: &[text(300, 0.95)],
        warm: true,
    };
    let mut climber_ms = 0.0;
    let mut auto_ms = 0.0;
    for seed in 0..20 {
        let world = kind.world(seed);
        let guesser = Some(world.guesser(true));
        climber_ms += world
            .run(&mut Climber {
                guesser,
                ..Climber::default()
            })
            .ms;
        auto_ms += kind.auto(seed, BUDGET).ms;
    }
    assert!(climber_ms > 1.5 * auto_ms, "{climber_ms} {auto_ms}");
}

#[test]
fn every_kind_of_answer_is_as_fast_as_with_the_best_fixed_strategy() {
    let quiet = Machine::quiet;
    let prose_code_prose = [text(250, 0.25), text(250, 0.93), text(250, 0.25)];
    let kinds: [(&str, Machine, usize, &[Stretch], f64); 10] = [
        ("drift", quiet(drifting, 0.05), 0, &[text(600, 0.8)], 0.97),
        (
            "prose, code, prose",
            quiet(flat, 0.3),
            0,
            &prose_code_prose,
            0.97,
        ),
        (
            "prose",
            quiet(two_cores, 0.0625),
            0,
            &[text(200, 0.3)],
            0.97,
        ),
        // Reading the prompt takes most of the budget, or more.
        (
            "prose, read late",
            quiet(two_cores, 0.0625),
            100,
            &[text(200, 0.3)],
            0.95,
        ),
        (
            "good draft",
            quiet(two_cores, 0.0625),
            100,
            &[text(200, 0.7)],
            0.97,
        ),
        (
            "bad draft",
            quiet(two_cores, 0.0625),
            100,
            &[text(200, 0.05)],
            0.97,
        ),
        ("copy", quiet(two_cores, 0.0625), 200, &[copying(200)], 0.97),
        (
            "copy on a step",
            quiet(step, 0.3),
            200,
            &[copying(200)],
            0.97,
        ),
        ("dear draft", quiet(flat, 0.9), 100, &[text(200, 0.8)], 0.97),
        (
            "long prompt",
            quiet(two_cores, 0.0625),
            1500,
            &[text(300, 0.3)],
            0.95,
        ),
    ];
    for (name, machine, unread, stretches, share) in kinds {
        let (prompt, warm) = (unread.max(60), unread == 0);
        let kind = Kind {
            machine,
            prompt,
            stretches,
            warm,
        };
        let summary = kind.summary(30, BUDGET);
        let ((best, against), least) = (summary.best(), summary.speed_ups[0]);
        let median = summary.median();
        println!("{name}: {median:.2}x (least {least:.3}x), {against:.3} of {best:?}");
        assert!(against >= share, "{name}: {against} of {best:?}");
        assert!(least >= 0.97, "{name}: {least}");
    }
}

#[test]
fn what_disturbs_the_machine_does_not_change_the_choice() {
    let check = |name, load: fn(f64, Option<usize>) -> f64| {
        for seed in 0..20 {
            let mut kind = Kind {
                machine: Machine::quiet(flat, 0.2),
                prompt: 30,
                stretches: &[text(800, 0.85)],
                warm: true,
            };
            let undisturbed = drafted(&kind.auto(seed, BUDGET));
            kind.machine.load = load;
            let outcome = kind.auto(seed, BUDGET);
            let (rounds, length) = drafted(&outcome);
            let share = rounds as f64 / outcome.rounds.len() as f64;
            assert!(share > 0.93, "{name} {seed}: {share}");
            assert!(
                (length / undisturbed.1 - 1.0).abs() < 0.1,
                "{name} {seed}: {length}"
            );
            let best = kind.fixed(seed, Fixed::Draft(6)).ms;
            assert!(
                outcome.ms < 1.03 * best,
                "{name} {seed}: {} {best}",
                outcome.ms
            );
        }
    };
    check("nothing", |_, _| 1.0);
    check(
        "a stall",
        |_, pass| if pass == Some(20) { 50.0 } else { 1.0 },
    );
    check("another program", |ms, _| {
        if (2e3..7e3).contains(&ms) { 2.0 } else { 1.0 }
    });
    check("heat", |ms, _| 1.0 + (ms / 1e4).min(1.0));
}

#[test]
fn a_machine_that_is_busy_while_the_prompt_is_read_does_not_forbid_the_draft_model() {
    for seed in 0..20 {
        let mut kind = Kind {
            machine: Machine::quiet(two_cores, 0.0625),
            prompt: 60,
            stretches: &[text(200, 0.7)],
            warm: false,
        };
        let share = |outcome: &Outcome| drafted(outcome).0 as f64 / outcome.rounds.len() as f64;
        let undisturbed = share(&kind.auto(seed, BUDGET));
        kind.machine.load = |ms, _| if ms < 500.0 { 4.0 } else { 1.0 };
        let disturbed = share(&kind.auto(seed, BUDGET));
        assert!(
            undisturbed > 0.5 && disturbed > undisturbed - 0.1,
            "{seed}: {undisturbed} {disturbed}"
        );
    }
}

#[test]
fn the_first_token_comes_as_soon_as_with_plain_decoding() {
    for (warm, stretch) in [(true, copying(60)), (false, text(60, 0.95))] {
        let kind = Kind {
            machine: Machine::quiet(flat, 0.05),
            prompt: 60,
            stretches: &[stretch],
            warm,
        };
        for seed in 0..20 {
            let first = |outcome: Outcome| outcome.rounds[1].at;
            let (auto, plain) = (kind.auto(seed, BUDGET), kind.fixed(seed, Fixed::Plain));
            let (auto, plain) = (first(auto), first(plain));
            assert!(auto <= 1.0001 * plain, "{seed}: {auto} {plain}");
        }
    }
}

#[test]
fn every_round_is_explained_and_no_debt_exceeds_the_budget() {
    let kind = Kind {
        machine: Machine::quiet(flat, 0.3),
        prompt: 60,
        stretches: &[text(250, 0.25), text(250, 0.93), text(250, 0.25)],
        warm: true,
    };
    let mut emitted = 0;
    // With --nocapture this is a picture of the answer: tokens, length, ledger, reason.
    for round in kind.auto(1, BUDGET).rounds {
        emitted += round.emitted;
        let Explanation {
            reason,
            length,
            balance,
            expected,
            ..
        } = round.explanation.expect("auto has a choice");
        let bar = "#".repeat(length);
        let seconds = round.at / 1e3;
        println!("{seconds:5.1} s {emitted:4} {bar:16} {balance:+6.1} {reason}");
        assert_eq!(length, round.drafted);
        assert!(!reason.is_empty() && expected > 0.0, "{reason} {expected}");
        let allowed = BUDGET * (emitted + 1).max(100) as f64;
        assert!(balance >= -allowed - 0.05, "{balance} after {emitted}");
    }
}

#[test]
fn what_nobody_measured_is_learnt_from_the_rounds() {
    let check = |name, pass: fn(usize, usize) -> f64, draft, least: f64, median: f64| {
        let kind = Kind {
            machine: Machine::quiet(pass, 0.1),
            prompt: 60,
            stretches: &[text(300, draft)],
            warm: true,
        };
        let speed_up = |seed| {
            let world = kind.world(seed);
            let guesser = Box::new(world.guesser(true));
            let mut auto = Auto::with(Some(guesser), Costs::guess(), Ledger::new(BUDGET), vec![]);
            kind.fixed(seed, Fixed::Plain).ms / world.run(&mut auto).ms
        };
        let mut speed_ups: Vec<_> = (0..20).map(speed_up).collect();
        speed_ups.sort_by(f64::total_cmp);
        let fits = speed_ups[0] >= least && speed_ups[10] >= median;
        assert!(fits, "{name}: {speed_ups:?}");
    };
    check("flat", flat, 0.9, 1.3, 2.0);
    check("flat, bad draft", flat, 0.05, 0.97, 0.97);
    check("steep", steep, 0.9, 1.0, 1.2);
    check("steep, bad draft", steep, 0.3, 0.96, 0.97);
    check("step", step, 0.3, 0.96, 0.97);
}

#[test]
#[ignore = "long: scripts/identity.sh"]
fn full_a_choice_takes_microseconds_over_a_hundred_thousand_tokens() {
    let mut auto = Auto::with(None, Costs::guess(), Ledger::new(BUDGET), vec![]);
    let answer = Stretch {
        copy: (0.1, 20.0),
        ..text(4000, 0.0)
    };
    let mut times = Vec::new();
    for seed in 0..25 {
        let world = World::new(
            &Machine::quiet(flat, 0.1),
            &Arc::new(Text::new(4000, &[answer], seed)),
        );
        let mut watched = Timed(&mut auto, Duration::ZERO);
        let rounds = world.run(&mut watched).rounds.len();
        times.push(watched.1.as_secs_f64() * 1e6 / rounds as f64);
    }
    println!("microseconds a round, answer by answer: {times:.1?}");
    times.sort_by(f64::total_cmp);
    assert!(times[6] < 20.0, "{times:?}");
}

/// Measures the real time that a strategy takes for its rounds, but the first, which reads the prompt.
struct Timed<'a>(&'a mut Auto, Duration);

impl Strategy for Timed<'_> {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn begin(&mut self, committed: &[Token]) {
        self.0.begin(committed);
        self.0.free.read(committed);
    }

    fn draft(
        &mut self,
        committed: &[Token],
        limit: usize,
        cancel: &Cancel,
    ) -> Result<Vec<Token>, PassError> {
        let started = std::time::Instant::now();
        let drafted = self.0.draft(committed, limit, cancel);
        self.1 += started.elapsed();
        drafted
    }

    fn accept(&mut self, round: &Feedback) {
        let started = std::time::Instant::now();
        self.0.accept(round);
        self.1 += started.elapsed();
    }
}
