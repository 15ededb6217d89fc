'use strict';
// Gives tables and charts their tools.

const MAX_DATA_ROWS = 2000; // more rows than this are for CSV

// The data as a table: what those read who do not see the drawing. Made when it is opened.
function dataTable(chart) {
  const of = element('span', { class: 'unseen' }, ` of ${chart.name}`);
  const details = element('details', {}, element('summary', {}, 'Data as a table', of));
  details.addEventListener('toggle', () => {
    if (!details.open || details.children.length > 1) return;
    const [headings, ...rows] = rowsOf(chart);
    const table = element('table', {}, element('caption', {}, `${chart.name}, data`));
    const titles = headings.map((text) => element('th', { scope: 'col' }, text));
    table.append(element('thead', {}, element('tr', {}, ...titles)));
    const body = element('tbody');
    rows.slice(0, MAX_DATA_ROWS).forEach(([name, ...figures]) => {
      const cell = (figure) => element('td', { class: 'figure' }, String(figure ?? ''));
      const cells = figures.map(cell);
      body.append(element('tr', {}, element('th', { scope: 'row' }, name), ...cells));
    });
    table.append(body);
    const label = `${chart.name}, data`;
    const region = { class: 'scroll', role: 'group', tabindex: '0', 'aria-label': label };
    details.append(element('div', region, table));
    if (rows.length > MAX_DATA_ROWS) {
      const told = `The first ${MAX_DATA_ROWS} of ${rows.length} rows; CSV has all.`;
      details.append(element('p', {}, told));
    }
  });
  return details;
}

function enhanceChart(figure) {
  const chart = chartOf(figure);
  const tools = element(
    'div', { class: 'tools' },
    button('PNG', `${chart.name} as PNG`, () => exportPng(figure, chart)),
    button('SVG', `${chart.name} as SVG`, () => exportSvg(figure, chart)),
    button('CSV', `data of ${chart.name} as CSV`, () => exportCsv(chart.name, rowsOf(chart))),
  );
  tools.append(dataTable(chart));
  figure.append(tools);
  enablePointer(figure);
  enableIsolation(figure);
}

// What is folded is on paper all the same.
function unfoldForPrint() {
  const opened = [];
  addEventListener('beforeprint', () => {
    document.querySelectorAll('details.notes, details.more, details.single').forEach((folded) => {
      // The first sheet has room for the first rows of the answer and a chart.
      if (folded.open || folded.closest('.answers')) return;
      folded.open = true;
      opened.push(folded);
    });
  });
  addEventListener('afterprint', () => {
    opened.splice(0).forEach((folded) => { folded.open = false; });
  });
}

function start() {
  document.querySelectorAll('.table').forEach(enhanceTable);
  document.querySelectorAll('.chart').forEach(enhanceChart);
  enableSelection();
  unfoldForPrint();
  document.getElementById('contents').open = matchMedia('(min-width: 60rem)').matches;
}

start();
