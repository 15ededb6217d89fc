'use strict';
// A chart as a picture or as CSV, for other programs.

function download(name, blob) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function fileName(title, ending) {
  const run = document.title.replace(/^trueput: /, '');
  const words = `${run} ${title}`.toLowerCase().replace(/[^a-z0-9]+/g, '-');
  const name = words.replace(/^-|-$/g, '');
  // What tells names apart stands at their ends.
  const short = name.length <= 100 ? name : `${name.slice(0, 29)}-${name.slice(-70)}`;
  return `${short}.${ending}`;
}

// The drawing with the page's colours and fonts written out, on the page's ground.
function standalone(svg, title) {
  const style = getComputedStyle(document.documentElement);
  const property = (name) => style.getPropertyValue(name).trim();
  const written = (text) => text.replace(/var\((--[\w-]+)\)/g, (_, name) => property(name));
  const copy = svg.cloneNode(true);
  for (const element of [copy, ...copy.querySelectorAll('*')]) {
    for (const attribute of [...element.attributes]) {
      if (attribute.value.includes('var(')) attribute.value = written(attribute.value);
    }
  }
  const [width, height] = [svg.getAttribute('width'), svg.getAttribute('height')];
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  copy.setAttribute('viewBox', `-12 -36 ${Number(width) + 24} ${Number(height) + 48}`);
  copy.setAttribute('color', property('--ink'));
  copy.style.fontFamily = 'sans-serif';
  const shape = (name, attributes) => {
    const made = document.createElementNS(copy.namespaceURI, name);
    Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
    return made;
  };
  const size = { width: '100%', height: '100%', fill: property('--ground') };
  const ground = shape('rect', { x: -12, y: -36, ...size });
  const font = { 'font-weight': 700, 'font-size': 14, fill: 'currentColor' };
  const heading = shape('text', { x: 0, y: -16, ...font });
  heading.textContent = title;
  copy.prepend(ground, heading);
  copy.setAttribute('width', Number(width) + 24);
  copy.setAttribute('height', Number(height) + 48);
  return new XMLSerializer().serializeToString(copy);
}

function exportSvg(svg, chart) {
  const text = standalone(svg, chart.title);
  download(fileName(chart.name, 'svg'), new Blob([text], { type: 'image/svg+xml' }));
}

// Twice the size on screen, for paper and slides.
async function pngOf(svg, title) {
  const picture = new Image();
  const text = standalone(svg, title);
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await picture.decode();
  const canvas = document.createElement('canvas');
  canvas.width = picture.width * 2;
  canvas.height = picture.height * 2;
  const context = canvas.getContext('2d');
  context.scale(2, 2);
  context.drawImage(picture, 0, 0);
  return new Promise((resolve) => { canvas.toBlob(resolve, 'image/png'); });
}

async function exportPng(svg, chart) {
  download(fileName(chart.name, 'png'), await pngOf(svg, chart.title));
}

function csvCell(value) {
  const text = value === null || value === undefined ? '' : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function csvOf(rows) {
  return rows.map((row) => `${row.map(csvCell).join(',')}\r\n`).join('');
}

// The chart's data as rows, its headings first; words stand for their numbers.
function rowsOf(chart) {
  const isWord = chart.columns.map((column) => column.unit === 'word');
  const cell = (value, column) => (isWord[column] ? chart.words[value].text : value);
  const rowsIn = (group) => group.rows.map((row) => [group.name, ...row.map(cell)]);
  const rows = chart.groups.flatMap(rowsIn);
  return [[chart.group, ...chart.columns.map((column) => column.title)], ...rows];
}

function exportCsv(title, rows) {
  download(fileName(title, 'csv'), new Blob([csvOf(rows)], { type: 'text/csv' }));
}
