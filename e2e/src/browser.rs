//! A real browser without a screen: Chromium, driven as its own developer tools drive it.

use crate::{eventually::eventually, packages::Packages};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::{
    env, fs,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::Duration,
};
use tempfile::TempDir;

const PACKAGES: [&str; 2] = ["chromium", "fonts-dejavu-core"];
const PATIENCE: Duration = Duration::from_mins(1);

/// A running browser with one tab.
#[derive(Debug)]
pub struct Browser {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    session: Option<String>,
    number: u64,
    /// What went wrong in the page: exceptions, and what its Content-Security-Policy refused.
    pub problems: Vec<String>,
    _dir: TempDir,
}

/// Whether this machine cannot have one; says why, for a test that is then skipped.
#[must_use]
pub fn is_skipped() -> bool {
    let is_debian = Path::new("/usr/bin/apt-get").exists();
    if !is_debian {
        eprintln!("skipped: the browser is a package of Debian or of a relative of it");
    }
    !is_debian
}

impl Browser {
    /// Starts it, downloaded if need be. Certificates are not its business.
    pub fn start() -> Result<Self> {
        let packages = Packages::provide("browser-packages", &PACKAGES)?;
        let root = &packages.dir;
        let dir = tempfile::tempdir()?;
        let fonts = dir.path().join("fonts.conf");
        let folders = [root.join("usr/share/fonts"), "/usr/share/fonts".into()];
        let folders = folders.map(|it| format!("<dir>{}</dir>", it.display())).concat();
        let cache = dir.path().join("fonts");
        let text =
            format!("<fontconfig>{folders}<cachedir>{}</cachedir></fontconfig>", cache.display());
        fs::write(&fonts, text)?;
        let libraries = root.join("usr/lib").join(format!("{}-linux-gnu", env::consts::ARCH));
        let libraries = [libraries.join("pulseaudio"), libraries];
        let mut command = Command::new("sh");
        command
            // It is spoken with by its third and fourth file.
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1"])
            .arg(root.join("usr/lib/chromium/chromium"))
            .args([
                "--headless=new",
                "--remote-debugging-pipe",
                "--disable-gpu",
                "--disable-dev-shm-usage",
            ])
            .args(["--no-first-run", "--disable-extensions", "--disable-background-networking"])
            .args([
                "--disable-component-update",
                "--ignore-certificate-errors",
                "--hide-scrollbars",
            ])
            // It holds only what the test shows it; as root there is no other way.
            .arg("--no-sandbox")
            .arg(format!("--user-data-dir={}", dir.path().join("profile").display()))
            .env("LD_LIBRARY_PATH", env::join_paths(libraries)?)
            .env("FONTCONFIG_FILE", fonts)
            .env("HOME", dir.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().context("could not start the browser")?;
        let to = child.stdin.take().context("the browser cannot be told anything")?;
        let from = child.stdout.take().context("the browser cannot say anything")?;
        let from = BufReader::new(from);
        let mut browser =
            Self { child, to, from, session: None, number: 0, problems: Vec::new(), _dir: dir };
        let target = browser.call("Target.createTarget", &json!({"url": "about:blank"}))?;
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let session = browser.call("Target.attachToTarget", &attach)?;
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), &json!({}))?;
        }
        browser.call("Performance.enable", &json!({"timeDomain": "threadTicks"}))?;
        Ok(browser)
    }

    /// Has something done, and says what came of it.
    fn call(&mut self, method: &str, parameters: &Value) -> Result<Value> {
        self.number += 1;
        let mut message = json!({"id": self.number, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.to.write_all(message.to_string().as_bytes())?;
        self.to.write_all(&[0])?;
        self.to.flush()?;
        loop {
            let mut answer = Vec::new();
            self.from.read_until(0, &mut answer)?;
            if answer.pop().is_none() {
                bail!("the browser has ended");
            }
            let answer: Value = serde_json::from_slice(&answer)?;
            if answer["id"] == self.number {
                if let Some(error) = answer["error"]["message"].as_str() {
                    bail!("{method}: {error}");
                }
                return Ok(answer["result"].clone());
            }
            self.note(&answer);
        }
    }

    fn note(&mut self, event: &Value) {
        let text = match event["method"].as_str().unwrap_or_default() {
            "Runtime.exceptionThrown" => event["params"]["exceptionDetails"].to_string(),
            "Log.entryAdded" if event["params"]["entry"]["source"] == "security" => {
                event["params"]["entry"]["text"].to_string()
            }
            _ => return,
        };
        self.problems.push(text);
    }

    /// Goes to a page.
    pub fn open(&mut self, url: &str) -> Result<()> {
        let gone = self.call("Page.navigate", &json!({"url": url}))?;
        if let Some(error) = gone["errorText"].as_str() {
            // An answer that says no is shown all the same.
            if error != "net::ERR_HTTP_RESPONSE_CODE_FAILURE" {
                bail!("{url}: {error}");
            }
        }
        self.wait_for("document.readyState === 'complete'")
    }

    /// What an expression is in the page.
    pub fn eval(&mut self, expression: &str) -> Result<Value> {
        let asked = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let answer = self.call("Runtime.evaluate", &asked)?;
        if answer["exceptionDetails"].is_object() {
            bail!("{expression}: {}", answer["exceptionDetails"]["exception"]["description"]);
        }
        Ok(answer["result"]["value"].clone())
    }

    /// Waits until an expression holds.
    pub fn wait_for(&mut self, expression: &str) -> Result<()> {
        let mut is_so = || match self.eval(expression) {
            Ok(Value::Bool(true)) => Ok(()),
            other => Err(format!("{other:?}")),
        };
        eventually(PATIENCE, expression, &mut is_so)
    }

    /// How large the window is, and whether it is a phone's.
    pub fn resize(&mut self, width: u32, height: u32, is_phone: bool) -> Result<()> {
        let scale = if is_phone { 2 } else { 1 };
        let size = json!({"width": width, "height": height, "deviceScaleFactor": scale, "mobile": is_phone});
        self.call("Emulation.setDeviceMetricsOverride", &size).map(drop)
    }

    /// What the user likes: `dark` or `light`.
    pub fn prefer(&mut self, scheme: &str) -> Result<()> {
        let feature = json!({"name": "prefers-color-scheme", "value": scheme});
        self.call("Emulation.setEmulatedMedia", &json!({"features": [feature]})).map(drop)
    }

    /// Presses a key, such as `Enter` or `/`.
    pub fn press(&mut self, key: &str) -> Result<()> {
        let code = match key {
            "Enter" => 13,
            "Escape" => 27,
            "Tab" => 9,
            "ArrowUp" => 38,
            "ArrowDown" => 40,
            "End" => 35,
            _ => 0,
        };
        let text = match key {
            "Enter" => Some("\r"),
            _ if key.chars().count() == 1 => Some(key),
            _ => None,
        };
        let mut down = json!({"type": "keyDown", "key": key, "windowsVirtualKeyCode": code});
        if let Some(text) = text {
            down["text"] = json!(text);
        }
        self.call("Input.dispatchKeyEvent", &down)?;
        let up = json!({"type": "keyUp", "key": key, "windowsVirtualKeyCode": code});
        self.call("Input.dispatchKeyEvent", &up).map(drop)
    }

    /// Types a text where the cursor is.
    pub fn type_text(&mut self, text: &str) -> Result<()> {
        self.call("Input.insertText", &json!({ "text": text })).map(drop)
    }

    /// What the browser counts of the page, by its own name for it, such as `LayoutCount`.
    pub fn metric(&mut self, name: &str) -> Result<f64> {
        let metrics = self.call("Performance.getMetrics", &json!({}))?;
        let all = metrics["metrics"].as_array().context("there are no metrics")?;
        let wanted = all.iter().find(|it| it["name"] == name);
        wanted.and_then(|it| it["value"].as_f64()).with_context(|| format!("{name} is not counted"))
    }

    /// What it looks like, as a PNG.
    pub fn screenshot(&mut self) -> Result<Vec<u8>> {
        let shot = self.call("Page.captureScreenshot", &json!({"format": "png"}))?;
        let bytes: k8s_openapi::ByteString = serde_json::from_value(shot["data"].clone())?;
        Ok(bytes.0)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
