'use strict';
// Draws charts when they come into sight, and again in another width: all of them for a sheet of
// paper before printing.

const CHARTS = JSON.parse(document.getElementById('charts').textContent);
const MOST_DATA_ROWS = 2000; // more rows than this are for CSV

function chartOf(figure) {
  return CHARTS[Number(figure.dataset.chart)];
}

// All widths are read before anything is drawn: one read after a drawing lays the whole page out.
function draw(figures) {
  const places = figures.map((figure) => figure.querySelector('.drawing'));
  const widths = places.map((place) => Math.floor(place.clientWidth));
  figures.forEach((figure, index) => {
    const width = widths[index];
    if (width === 0 || figure.dataset.width === String(width)) return;
    const chart = chartOf(figure);
    const svg = DRAW[chart.kind](chart, width);
    svg.setAttribute('aria-hidden', 'true');
    places[index].replaceChildren(svg);
    figure.dataset.width = String(width);
  });
}

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
    rows.slice(0, MOST_DATA_ROWS).forEach(([name, ...figures]) => {
      const cell = (figure) => element('td', { class: 'figure' }, String(figure ?? ''));
      const cells = figures.map(cell);
      body.append(element('tr', {}, element('th', { scope: 'row' }, name), ...cells));
    });
    table.append(body);
    const label = `${chart.name}, data`;
    const region = { class: 'scroll', role: 'region', tabindex: '0', 'aria-label': label };
    details.append(element('div', region, table));
    if (rows.length > MOST_DATA_ROWS) {
      const told = `The first ${MOST_DATA_ROWS} of ${rows.length} rows; CSV has all.`;
      details.append(element('p', {}, told));
    }
  });
  return details;
}

function enhanceChart(figure) {
  const chart = chartOf(figure);
  const svg = () => {
    draw([figure]);
    return figure.querySelector('.drawing svg');
  };
  const tools = element(
    'div', { class: 'tools' },
    button('PNG', `${chart.name} as PNG`, () => exportPng(svg(), chart)),
    button('SVG', `${chart.name} as SVG`, () => exportSvg(svg(), chart)),
    button('CSV', `data of ${chart.name} as CSV`, () => exportCsv(chart.name, rowsOf(chart))),
  );
  if (chart.groups.length > MOST_DRAWN) {
    const told = `The first ${MOST_DRAWN} of ${chart.groups.length} are drawn; the data has all.`;
    figure.querySelector('figcaption').append(element('span', {}, told));
  }
  tools.append(dataTable(chart));
  figure.append(tools);
}

function start() {
  const figures = [...document.querySelectorAll('.chart')];
  document.querySelectorAll('.table').forEach(enhanceTable);
  figures.forEach(enhanceChart);
  const seen = new Set();
  const watcher = new IntersectionObserver((entries) => {
    const shown = entries.filter((entry) => entry.isIntersecting).map(({ target }) => target);
    shown.forEach((figure) => seen.add(figure));
    draw(shown);
  }, { rootMargin: '600px' });
  figures.forEach((figure) => watcher.observe(figure));
  new ResizeObserver(() => draw([...seen])).observe(document.getElementById('main'));
  const opened = [];
  addEventListener('beforeprint', () => {
    document.querySelectorAll('details.notes, details.more').forEach((folded) => {
      if (folded.open) return;
      folded.open = true;
      opened.push(folded);
    });
    // While they are drawn, everything is as wide as on paper.
    document.documentElement.classList.add('paper');
    draw(figures);
    document.documentElement.classList.remove('paper');
  });
  addEventListener('afterprint', () => {
    opened.splice(0).forEach((folded) => { folded.open = false; });
    draw([...seen]);
  });
  document.getElementById('contents').open = matchMedia('(min-width: 60rem)').matches;
}

start();
