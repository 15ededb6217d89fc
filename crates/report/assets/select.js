'use strict';
// Which contenders the whole page shows: in charts, legends and tables.

const MIN_CONTENDERS = 3; // of fewer contenders none needs to be left out

// The names of all contenders, in the order in which charts have them.
function contenders() {
  const charts = CHARTS.filter((chart) => chart.group === 'contender');
  return [...new Set(charts.flatMap((chart) => chart.groups.map((group) => group.name)))];
}

// The rows of a chart below each other, those of contenders that are not shown left out.
function stackRows(svg) {
  const rows = [...svg.querySelectorAll('.row')];
  const shown = rows.filter((row) => !row.classList.contains('unselected'));
  const height = Number(rows[0].getAttribute('height'));
  shown.forEach((row, index) => row.setAttribute('y', index * height));
  svg.querySelector('.grid').setAttribute('height', shown.length * height);
  const axis = svg.querySelector('.axis');
  axis.setAttribute('y', shown.length * height);
  svg.setAttribute('height', shown.length * height + Number(axis.getAttribute('height')));
}

function showInChart(figure, isShown) {
  const chart = chartOf(figure);
  if (!['contender', 'trial'].includes(chart.group)) return;
  figure.querySelectorAll('[data-group]').forEach((one) => {
    const { name } = chart.groups[Number(one.dataset.group)];
    // A trial is named after its contender, its level and more.
    const contender = chart.group === 'trial'
      ? contenders().find((known) => name.startsWith(`${known}, `)) ?? name : name;
    one.classList.toggle('unselected', !isShown(contender));
  });
  const rows = figure.querySelector('svg.rows');
  if (rows) stackRows(rows);
}

function showInTable(table, isShown, known) {
  const titles = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
  const column = titles.indexOf('contender');
  if (column < 0) return;
  [...table.tBodies[0].rows].forEach((row) => {
    const name = row.cells[column].textContent;
    row.classList.toggle('unselected', known.has(name) && !isShown(name));
  });
}

function enableSelection() {
  const names = contenders();
  if (names.length < MIN_CONTENDERS) return;
  const known = new Set(names);
  const off = new Set();
  const isShown = (name) => !off.has(name);
  const count = element('span');
  const boxes = names.map((name) => {
    const box = element('input', { type: 'checkbox' });
    box.checked = true;
    box.addEventListener('change', () => {
      if (box.checked) off.delete(name);
      else off.add(name);
      show();
    });
    return [box, element('label', {}, box, ` ${name}`)];
  });
  const set = (checked) => {
    boxes.forEach(([box]) => { box.checked = checked; });
    off.clear();
    if (!checked) names.forEach((name) => off.add(name));
    show();
  };
  function show() {
    const shown = names.length - off.size;
    count.textContent = off.size === 0 ? `all ${names.length}` : `${shown} of ${names.length}`;
    document.querySelectorAll('.chart').forEach((figure) => showInChart(figure, isShown));
    document.querySelectorAll('.table table').forEach((table) =>
      showInTable(table, isShown, known));
  }
  const tools = element('div', { class: 'tools' },
    button('All', 'All contenders', () => set(true)),
    button('None', 'None of the contenders', () => set(false)));
  const choices = element('fieldset', {}, element('legend', { class: 'unseen' }, 'Contenders'),
    tools, ...boxes.map(([, label]) => label));
  const chosen = element('details', { class: 'selection' },
    element('summary', {}, 'Contenders shown: ', count), choices);
  const first = document.querySelector('.first');
  if (first) first.after(chosen);
  count.textContent = `all ${names.length}`;
}
