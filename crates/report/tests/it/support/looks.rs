//! Checks of a page in a browser, and their findings.

use serde_json::{Value, json};

/// The checks of each page: sizes, drawings, headings, tables, names of charts.
pub const LOOK: &str = "(() => {
  const all = (what) => [...document.querySelectorAll(what)];
  const hidden = (e) => e.closest('details:not([open])') && !e.matches('summary');
  const drawings = all('.drawing').filter((e) => !hidden(e));
  const levels = all('h1,h2,h3,h4').map((e) => Number(e.tagName[1]));
  const box = (e) => e.getBoundingClientRect();
  const inside = (e) => box(e).left >= 0 && box(e).right <= innerWidth;
  const texts = drawings.flatMap((e) => [...e.querySelectorAll('text')]);
  return {
    overflow: document.documentElement.scrollWidth - innerWidth,
    outside: texts.filter((e) => !inside(e)).map((e) => e.textContent),
    drawings: drawings.length,
    empty: drawings.filter((e) => !e.querySelector('svg *')).length,
    nameless: all('.drawing').filter((e) => !e.getAttribute('aria-label')).length,
    skipped: levels.filter((level, i) => i > 0 && level > levels[i - 1] + 1).length,
    titles: levels.filter((level) => level === 1).length,
    uncaptioned: all('table').filter((e) => !e.caption || !e.caption.textContent).length,
    unscoped: all('th').filter((e) => !e.scope).length,
    buttons: all('button').filter((e) => !e.getAttribute('aria-label')).length,
    namesakes: [
      all('caption').map((e) => e.textContent),
      all('[role=group]').map((e) => e.getAttribute('aria-label')),
      all('button, input').map((e) => e.ariaLabel ?? e.labels[0].textContent),
      all('summary').map((e) => e.textContent),
    ].reduce((sum, names) => sum + names.length - new Set(names).size, 0),
    files: (() => {
      const names = [...all('caption').map((e) => e.textContent), ...CHARTS.map((c) => c.name)];
      return names.length - new Set(names.map((name) => fileName(name, 'csv'))).size;
    })(),
    unnamed: all('thead th span[aria-label]').length,
    ids: all('[id]').length - new Set(all('[id]').map((e) => e.id)).size,
  };
})()";

/// The faults that were seen, in words; empty for a page as it should be.
pub fn complaints_about(seen: &Value) -> Vec<String> {
    let faults = [
        "empty",
        "nameless",
        "skipped",
        "uncaptioned",
        "unscoped",
        "buttons",
        "namesakes",
        "files",
        "unnamed",
        "ids",
    ];
    let faults = faults.iter().filter(|name| seen[*name] != 0);
    let mut complaints: Vec<_> = faults
        .map(|name| format!("{name}: {}", seen[*name]))
        .collect();
    if seen["overflow"].as_i64() > Some(0) || seen["outside"] != json!([]) {
        complaints.push(format!(
            "overflow: {} {}",
            seen["overflow"], seen["outside"]
        ));
    }
    if seen["titles"] != 1 {
        complaints.push(format!("titles: {}", seen["titles"]));
    }
    complaints
}
