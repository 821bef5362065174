//! The command line: what can be asked, and how it is spelled.
//!
//! Flags of `chat` override one configuration key each, and say which.

#![expect(
    clippy::doc_markdown,
    reason = "these comments are the program's help, which has no markdown"
)]

pub mod sampling;
pub mod session;

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand};

use crate::bench::Contender;
use crate::config::sampling::whole;
use crate::config::{Config, Device, MAX_CONTEXT, MAX_DRAFT_LENGTH, MAX_MAX_TOKENS, MAX_THREADS};
use crate::model::shape;
use crate::strategy;
use sampling::SamplingArgs;
use session::{SessionArgs, SessionsArgs};

macro_rules! exit_codes {
    () => {
        "\
Exit codes:
  0         done
  1         failed
  2         wrong command line or settings
  3         done, but the end of the chat could not be saved
  130       interrupted (Ctrl-C)
  129       the terminal went away (SIGHUP)
  131, 143  asked to end (SIGQUIT, SIGTERM)
  141       whoever read the output went away"
    };
}

const AFTER_HELP: &str = concat!(
    exit_codes!(),
    "\n\nConfiguration: ~/.config/speck/config.toml (see `speck config`); a flag wins over it."
);

const CHAT_EXAMPLES: &str = concat!(
    "\
Examples:
  speck chat                                    the screen; Shift-Tab swaps the strategy, ? helps
  speck chat \"Why is the sky blue?\"             one answer on standard output
  cat notes.txt | speck chat \"Summarise this:\"  a question and a text
  speck chat --resume last                      go on with the latest chat
  speck chat --json \"Hi\" | jq .                 every event as a line of JSON
  speck chat --target ./model.gguf --draft none --strategy lookup
  printf 'Hi\\n/mode lookup\\nAgain\\n' | speck chat --no-tui   several turns, one a line

",
    exit_codes!()
);

const MEASURE_EXAMPLES: &str = "\
Examples:
  speck measure                        the default pair, or the configured one
  speck measure --shape qwen2.5-7b     what speculation would be worth, before fetching 5 GB
  speck measure --json | jq .break_even";

const BENCH_EXAMPLES: &str = "\
Examples:
  speck bench                                     every strategy on four prompts
  speck bench --strategies draft:2,draft:4,draft:8 --prompts code
  speck bench --prompts my-prompts/ --tokens 256 --runs 5
  speck bench --markdown --svg bench.svg > bench.md
  speck bench --json | jq '.runs[] | {prompt, strategy, speedup}'

What the numbers mean: docs/bench.md";

/// A terminal chat with a local language model that shows, live, what speculative decoding is worth.
#[derive(Debug, Parser)]
#[command(name = "speck", version, after_help = AFTER_HELP)]
pub struct Cli {
    /// What to do; without it, the help is shown.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Chat with a model: on the screen, or one answer for a question or piped text.
    Chat(Box<ChatArgs>),
    /// Compare the strategies on the same prompts: speed, tokens per pass, and that the text is the same.
    Bench(BenchArgs),
    /// Measure what passes cost on this machine, and what speculation is worth by that.
    Measure(MeasureArgs),
    /// List, fetch, check and remove model files.
    Models(ModelsArgs),
    /// List, show, export and delete saved chats.
    Sessions(SessionsArgs),
    /// Show where the configuration is, what it says, and whether it is right.
    Config(ConfigArgs),
    /// Print the token ids of the text on standard input, as a JSON array.
    Tokenize(TokenizeArgs),
    /// Print the prompt that a model's chat template makes of a conversation.
    Template(TemplateArgs),
}

/// `speck chat`
#[derive(Debug, Default, Args)]
#[command(after_help = CHAT_EXAMPLES)]
pub struct ChatArgs {
    /// Ask this, print the answer, and leave. Text on standard input is added after a blank line.
    pub prompt: Option<String>,
    /// The model that writes: a preset, a GGUF file, or owner/repo:file.gguf[@revision] [key: model.target]
    #[arg(long, value_name = "REF")]
    pub target: Option<String>,
    /// The model that drafts: a model as above, `auto` or `none` [key: model.draft]
    #[arg(long, value_name = "REF")]
    pub draft: Option<String>,
    /// What drafts at the start [key: decoding.strategy]
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(strategy::names()))]
    pub strategy: Option<String>,
    /// Tokens that the draft model drafts in a round, 1 to 16 [key: decoding.draft_length]
    #[arg(long, value_name = "N", value_parser = whole::<1, MAX_DRAFT_LENGTH>)]
    pub draft_length: Option<u64>,
    /// The longest answer, in tokens [key: decoding.max_tokens]
    #[arg(long, value_name = "N", value_parser = whole::<1, MAX_MAX_TOKENS>)]
    pub max_tokens: Option<u64>,
    /// The system prompt [key: chat.system]
    #[arg(long, value_name = "TEXT")]
    pub system: Option<String>,
    /// Tokens that prompt and answer may hold together; 0 = as trained, at most 8192 [key: model.context]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=MAX_CONTEXT))]
    pub context: Option<u64>,
    /// Where models run [key: model.device]
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<Device>,
    /// Threads of the CPU engine; 0 = one for each physical core, on a Mac each performance core [key: model.threads]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=MAX_THREADS))]
    pub threads: Option<u64>,
    /// The theme of the screen [key: screen.theme]
    #[arg(long, value_name = "NAME")]
    pub theme: Option<String>,
    /// Chat line by line instead of on a screen: for screen readers and scripts
    #[arg(long, conflicts_with_all = ["json", "prompt"])]
    pub no_tui: bool,
    /// Print every event as a line of JSON instead of the answer's text
    #[arg(long)]
    pub json: bool,
    /// Use only model files that are on this machine
    #[arg(long)]
    pub offline: bool,
    /// How tokens are chosen.
    #[command(flatten)]
    pub sampling: SamplingArgs,
    /// What is saved, and what goes on.
    #[command(flatten)]
    pub session: SessionArgs,
}

