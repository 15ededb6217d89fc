//! Chromium without a window, spoken to over its DevTools protocol.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The names that Chromium goes by.
const NAMES: [&str; 4] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
];

/// Waits until two frames have passed.
const FRAMES: &str = "new Promise((done) => \
    requestAnimationFrame(() => requestAnimationFrame(() => done(true))))";

/// A browser with one page open.
pub struct Browser {
    process: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    session: Option<String>,
    calls: u64,
    /// Errors of its console and scripts.
    pub complaints: Vec<String>,
    loaded: bool,
    /// Its profile, and a page that was opened by its text.
    profile: tempfile::TempDir,
}

impl Browser {
    /// Starts a browser; `None`, with the reason printed, if there is none.
    pub fn start() -> Option<Self> {
        let present = |name: &&&str| {
            let mut which = Command::new("sh");
            which.args(["-c", "command -v \"$0\" >/dev/null", name]);
            which.status().is_ok_and(|status| status.success())
        };
        let Some(name) = NAMES.iter().find(present) else {
            println!("skipped: no chromium here; on Debian: apt-get install chromium");
            return None;
        };
        let profile = tempfile::tempdir().unwrap();
        // The protocol's pipe is at descriptors 3 and 4; a browser that hangs is ended.
        let script = "exec timeout -k 5 300 \"$0\" --headless=new --no-sandbox --disable-gpu \
                      --remote-debugging-pipe --user-data-dir=\"$1\" about:blank \
                      3<&0 4>&1 0</dev/null 1>/dev/null 2>/dev/null";
        let mut process = Command::new("sh")
            .args(["-c", script, name])
            .arg(profile.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut browser = Self {
            to: process.stdin.take().unwrap(),
            from: BufReader::new(process.stdout.take().unwrap()),
            process,
            session: None,
            calls: 0,
            complaints: Vec::new(),
            loaded: false,
            profile,
        };
        let targets = browser.call("Target.getTargets", json!({}));
        let pages = targets["targetInfos"].as_array().unwrap();
        let page = pages
            .iter()
            .find(|target| target["type"] == "page")
            .unwrap();
        let attach = json!({"targetId": page["targetId"], "flatten": true});
        let attached = browser.call("Target.attachToTarget", attach);
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    /// Opens a page at a width, light or dark, and waits until it is loaded and unfolded.
    #[allow(dead_code, reason = "each test program uses its own part")]
    pub fn open(&mut self, page: &str, width: u32, dark: bool) {
        self.load(page, width, dark);
        // Folded parts open as before printing.
        self.evaluate(&format!(
            "dispatchEvent(new Event('beforeprint')); {FRAMES}"
        ));
    }

    /// Opens a page as [`Browser::open`] does, and leaves folded what is.
    #[allow(dead_code, reason = "each test program uses its own part")]
    pub fn load(&mut self, page: &str, width: u32, dark: bool) {
        let file = self.profile.path().join("page.html");
        std::fs::write(&file, page).unwrap();
        let address = format!("file://{}", file.display());
        self.visit(&address, width, dark);
    }

    /// Opens an address at a width, light or dark, and waits until it is loaded.
    pub fn visit(&mut self, address: &str, width: u32, dark: bool) {
        let mobile = width < 500;
        let metrics =
            json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": mobile});
        self.call("Emulation.setDeviceMetricsOverride", metrics);
        let scheme = if dark { "dark" } else { "light" };
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        let media = json!({"media": "screen", "features": features});
        self.call("Emulation.setEmulatedMedia", media);
        // A page whose address differs only after '#' would not be loaded again.
        if address.contains('#') {
            self.load_at("about:blank");
        }
        self.load_at(address);
    }

    fn load_at(&mut self, address: &str) {
        self.loaded = false;
        self.call("Page.navigate", json!({"url": address}));
        while !self.loaded {
            self.receive();
        }
    }

    /// Waits until a page that a click or a script leads to is loaded.
    #[allow(dead_code, reason = "each test program uses its own part")]
    pub fn follow(&mut self, script: &str) {
        self.loaded = false;
        self.evaluate(script);
        while !self.loaded {
            self.receive();
        }
    }

    /// Has a script run in every page that is opened from now on, before the page's own.
    #[allow(dead_code, reason = "each test program uses its own part")]
    pub fn run_first(&mut self, script: &str) {
        let source = json!({"source": script});
        self.call("Page.addScriptToEvaluateOnNewDocument", source);
    }

    /// Has pages run scripts, or not, from now on.
    #[allow(dead_code, reason = "each test program uses its own part")]
    pub fn scripts(&mut self, run: bool) {
        let off = json!({"value": !run});
        self.call("Emulation.setScriptExecutionDisabled", off);
    }

    /// Presses and releases a key at the focus: its name, its number, and the text it types.
    #[allow(dead_code, reason = "each test program uses its own part")]
    pub fn press(&mut self, key: &str, number: u32, text: &str) {
        for kind in ["keyDown", "keyUp"] {
            let mut event = json!({"type": kind, "key": key, "code": key,
                "windowsVirtualKeyCode": number});
            if kind == "keyDown" && !text.is_empty() {
                event["text"] = json!(text);
            }
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    /// The accessible names of elements with a role, in the page's order.
    #[allow(dead_code, reason = "each test program uses its own part")]
    pub fn names(&mut self, role: &str) -> Vec<String> {
        let tree = self.call("Accessibility.getFullAXTree", json!({}));
        let nodes = tree["nodes"].as_array().unwrap().iter();
        let told = nodes.filter(|node| node["ignored"] == json!(false));
        told.filter(|node| node["role"]["value"] == role)
            .map(|node| node["name"]["value"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Lays the open page out as for a sheet of that width.
    #[allow(dead_code, reason = "each test program uses its own part")]
    pub fn print(&mut self, width: u32) {
        let metrics =
            json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", metrics);
        self.call("Emulation.setEmulatedMedia", json!({"media": "print"}));
        self.evaluate(FRAMES);
    }

    /// A part of the open page as a PNG in Base64, beyond what the window shows too.
    #[allow(dead_code, reason = "each test program uses its own part")]
    pub fn picture(&mut self, clip: &Value) -> Value {
        let parameters = json!({"format": "png", "clip": clip, "captureBeyondViewport": true});
        self.call("Page.captureScreenshot", parameters)["data"].clone()
    }

    /// The value of an expression in the page, awaited if it is a promise.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let arguments =
            json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let evaluated = self.call("Runtime.evaluate", arguments);
        assert!(evaluated["exceptionDetails"].is_null(), "{evaluated:#}");
        evaluated["result"]["value"].clone()
    }

    #[allow(clippy::needless_pass_by_value, reason = "each is made for its call")]
    fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.calls += 1;
        let mut message = json!({"id": self.calls, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        write!(self.to, "{message}\0").unwrap();
        self.to.flush().unwrap();
        loop {
            let answer = self.receive();
            if answer["id"] == self.calls {
                assert!(answer["error"].is_null(), "{method}: {answer:#}");
                return answer["result"].clone();
            }
        }
    }

    fn receive(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.from.read_until(0, &mut bytes).unwrap();
        assert_eq!(bytes.pop(), Some(0), "the browser ended");
        let message: Value = serde_json::from_slice(&bytes).unwrap();
        match message["method"].as_str() {
            Some("Page.loadEventFired") => self.loaded = true,
            Some("Runtime.exceptionThrown" | "Runtime.consoleAPICalled" | "Log.entryAdded") => {
                self.complaints.push(message["params"].to_string());
            }
            _ => {}
        }
        message
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = write!(self.to, "{{\"id\":0,\"method\":\"Browser.close\"}}\0");
        let _ = self.to.flush();
        let _ = self.process.wait();
    }
}
