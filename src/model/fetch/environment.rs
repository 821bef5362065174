//! What the user's environment says about fetching: folders, the hub's address, token, offline.
//!
//! Reads the variables of the hub's own Python tools, so that both share one cache. Everything else
//! in `fetch` takes an [`Environment`] and never looks at a variable itself.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

/// The public hub.
const HUB: &str = "https://huggingface.co";

/// Where files come from and go to.
#[derive(Clone, Debug)]
pub struct Environment {
    /// The hub's cache: holds `models--owner--name`. From `HF_HUB_CACHE`, else `HF_HOME/hub`.
    pub hub_cache: PathBuf,
    /// speck's own cache. From `SPECK_CACHE_DIR`, else the platform's place for caches.
    pub speck_cache: PathBuf,
    /// The hub's address without a slash at the end. From `HF_ENDPOINT`.
    pub endpoint: String,
    /// Sent to the endpoint and to nobody else. From `HF_TOKEN`, else the file `HF_HOME/token`.
    pub token: Option<String>,
    /// Whether `HF_HUB_OFFLINE` forbids the network.
    pub offline: bool,
    /// The Python that has pip.
    pub python: OsString,
    /// The proxy for the hub, from the usual variables.
    pub proxy: Option<ureq::Proxy>,
    /// How long the hub may take to answer before it counts as unreachable.
    pub reach_timeout: Duration,
    /// How long a transfer may bring no byte.
    pub stall_timeout: Duration,
}

impl Environment {
    /// For tests: caches under `root`, and no network.
    #[cfg(test)]
    pub(crate) fn offline_at(root: &Path) -> Self {
        Self {
            hub_cache: root.join("hub"),
            speck_cache: root.join("speck"),
            endpoint: "http://127.0.0.1".to_owned(),
            token: None,
            offline: true,
            python: "no-python".into(),
            proxy: None,
            reach_timeout: Duration::from_secs(1),
            stall_timeout: Duration::from_secs(1),
        }
    }

    /// The environment of this process. Fails when there is no home folder or a variable makes no
    /// sense.
    pub fn from_process() -> Result<Self> {
        let dirs = directories::ProjectDirs::from("", "", "speck");
        let home = directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_owned());
        let mut environment = Self::from_variables(
            &|name| std::env::var_os(name),
            home.as_deref(),
            dirs.as_ref().map(directories::ProjectDirs::cache_dir),
        )?;
        environment.proxy = ureq::Proxy::try_from_env();
        Ok(environment)
    }

    fn from_variables(
        variable: &dyn Fn(&str) -> Option<OsString>,
        home: Option<&Path>,
        speck_cache: Option<&Path>,
    ) -> Result<Self> {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        let folder = |name: &str| {
            variable(name)
                .map(|value| expand_home(Path::new(&value), home))
                .transpose()
        };
        let text = |name: &str| {
            let text = variable(name).map(OsString::into_string).transpose();
            text.map_err(|_| anyhow::anyhow!("{name} is not UTF-8"))
        };

        let hf_home = match (folder("HF_HOME")?, folder("XDG_CACHE_HOME")?, home) {
            (Some(hf_home), _, _) => hf_home,
            (None, Some(caches), _) => caches.join("huggingface"),
            (None, None, Some(home)) => home.join(".cache/huggingface"),
            (None, None, None) => {
                anyhow::bail!("no home folder is known: set HF_HOME to a folder for model files")
            }
        };
        let hub = hf_hub::Cache::new(hf_home.join("hub"));
        let token = match text("HF_TOKEN")? {
            Some(token) => Some(token.trim().to_owned()),
            None => hub.token(),
        };
        let endpoint = text("HF_ENDPOINT")?.unwrap_or_else(|| HUB.to_owned());
        let endpoint = endpoint.trim_end_matches('/').to_owned();
        ensure!(
            endpoint.starts_with("https://") || endpoint.starts_with("http://"),
            "HF_ENDPOINT is {endpoint:?}: expected an address such as {HUB}"
        );
        let offline = text("HF_HUB_OFFLINE")?
            .unwrap_or_default()
            .to_ascii_uppercase();
        let own = folder("SPECK_CACHE_DIR")?.or_else(|| speck_cache.map(Path::to_owned));
        Ok(Self {
            hub_cache: folder("HF_HUB_CACHE")?.unwrap_or_else(|| hub.path().clone()),
            speck_cache: own.context("no home folder is known: set SPECK_CACHE_DIR to a folder")?,
            endpoint,
            token: token.filter(|token| !token.is_empty()),
            offline: matches!(offline.as_str(), "1" | "ON" | "YES" | "TRUE"),
            python: "python3".into(),
            proxy: None,
            reach_timeout: Duration::from_secs(5),
            stall_timeout: Duration::from_secs(30),
        })
    }
}

