// Filters of a site's first page. What they hide was there before the script.

// The properties of rows, and what the filter of each is called.
const PROPERTIES = [
  ['engine', 'Engines'], ['level', 'Durability level'], ['workload', 'Workload'],
  ['storage', 'Storage'], ['host', 'Host'], ['version', 'Engine version'],
];
const BOUNDS = [['from', 'From'], ['to', 'To']];

// A row with its properties; a result has those of its ranking, too.
function readRow(node) {
  const group = node.closest('[data-group]').dataset.group;
  const values = { ...JSON.parse(group || '{}'), ...JSON.parse(node.dataset.values) };
  return { node, kind: node.dataset.row, values };
}

// The filters in an address: #engine=lmdb&engine=sqlite&level=sync.
function readHash() {
  const words = new URLSearchParams(location.hash.slice(1));
  const chosen = new Map();
  PROPERTIES.forEach(([name]) => {
    const values = words.getAll(name).filter(Boolean);
    if (values.length) chosen.set(name, new Set(values));
  });
  BOUNDS.forEach(([name]) => {
    if (words.get(name)) chosen.set(name, words.get(name));
  });
  return chosen;
}

function hashOf(chosen) {
  const words = new URLSearchParams();
  PROPERTIES.forEach(([name]) => {
    [...chosen.get(name) ?? []].sort().forEach((value) => words.append(name, value));
  });
  BOUNDS.forEach(([name]) => {
    if (chosen.get(name)) words.append(name, chosen.get(name));
  });
  return words.toString();
}

// Whether a row has what is chosen, except for one property.
function matches(values, chosen, except) {
  const date = values.date?.[0] ?? '';
  if (chosen.get('from') && date < chosen.get('from')) return false;
  if (chosen.get('to') && (date === '' || date > chosen.get('to'))) return false;
  return PROPERTIES.every(([name]) => name === except || !chosen.has(name)
    || (values[name] ?? []).some((value) => chosen.get(name).has(value)));
}

function countBy(rows, name, chosen) {
  const counts = new Map();
  rows.filter((row) => row.kind === 'result' && matches(row.values, chosen, name))
    .forEach((row) => (row.values[name] ?? []).forEach((value) => {
      counts.set(value, (counts.get(value) ?? 0) + 1);
    }));
  return counts;
}

function valuesOf(rows, name) {
  const all = new Set(rows.flatMap((row) => row.values[name] ?? []));
  const byNumber = { numeric: true };
  return [...all].sort((one, other) => one.localeCompare(other, 'en', byNumber));
}

// Shows the rows that match, and the groups and tables that have any of them.
function showMatching(rows, chosen) {
  rows.forEach((row) => { row.node.hidden = !matches(row.values, chosen); });
  document.querySelectorAll('[data-group]').forEach((group) => {
    group.hidden = !group.querySelector('[data-row]:not([hidden])');
  });
  document.querySelectorAll('.none').forEach((note) => {
    const shown = note.parentElement.querySelector('[data-row]:not([hidden])');
    const frame = note.previousElementSibling;
    note.hidden = Boolean(shown);
    frame.hidden = !shown;
  });
}

function describe(rows, chosen) {
  if (chosen.size === 0) return '';
  const count = (kind) => {
    const all = rows.filter((row) => row.kind === kind);
    return `${all.filter((row) => !row.node.hidden).length} of ${all.length}`;
  };
  return `Shown: ${count('ranking')} rankings, ${count('result')} results, ${count('run')} runs.`;
}

// A list of check boxes, since engines are compared with each other.
function engineField(name, title, values, change) {
  const boxes = values.map((value) => {
    const box = element('input', { type: 'checkbox', value });
    box.addEventListener('change', change);
    return box;
  });
  const labels = boxes.map((box) => element('label', {}, box, element('span')));
  return {
    node: element('fieldset', {}, element('legend', {}, title), ...labels),
    read: () => new Set(boxes.filter((box) => box.checked).map((box) => box.value)),
    show: (chosen, counts) => boxes.forEach((box, index) => {
      const count = counts.get(box.value) ?? 0;
      box.checked = chosen.get(name)?.has(box.value) ?? false;
      labels[index].classList.toggle('empty', count === 0);
      labels[index].lastChild.textContent = `${box.value} (${count})`;
    }),
  };
}

function selectField(name, title, values, change) {
  const options = values.map((value) => element('option', { value }, value));
  const select = element('select', {}, element('option', { value: '' }, 'all'), ...options);
  select.addEventListener('change', change);
  return {
    node: element('label', {}, title, select),
    read: () => new Set(select.value ? [select.value] : []),
    show: (chosen, counts) => {
      const [value] = chosen.get(name) ?? [];
      select.value = value ?? '';
      options.forEach((option) => {
        const count = counts.get(option.value) ?? 0;
        option.textContent = `${option.value} (${count})`;
        option.disabled = count === 0 && option.value !== value;
      });
    },
  };
}

function dateField(name, title, change) {
  const input = element('input', { type: 'date' });
  input.addEventListener('change', change);
  return {
    node: element('label', {}, title, input),
    read: () => input.value,
    show: (chosen) => { input.value = chosen.get(name) ?? ''; },
  };
}

function startFilters() {
  const rows = [...document.querySelectorAll('[data-row]')].map(readRow);
  if (!rows.length) return;
  const fields = new Map();
  const told = element('output', { 'aria-live': 'polite' });
  const clear = button('Clear filters', 'Clear filters', () => {
    history.replaceState(null, '', '#');
    apply(new Map());
  });
  const apply = (chosen) => {
    clear.hidden = chosen.size === 0;
    showMatching(rows, chosen);
    fields.forEach((field, name) => field.show(chosen, countBy(rows, name, chosen)));
    told.textContent = describe(rows, chosen);
  };
  const change = () => {
    const chosen = new Map();
    fields.forEach((field, name) => {
      const value = field.read();
      if (value.size || value.length) chosen.set(name, value);
    });
    // Without an entry in the history for each box that is ticked.
    history.replaceState(null, '', `#${hashOf(chosen)}`);
    apply(chosen);
  };
  PROPERTIES.forEach(([name, title]) => {
    const values = valuesOf(rows, name);
    const field = name === 'engine' ? engineField : selectField;
    // One value is no choice.
    if (values.length > 1) fields.set(name, field(name, title, values, change));
  });
  if (valuesOf(rows, 'date').length > 1) {
    BOUNDS.forEach(([name, title]) => fields.set(name, dateField(name, title, change)));
  }
  if (!fields.size) return;
  const folded = element('details', {}, element('summary', {}, 'Filter'));
  const nodes = [...fields.values()].map((field) => field.node);
  folded.append(element('div', { class: 'fields' }, ...nodes));
  const tools = element('div', { class: 'tools' }, clear, told);
  document.getElementById('filters').append(folded, tools);
  // An address with another name in it leads to a place on the page.
  const fromAddress = () => {
    if (location.hash.length <= 1 || location.hash.includes('=')) apply(readHash());
  };
  addEventListener('hashchange', fromAddress);
  apply(readHash());
  folded.open = matchMedia('(min-width: 60rem)').matches || readHash().size > 0;
}

startFilters();
