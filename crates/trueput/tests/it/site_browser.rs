//! A site in Chromium, from files and from a server of files.

use crate::site::{ids, with_results};
use crate::support::browser::Browser;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::thread;

/// Elements that stand out of the page to the right and are in no frame that scrolls.
const OUTSIDE: &str = "(() => {
  const scrolls = (e) => !['visible', 'clip'].includes(getComputedStyle(e).overflowX);
  const framed = (e) => e !== null && e !== document.body
    && (scrolls(e) || framed(e.parentElement));
  const over = (e) => e.getBoundingClientRect().right - innerWidth;
  const out = [...document.querySelectorAll('body *')].filter((e) =>
    e.checkVisibility() && over(e) > 1 && !framed(e.parentElement));
  const page = document.documentElement.scrollWidth > innerWidth ? ['the page'] : [];
  return [...page, ...out.map((e) => e.outerHTML.slice(0, 80))];
})()";

/// Numbers of shown rows: rankings, results, runs.
const SHOWN: &str = "['ranking', 'result', 'run'].map((kind) =>
  [...document.querySelectorAll(`[data-row=${kind}]`)].filter((e) => e.checkVisibility()).length)
  .join(' ')";

/// Ticks the box of an engine.
const TICK_SQLITE: &str = "document.querySelector('input[value=sqlite]').click()";

/// Serves the files of a folder to a browser as a static host does, until the tests end.
fn serve(folder: PathBuf) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let folder = folder.clone();
            thread::spawn(move || answer(&stream, &folder));
        }
    });
    address
}

fn answer(mut stream: &TcpStream, folder: &Path) {
    let mut request = String::new();
    let _ = BufReader::new(stream).read_line(&mut request);
    let path = request.split(' ').nth(1).unwrap_or("/");
    let path = path.trim_start_matches('/');
    let path = if path.is_empty() { "index.html" } else { path };
    let (status, kind, body) = match std::fs::read(folder.join(path)) {
        Ok(body) => ("200 OK", "text/html", body),
        // Browsers ask for an icon.
        Err(_) if path == "favicon.ico" => ("204 No Content", "text/plain", Vec::new()),
        Err(_) => ("404 Not Found", "text/plain", Vec::new()),
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n"
    );
    let _ = stream.write_all(head.as_bytes());
    let _ = stream.write_all(&body);
}

#[test]
fn filters_and_links_work_from_files_and_from_a_server() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let bench = with_results();
    let ids = ids(&bench.json_of("site results --output public --json"));
    let public = bench.path().join("public");
    let places = [format!("file://{}", public.display()), serve(public)];
    for (place, width) in places.iter().flat_map(|at| [(at, 1280), (at, 360)]) {
        let index = format!("{place}/index.html");
        browser.visit(&index, width, width == 360);
        let all = browser.evaluate(SHOWN);
        let outside = browser.evaluate(OUTSIDE);
        assert_eq!(
            outside.as_array().unwrap().len(),
            0,
            "{width} px: {outside:#}"
        );
        // A filter shows fewer rows, is in the address, and works from there.
        browser.evaluate("document.querySelector('#filters details').open = true");
        assert_eq!(
            browser.evaluate(OUTSIDE).as_array().unwrap().len(),
            0,
            "{width} px, filters"
        );
        browser.evaluate(TICK_SQLITE);
        assert_eq!(browser.evaluate("location.hash"), "#engine=sqlite");
        let filtered = browser.evaluate(SHOWN);
        assert_eq!(filtered, "2 2 2", "of {all}");
        browser.visit(&format!("{index}#engine=sqlite"), width, false);
        assert_eq!(browser.evaluate(SHOWN), filtered);
        browser.visit(
            &format!("{index}#level=sync&workload=threen1"),
            width,
            false,
        );
        assert_eq!(browser.evaluate(SHOWN), "0 0 0");
        let notes = "[...document.querySelectorAll('.none')].every((e) => e.checkVisibility())";
        assert_eq!(browser.evaluate(notes), true);
        browser.visit(&format!("{index}#from=2026-11-24"), width, false);
        assert_eq!(browser.evaluate(SHOWN), "1 2 1");
        let host = "[...document.querySelectorAll('#filters select')].flatMap((e) => \
            [...e.options]).some((e) => e.value.startsWith('\"><img'))";
        assert_eq!(browser.evaluate(host), true, "the host is a choice");
        browser.evaluate("[...document.querySelectorAll('#filters button')].at(-1).click()");
        assert_eq!(browser.evaluate(SHOWN), all);
        // The link of a run leads to its page, and that one's back.
        let link = format!("a[href=\"runs/{}.html\"]", ids[2]);
        browser.follow(&format!("document.querySelector('{link}').click()"));
        assert_eq!(browser.evaluate("document.title"), "trueput: turns");
        assert_eq!(
            browser.evaluate(OUTSIDE).as_array().unwrap().len(),
            0,
            "{width} px, run"
        );
        browser.follow("document.querySelector('a[href=\"../index.html\"]').click()");
        assert_eq!(browser.evaluate(SHOWN), all);
    }
    assert!(browser.complaints.is_empty(), "{:#?}", browser.complaints);
}

#[test]
fn the_first_page_needs_no_script() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let bench = with_results();
    bench.run_expecting(0, "site results --output public");
    let index = format!(
        "file://{}/index.html",
        bench.path().join("public").display()
    );
    browser.visit(&index, 1280, false);
    let all = browser.evaluate(SHOWN);
    browser.scripts(false);
    browser.visit(&index, 1280, false);
    assert_eq!(browser.evaluate(SHOWN), all);
    assert_eq!(
        browser.evaluate("document.querySelectorAll('#filters *').length"),
        0
    );
}
