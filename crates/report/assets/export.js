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

function textWidth(text, font) {
  const context = document.createElement('canvas').getContext('2d');
  context.font = font;
  return context.measureText(text).width;
}

// Text as lines no wider than that, pixels: broken at spaces, and words where they must be.
function brokenLines(text, font, width) {
  const fits = (line) => textWidth(line, font) <= width;
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

const TITLE = { size: 14, weight: 700, color: '--ink' };
const NOTE = { size: 12, weight: 400, color: '--quiet' };
const MARGIN = 12; // around a picture
const ROOM = 12; // between what is written above a drawing and it

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

// What the style sheet says of a drawing's parts, which a picture must say by itself.
const LOOKS = [
  'fill', 'stroke', 'stroke-width', 'stroke-dasharray', 'font-size', 'font-weight', 'text-anchor',
  'opacity', 'vector-effect',
];

// A copy of a drawing that needs no style sheet; what is not shown is left out.
function selfContained(svg) {
  const copy = svg.cloneNode(true);
  const copies = [copy, ...copy.querySelectorAll('*')];
  const hidden = [];
  [svg, ...svg.querySelectorAll('*')].forEach((original, index) => {
    const style = getComputedStyle(original);
    const one = copies[index];
    if (style.display === 'none') hidden.push(one);
    if (one.tagName === 'title') return;
    LOOKS.forEach((name) => {
      const value = style.getPropertyValue(name);
      if (value && value !== 'none' || name === 'fill') one.setAttribute(name, value);
    });
    if (one.classList.contains('area')) {
      one.setAttribute('width', svg.clientWidth - BESIDE_AREA);
    }
    one.removeAttribute('class');
  });
  hidden.forEach((one) => one.remove());
  return copy;
}

// The names above a drawing with their keys, in as many lines as they need.
function legendOf(figure, width, shape) {
  const entries = [...figure.querySelectorAll('.legend li')].filter((one) => one.checkVisibility());
  const group = shape('g', {});
  let [x, y] = [0, 0];
  for (const entry of entries) {
    const key = entry.querySelector('.key');
    const room = Number(key.getAttribute('width')) + 4;
    const name = entry.textContent.trim();
    const taken = room + textWidth(name, `${NOTE.size}px sans-serif`) + 16;
    if (x > 0 && x + taken > width) [x, y] = [0, y + 18];
    const copy = selfContained(key);
    copy.setAttribute('x', x);
    copy.setAttribute('y', y);
    const text = shape('text', { x: x + room, y: y + 10, 'font-size': NOTE.size });
    text.textContent = name;
    group.append(copy, text);
    x += taken;
  }
  return { group, height: entries.length ? y + 24 : 0 };
}

// The drawing with the page's colors and fonts written out, on the page's ground, under its title,
// what must be known to read it, and its legend.
function standalone(figure, title, note = '') {
  const drawings = [...figure.querySelectorAll('.drawing > svg')];
  const svg = drawings.find((one) => one.checkVisibility()) ?? drawings[0];
  const style = getComputedStyle(document.documentElement);
  const property = (name) => style.getPropertyValue(name).trim();
  const shape = (name, attributes) => {
    const made = document.createElementNS(svg.namespaceURI, name);
    Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
    return made;
  };
  const own = (side) => Number(svg.getAttribute(side));
  const isFixed = svg.matches('.picture'); // which a page shows larger or smaller
  const width = isFixed ? own('width') : Math.ceil(svg.getBoundingClientRect().width);
  const height = own('height');
  const head = headed(width, [[title, TITLE], [note, NOTE]]);
  const legend = legendOf(figure, width, shape);
  legend.group.setAttribute('transform', `translate(0 ${head.height - ROOM + 12})`);
  const top = head.height + legend.height;
  const size = { width: width + 2 * MARGIN, height: top + height + MARGIN };
  const picture = shape('svg', {
    ...size, viewBox: `${-MARGIN} 0 ${size.width} ${size.height}`, 'font-family': 'sans-serif',
    color: property('--ink'), fill: property('--ink'),
  });
  const ground = shape('rect', { x: -MARGIN, y: 0, ...size, fill: property('--ground') });
  const written = head.lines.map(({ line, look, below }) => {
    const text = shape('text', {
      x: 0, y: below, 'text-anchor': 'start', 'font-size': look.size,
      'font-weight': look.weight, fill: property(look.color),
    });
    text.textContent = line;
    return text;
  });
  const drawing = selfContained(svg);
  Object.entries({ y: top, width, height }).forEach(([key, value]) =>
    drawing.setAttribute(key, value));
  const shapes = document.querySelector('.shapes defs').cloneNode(true);
  picture.append(shapes, ground, ...written, legend.group, drawing);
  picture.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  return new XMLSerializer().serializeToString(picture);
}

function exportSvg(figure, chart) {
  const text = standalone(figure, chart.name, chart.note);
  download(fileName(chart.name, 'svg'), new Blob([text], { type: 'image/svg+xml' }));
}

// Twice the size on screen, for paper and slides.
async function pngOf(figure, title, note = '') {
  const picture = new Image();
  const text = standalone(figure, title, note);
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

async function exportPng(figure, chart) {
  download(fileName(chart.name, 'png'), await pngOf(figure, chart.name, chart.note));
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
