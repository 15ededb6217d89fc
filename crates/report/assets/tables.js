'use strict';
// Tables that sort and search. What they hold was there before the script.

const FEW_ROWS = 6; // tables with no more rows need no search

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
  made.append(...children);
  return made;
}

function button(text, label, act) {
  const made = element('button', { type: 'button', 'aria-label': label }, text);
  made.addEventListener('click', act);
  return made;
}

function sortBy(table, index, heading) {
  const down = heading.getAttribute('aria-sort') === 'ascending';
  table.querySelectorAll('thead th').forEach((other) => other.setAttribute('aria-sort', 'none'));
  heading.setAttribute('aria-sort', down ? 'descending' : 'ascending');
  const body = table.tBodies[0];
  const keyed = [...body.rows].map((row) => [sortKey(row.cells[index].textContent), row]);
  // Figures, then words, then what is empty, whichever way is up.
  const rank = (key) => (typeof key === 'number' ? 0 : Number(key === '') + 1);
  const within = (one, other) => (rank(one) === 0 ? one - other : one.localeCompare(other));
  const order = (one, other) =>
    rank(one) - rank(other) || (down ? within(other, one) : within(one, other));
  keyed.sort((one, other) => order(one[0], other[0]));
  body.append(...keyed.map(([, row]) => row));
}

// Every button is named after its table and column, for lists of buttons tell no more than a name;
// the heading keeps its title, which is read out with each of its cells.
function makeSortable(table) {
  const named = new Map();
  table.querySelectorAll('thead th').forEach((heading, index) => {
    const title = heading.textContent;
    const times = (named.get(title) ?? 0) + 1;
    named.set(title, times);
    const column = times === 1 ? title : `${title} (${times})`;
    heading.setAttribute('aria-sort', 'none');
    heading.setAttribute('aria-label', column);
    const label = `Sort '${captionOf(table)}' by ${column}`;
    const sort = button('', label, () => sortBy(table, index, heading));
    sort.append(...heading.childNodes);
    heading.append(sort);
  });
}

function makeSearchable(table, tools) {
  const rows = [...table.tBodies[0].rows];
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const label = `search in ${captionOf(table)}`;
  const field = element('input', { type: 'search', 'aria-label': label, placeholder: 'search' });
  const found = element('output', { 'aria-live': 'polite' });
  field.addEventListener('input', () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, index) => {
      row.hidden = !words.every((word) => texts[index].includes(word));
      if (!row.hidden) shown += 1;
    });
    found.textContent = words.length ? `${shown} of ${rows.length} rows` : '';
  });
  tools.append(field, found);
}

function captionOf(table) {
  return table.caption ? table.caption.textContent : 'the table';
}

function tableRows(table) {
  return [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent));
}

function enhanceTable(frame) {
  const table = frame.querySelector('table');
  const scroll = frame.querySelector('.scroll');
  const tools = element('div', { class: 'tools' });
  const count = table.tBodies[0].rows.length;
  if (count > FEW_ROWS) makeSearchable(table, tools);
  if (count > 1) makeSortable(table);
  scroll.classList.toggle('long', count > 30);
  const caption = captionOf(table);
  tools.append(button('CSV', `${caption} as CSV`, () => exportCsv(caption, tableRows(table))));
  const columns = frame.querySelector('.columns');
  if (columns) tools.append(columns);
  frame.prepend(tools);
}