impl ChatArgs {
    /// Puts what the flags say over `config`.
    pub fn override_config(&self, config: &mut Config) {
        fn put<T: Clone>(flag: Option<&T>, value: &mut T) {
            if let Some(flag) = flag {
                value.clone_from(flag);
            }
        }
        // Within range by the parsers above.
        let count = |flag: Option<u64>| flag.map(|n| usize::try_from(n).unwrap_or(usize::MAX));
        put(self.target.as_ref(), &mut config.model.target);
        put(self.draft.as_ref(), &mut config.model.draft);
        put(self.device.as_ref(), &mut config.model.device);
        put(count(self.context).as_ref(), &mut config.model.context);
        put(count(self.threads).as_ref(), &mut config.model.threads);
        put(self.strategy.as_ref(), &mut config.decoding.strategy);
        put(
            count(self.draft_length).as_ref(),
            &mut config.decoding.draft_length,
        );
        put(
            count(self.max_tokens).as_ref(),
            &mut config.decoding.max_tokens,
        );
        self.sampling.override_config(&mut config.sampling);
        put(self.system.as_ref(), &mut config.chat.system);
        put(self.theme.as_ref(), &mut config.screen.theme);
        self.session.override_config(&mut config.session);
    }
}

/// `speck bench`
#[derive(Debug, Args)]
#[command(after_help = BENCH_EXAMPLES)]
pub struct BenchArgs {
    /// What to compare, with commas between: names of strategies, `draft:5` for a draft length; all if not given
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = Contender::parse)]
    pub strategies: Vec<Contender>,
    /// Prompts: `explain`, `code`, `rewrite`, `story` (all if not given), text files, folders of .txt files
    #[arg(long, value_name = "PLACE", num_args = 1..)]
    pub prompts: Vec<String>,
    /// Answers with each strategy to each prompt
    #[arg(long, value_name = "R", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub runs: u64,
    /// The longest answer, in tokens
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = clap::value_parser!(u64).range(1..=MAX_MAX_TOKENS))]
    pub tokens: u64,
    /// The model that writes [key: model.target]
    #[arg(long, value_name = "REF")]
    pub target: Option<String>,
    /// The model that drafts: a model, `auto` or `none` [key: model.draft]
    #[arg(long, value_name = "REF")]
    pub draft: Option<String>,
    /// Tokens that prompt and answer may hold together; 0 = as trained, at most 8192 [key: model.context]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=MAX_CONTEXT))]
    pub context: Option<u64>,
    /// Where models run [key: model.device]
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<Device>,
    /// Threads of the CPU engine; 0 = one for each physical core, on a Mac each performance core [key: model.threads]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=MAX_THREADS))]
    pub threads: Option<u64>,
    /// Use only model files that are on this machine
    #[arg(long)]
    pub offline: bool,
    /// How to print.
    #[command(flatten)]
    pub format: BenchFormat,
    /// Draw two charts into this file as well: speed, and what passes cost
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}

/// The forms of a report other than the table.
#[derive(Clone, Copy, Debug, Args)]
#[group(multiple = false)]
pub struct BenchFormat {
    /// Print Markdown
    #[arg(long)]
    pub markdown: bool,
    /// Print comma-separated values
    #[arg(long)]
    pub csv: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// `speck measure`
#[derive(Debug, Args)]
#[command(after_help = MEASURE_EXAMPLES)]
pub struct MeasureArgs {
    /// The model that writes [key: model.target]
    #[arg(long, value_name = "REF")]
    pub target: Option<String>,
    /// The model that drafts: a model, `auto` or `none` [key: model.draft]
    #[arg(long, value_name = "REF")]
    pub draft: Option<String>,
    /// Measure random weights of this shape, and of its draft's, instead: nothing is downloaded
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(shape::names()), conflicts_with_all = ["target", "draft", "offline"])]
    pub shape: Option<String>,
    /// Where models run [key: model.device]
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<Device>,
    /// Threads of the CPU engine; 0 = one for each physical core, on a Mac each performance core [key: model.threads]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=MAX_THREADS))]
    pub threads: Option<u64>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// Use only model files that are on this machine
    #[arg(long)]
    pub offline: bool,
}