/// `path` with `~` at its start replaced by the home folder.
pub fn expand_home(path: &Path, home: Option<&Path>) -> Result<PathBuf> {
    match path.strip_prefix("~") {
        Ok(rest) => {
            let home = home.with_context(|| {
                format!(
                    "{} starts with ~, but no home folder is known",
                    path.display()
                )
            })?;
            Ok(home.join(rest))
        }
        Err(_) => Ok(path.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Environment> {
        let look = |name: &str| {
            variables
                .iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| OsString::from(value))
        };
        Environment::from_variables(
            &look,
            Some(Path::new("/home/me")),
            Some(Path::new("/caches/speck")),
        )
    }

    #[test]
    fn folders_follow_the_python_tools() {
        let check = |variables: &[(&str, &str)], hub_cache: &str, speck_cache: &str| {
            let environment = read(variables).unwrap();
            assert_eq!(environment.hub_cache, Path::new(hub_cache), "{variables:?}");
            assert_eq!(
                environment.speck_cache,
                Path::new(speck_cache),
                "{variables:?}"
            );
        };
        check(&[], "/home/me/.cache/huggingface/hub", "/caches/speck");
        check(
            &[("HF_HOME", "")],
            "/home/me/.cache/huggingface/hub",
            "/caches/speck",
        );
        check(
            &[("XDG_CACHE_HOME", "/xdg")],
            "/xdg/huggingface/hub",
            "/caches/speck",
        );
        check(
            &[("HF_HOME", "/hf"), ("XDG_CACHE_HOME", "/xdg")],
            "/hf/hub",
            "/caches/speck",
        );
        check(
            &[("HF_HOME", "~/hf"), ("SPECK_CACHE_DIR", "~")],
            "/home/me/hf/hub",
            "/home/me",
        );
        check(
            &[("HF_HUB_CACHE", "/blobs"), ("HF_HOME", "/hf")],
            "/blobs",
            "/caches/speck",
        );
    }

    #[test]
    fn the_endpoint_is_an_address() {
        let endpoint = |value: &str| read(&[("HF_ENDPOINT", value)]).map(|found| found.endpoint);
        assert_eq!(endpoint("").unwrap(), HUB);
        assert_eq!(
            endpoint("http://127.0.0.1:80/").unwrap(),
            "http://127.0.0.1:80"
        );
        assert!(
            endpoint("hub.example")
                .unwrap_err()
                .to_string()
                .contains("HF_ENDPOINT")
        );
        assert!(endpoint("file:///etc").is_err());
    }

    #[test]
    fn offline_and_token_are_read() {
        for (value, offline) in [
            ("1", true),
            ("true", true),
            ("YES", true),
            ("0", false),
            ("", false),
        ] {
            assert_eq!(
                read(&[("HF_HUB_OFFLINE", value)]).unwrap().offline,
                offline,
                "{value}"
            );
        }
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().to_str().unwrap();
        assert_eq!(read(&[("HF_HOME", home)]).unwrap().token, None);
        std::fs::write(folder.path().join("token"), "from-file\n").unwrap();
        assert_eq!(
            read(&[("HF_HOME", home)]).unwrap().token.as_deref(),
            Some("from-file")
        );
        // The token stays in HF_HOME when only the cache is somewhere else.
        let moved = read(&[("HF_HOME", home), ("HF_HUB_CACHE", "/elsewhere")]).unwrap();
        assert_eq!(moved.token.as_deref(), Some("from-file"));
        let both = read(&[("HF_HOME", home), ("HF_TOKEN", " from-variable ")]).unwrap();
        assert_eq!(both.token.as_deref(), Some("from-variable"));
    }
}
