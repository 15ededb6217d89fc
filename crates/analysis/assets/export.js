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

// Text as lines no wider than that, pixels: broken at spaces, and words where they must be.
function brokenLines(text, font, width) {
  const context = document.createElement('canvas').getContext('2d');
  context.font = font;
  const fits = (line) => context.measureText(line).width <= width;
  const lines = [];
  let line = '';
  for (const word of text.split(/\s+/).filter(Boolean)) {
    const longer = line ? `${line} ${word}` : word;
    if (line && !fits(longer)) lines.push(line);
    line = line && fits(longer) ? longer : word;
    while (line.length > 1 && !fits(line)) {
      let end = line.length - 1;
      while (end > 1 && !fits(line.slice(0, end))) end -= 1;
      lines.push(line.slice(0, end));
      line = line.slice(end);
    }
  }
  return line ? [...lines, line] : lines;
}

const TITLE = { size: 14, weight: 700, colour: '--ink' };
const NOTE = { size: 12, weight: 400, colour: '--quiet' };
const MARGIN = 12; // around a picture
const ROOM = 24; // between what is written above a drawing and it: the drawing's own label is there

// What is written above a drawing: lines with their looks, each on its own height from the top.
function headed(width, texts) {
  let below = MARGIN;
  const lines = texts.flatMap(([text, look]) => {
    const font = `${look.weight} ${look.size}px sans-serif`;
    return brokenLines(text, font, width).map((line) => {
      below += look.size + 4;
      return { line, look, below };
    });
  });
  return { lines, height: below + ROOM };
}

// The drawing with the page's colours and fonts written out, on the page's ground, under its title
// and what must be known to read it.
function standalone(svg, title, note = '') {
  const style = getComputedStyle(document.documentElement);
  const property = (name) => style.getPropertyValue(name).trim();
  const resolved = (text) => text.replace(/var\((--[\w-]+)\)/g, (_, name) => property(name));
  const copy = svg.cloneNode(true);
  for (const element of [copy, ...copy.querySelectorAll('*')]) {
    for (const attribute of [...element.attributes]) {
      if (attribute.value.includes('var(')) attribute.value = resolved(attribute.value);
    }
  }
  const [width, height] = ['width', 'height'].map((side) => Number(svg.getAttribute(side)));
  const head = headed(width, [[title, TITLE], [note, NOTE]]);
  const size = { width: width + 2 * MARGIN, height: height + head.height + MARGIN };
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  copy.setAttribute('viewBox', `${-MARGIN} ${-head.height} ${size.width} ${size.height}`);
  copy.setAttribute('color', property('--ink'));
  copy.style.fontFamily = 'sans-serif';
  const shape = (name, attributes) => {
    const made = document.createElementNS(copy.namespaceURI, name);
    Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
    return made;
  };
  const fill = property('--ground');
  const ground = shape('rect', { x: -MARGIN, y: -head.height, ...size, fill });
  const written = head.lines.map(({ line, look, below }) => {
    const text = shape('text', {
      x: 0, y: below - head.height, 'text-anchor': 'start', 'font-size': look.size,
      'font-weight': look.weight, fill: property(look.colour),
    });
    text.textContent = line;
    return text;
  });
  copy.prepend(ground, ...written);
  copy.setAttribute('width', size.width);
  copy.setAttribute('height', size.height);
  return new XMLSerializer().serializeToString(copy);
}

function exportSvg(svg, chart) {
  const text = standalone(svg, chart.name, chart.note);
  download(fileName(chart.name, 'svg'), new Blob([text], { type: 'image/svg+xml' }));
}

// Twice the size on screen, for paper and slides.
async function pngOf(svg, title, note = '') {
  const picture = new Image();
  const text = standalone(svg, title, note);
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
  download(fileName(chart.name, 'png'), await pngOf(svg, chart.name, chart.note));
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