/// `speck config`
#[derive(Debug, Args)]
pub struct ConfigArgs {
    /// What to do.
    #[command(subcommand)]
    pub action: ConfigAction,
}

/// What to do with the configuration.
#[derive(Clone, Copy, Debug, Subcommand)]
pub enum ConfigAction {
    /// Print the path of the configuration file.
    Path,
    /// Print the configuration in force: the file over the defaults.
    Show,
    /// Check the file: names, values, theme and model references.
    Check,
    /// Print the documented default configuration.
    Default,
}

/// `speck tokenize`
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  printf 'Hello, world!' | speck tokenize\n  [19556,28,905,17]")]
pub struct TokenizeArgs {
    /// The model whose tokenizer to use [key: model.target]
    #[arg(long, value_name = "REF")]
    pub target: Option<String>,
    /// Take the names of control tokens (such as <|im_end|>) for text
    #[arg(long)]
    pub no_special: bool,
    /// Use only model files that are on this machine
    #[arg(long)]
    pub offline: bool,
}

/// `speck template`
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  echo '[{\"role\":\"user\",\"content\":\"Hi\"}]' > hi.json\n  speck template smollm2-135m --messages hi.json"
)]
pub struct TemplateArgs {
    /// The model whose chat template to use, or a file that ends in .jinja
    #[arg(value_name = "REF|FILE.jinja")]
    pub source: String,
    /// A JSON array of messages, each with `role` (system, user or assistant) and `content`
    #[arg(long, value_name = "FILE.json")]
    pub messages: PathBuf,
    /// What the template knows as `bos_token`, instead of the model's own
    #[arg(long, value_name = "S")]
    pub bos: Option<String>,
    /// What the template knows as `eos_token`, instead of the model's own
    #[arg(long, value_name = "S")]
    pub eos: Option<String>,
    /// Use only model files that are on this machine
    #[arg(long)]
    pub offline: bool,
}

/// `speck models`
#[derive(Debug, Args)]
pub struct ModelsArgs {
    /// What to do.
    #[command(subcommand)]
    pub action: ModelsAction,
}

/// What to do with model files.
#[derive(Clone, Debug, Subcommand)]
pub enum ModelsAction {
    /// List the presets, and the files that are here.
    List,
    /// Fetch a model's files, unless they are here, and print where they are.
    Pull {
        /// A preset, or owner/repo:file.gguf[@revision]; without it, the default preset
        #[arg(value_name = "REF")]
        reference: Option<String>,
        /// Use only what is on this machine
        #[arg(long)]
        offline: bool,
    },
    /// Check the sha256 of a model's files.
    Verify {
        /// A preset, or owner/repo:file.gguf[@revision]; without it, all presets
        #[arg(value_name = "REF")]
        reference: Option<String>,
    },
    /// Delete a model's files from this machine.
    Remove {
        /// A preset, or owner/repo:file.gguf[@revision]
        #[arg(value_name = "REF")]
        reference: String,
    },
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::config;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_flag_wins_over_the_configuration() {
        let line = [
            "speck",
            "chat",
            "--strategy",
            "lookup",
            "--draft-length",
            "16",
            "--device",
            "cpu",
            "--threads",
            "3",
            "--temperature",
            "0.8",
            "--stop=-1",
            "--stop",
            "\n\n",
            "--seed",
            "7",
            "Hi",
        ];
        let Some(Command::Chat(chat)) = Cli::try_parse_from(line).unwrap().command else {
            panic!("not chat")
        };
        let mut config = Config::default();
        config.decoding.max_tokens = 7;
        config.sampling.top_k = 40;
        chat.override_config(&mut config);
        assert_eq!(config.decoding.strategy, "lookup");
        assert_eq!(config.decoding.draft_length, 16);
        assert_eq!(config.model.device, Device::Cpu);
        assert_eq!(config.model.threads, 3);
        assert_eq!(config.decoding.max_tokens, 7);
        let sampling = config::sampling::Sampling {
            temperature: 0.8,
            top_k: 40,
            seed: config::sampling::Seed::Fixed(7),
            stop: vec!["-1".into(), "\n\n".into()],
            ..Default::default()
        };
        assert_eq!(config.sampling, sampling);
        assert_eq!(chat.prompt.as_deref(), Some("Hi"));
    }

    #[test]
    fn each_flag_that_overrides_a_key_names_it() {
        let config = toml::Table::try_from(Config::default()).unwrap();
        let chat = Cli::command().find_subcommand("chat").unwrap().clone();
        let keys: Vec<String> = chat
            .get_arguments()
            .filter_map(|flag| {
                flag.get_help()?
                    .to_string()
                    .split_once("[key: ")
                    .map(|(_, key)| key.to_owned())
            })
            .collect();
        assert_eq!(keys.len(), 19);
        for key in keys {
            let (section, key) = key.trim_end_matches(']').split_once('.').unwrap();
            assert!(config[section].get(key).is_some(), "{section}.{key}");
        }
    }
}
