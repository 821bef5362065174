//! Who drafts: by name, or the next one.

use crate::app::block::Kind;
use crate::app::{App, Effect};
use crate::engine::protocol::Command;

/// Why there is nothing to choose.
const UNKNOWN: &str = "the strategies are known once the models are loaded";

impl App {
    pub(super) fn mode(&mut self, name: &str) -> Result<Vec<Effect>, String> {
        let Some(ready) = &self.ready else {
            return Err(UNKNOWN.to_owned());
        };
        if let Some(strategy) = ready
            .strategies
            .iter()
            .find(|strategy| strategy.name == name)
        {
            return Ok(self.want(strategy.name));
        }
        let known = ready.strategies.iter().map(|strategy| {
            let now = self.strategy == Some(strategy.name);
            format!("{}{}", strategy.name, if now { " (now)" } else { "" })
        });
        let known = known.collect::<Vec<_>>().join(", ");
        if !name.is_empty() {
            return Err(format!("there is no strategy `{name}` here: {known}"));
        }
        self.tell(Kind::Notice, &format!("Strategies: {known}."));
        Ok(Vec::new())
    }

    pub(super) fn next_strategy(&mut self) -> Vec<Effect> {
        let Some(ready) = &self.ready else {
            self.refuse(UNKNOWN);
            return Vec::new();
        };
        let current = self.wanted.or(self.strategy);
        let cycle: Vec<_> = ready.strategies.iter().filter(|s| s.cycled).collect();
        let at = cycle
            .iter()
            .position(|strategy| Some(strategy.name) == current);
        let next = at.map_or(0, |at| at + 1) % cycle.len().max(1);
        match cycle.get(next) {
            Some(strategy) if Some(strategy.name) != current => self.want(strategy.name),
            Some(_) | None => {
                self.refuse("there is only one strategy that can run here");
                Vec::new()
            }
        }
    }

    pub(super) fn want(&mut self, name: &'static str) -> Vec<Effect> {
        if self.is_dead() {
            return Vec::new();
        }
        self.wanted = (self.wanted.is_some() || self.strategy != Some(name)).then_some(name);
        vec![Effect::Engine(Command::SetStrategy(name))]
    }
}
