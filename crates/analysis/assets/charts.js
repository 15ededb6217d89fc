'use strict';
// The charts. Each function draws one kind as an SVG of a given width, with Observable Plot.
// Colours are the page's custom properties, so that light, dark and paper need no redrawing.

const FONT = 12;
const LINE = 18;
const BAR = { insetTop: 19, insetBottom: 5 }; // a bar in its row, below its name

const DRAW = {
  bars: drawBars, stack: drawStack, timeline: drawLines, percentiles: drawPercentiles,
  scaling: drawScaling, stretches: drawStretches, ratios: drawRatios,
};

function base(width, height, options) {
  return {
    width, height, marginLeft: 4, marginRight: 12, marginTop: 4, marginBottom: 36,
    style: { fontSize: `${FONT}px`, fontFamily: 'inherit', overflow: 'visible' },
    ...options,
  };
}

// An axis of figures along the bottom, with as many ticks as there is room for.
function bottom(width, unit, label, more) {
  return {
    label, labelAnchor: 'center', labelArrow: 'none', ticks: Math.max(2, Math.floor(width / 110)),
    tickFormat: WRITE_ON_AXIS[unit], grid: true, ...more,
  };
}

// The same from 0 up to a figure, at round figures of its unit: bytes count in powers of 1,024.
function fromZero(width, unit, label, most) {
  const sizes = SIZES.map(([size]) => size).filter((size) => size === 1 || size <= most);
  const factor = unit === 'bytes' ? d3.max(sizes) : 1;
  const count = Math.max(2, Math.floor(width / 110));
  const [, end] = d3.nice(0, (most || 1) / factor, count);
  const ticks = d3.ticks(0, end, count).map((tick) => tick * factor);
  return bottom(width, unit, label, { domain: [0, end * factor], ticks });
}

// A side axis within the chart: its labels stand above their lines, so that none needs a margin.
function side(unit, label, more) {
  return [
    Plot.gridY({ stroke: 'var(--rule)', strokeOpacity: 1, ...more }),
    Plot.axisY({
      label: null, tickSize: 0, textAnchor: 'start', dx: 6, dy: -6, insetLeft: 0, marginLeft: 0,
      tickFormat: WRITE_ON_AXIS[unit], fill: 'var(--quiet)', ...more,
    }),
    Plot.text([label], { frameAnchor: 'top-left', dy: -27, text: (d) => d, fontWeight: 600 }),
  ];
}

// Names with their looks, drawn into the chart so that what is exported has them: as patches of
// colour, or as lines with a symbol.
function legend(entries, width) {
  const longest = Math.max(...entries.map((entry) => entry.name.length));
  const room = Math.min(width, longest * 7 + 46);
  const across = Math.max(1, Math.floor(width / room));
  const height = Math.ceil(entries.length / across) * LINE + 8;
  const draw = () => {
    const group = d3.create('svg:g').attr('class', 'legend');
    entries.forEach((entry, index) => {
      const x = (index % across) * room;
      const y = Math.floor(index / across) * LINE + 10;
      const place = group.append('g').attr('transform', `translate(${x},${y})`);
      drawSample(place, entry);
      place.append('text').attr('x', 37).attr('dy', '0.35em').attr('text-anchor', 'start')
        .attr('fill', 'currentColor').text(shortened(entry.name, room - 42));
    });
    return group.node();
  };
  return { height, draw };
}

function drawSample(place, { colour, dash, symbol }) {
  place.append('line').attr('x1', 2).attr('x2', 32).attr('stroke', colour)
    .attr('stroke-width', symbol ? 2 : 5).attr('stroke-dasharray', dash ?? null);
  if (!symbol) return;
  const shape = d3[`symbol${symbol[0].toUpperCase()}${symbol.slice(1)}`];
  place.append('path').attr('transform', 'translate(17,0)').attr('fill', colour)
    .attr('d', d3.symbol(shape, Math.PI * SYMBOL_RADIUS ** 2)());
}

// What stands above each bar: the name on the left, the figure on the right.
function barLabels(rows, width, indent = 0) {
  const written = Math.max(...rows.map((row) => row.told.length)) * 7 + 12;
  const common = { y: 'key', dy: -12, fontSize: FONT };
  const room = width - written - 20 - indent;
  return [
    Plot.text(rows, {
      ...common, frameAnchor: 'left', dx: indent, text: (row) => shortened(row.name, room),
      title: 'name',
    }),
    Plot.text(rows, {
      ...common, frameAnchor: 'right', text: 'told', fontVariant: 'tabular-nums', fontWeight: 600,
    }),
  ];
}

function barFrame(rows, width, x, marks, top = 4) {
  const more = { y: { type: 'band', domain: rows.map((row) => row.key), axis: null, padding: 0 } };
  const height = rows.length * 40 + top + 40;
  const margins = { marginTop: top, marginRight: 26 };
  return Plot.plot(base(width, height, { ...more, x, ...margins, marks }));
}

function drawBars(chart, width) {
  const unit = chart.columns[0].unit;
  const rows = drawn(chart).map((group, key) => {
    const [median, least, greatest] = group.rows[0];
    return { key, ...look(group.name), median, least, greatest, told: WRITE[unit](median) };
  });
  const several = rows.filter((row) => row.greatest > row.least);
  const x = fromZero(width, unit, chart.title, d3.max(rows, (row) => row.greatest));
  return barFrame(rows, width, x, [
    Plot.barX(rows, { y: 'key', x1: 0, x2: 'median', ...BAR, fill: 'colour' }),
    Plot.ruleY(several, { y: 'key', x1: 'least', x2: 'greatest', dy: 7, strokeWidth: 2 }),
    Plot.tickX(several, { y: 'key', x: 'least', insetTop: 22, insetBottom: 8, strokeWidth: 2 }),
    Plot.tickX(several, { y: 'key', x: 'greatest', insetTop: 22, insetBottom: 8, strokeWidth: 2 }),
    Plot.dot(rows, {
      y: 'key', frameAnchor: 'left', dx: 5, dy: -12, r: SYMBOL_RADIUS, symbol: 'symbol',
      fill: 'colour',
    }),
    ...barLabels(rows, width, 14),
  ]);
}

function drawStack(chart, width) {
  const unit = chart.columns[0].unit;
  const rows = drawn(chart).map((group, key) => ({
    key, name: group.name, told: WRITE[unit](d3.sum(group.rows[0])),
  }));
  const parts = drawn(chart).flatMap((group, key) => {
    let from = 0;
    return group.rows[0].map((figure, part) => {
      from += figure;
      return { key, part, x1: from - figure, x2: from };
    });
  });
  const part = ({ title }, index) => ({ name: title.replace(/,.*/, ''), colour: colour(index) });
  const named = legend(chart.columns.map(part), width);
  const several = chart.columns.length > 1;
  const marks = [
    Plot.barX(parts, {
      y: 'key', x1: 'x1', x2: 'x2', ...BAR, fill: (part) => colour(part.part),
    }),
    ...barLabels(rows, width),
  ];
  if (several) marks.push(named.draw);
  const x = fromZero(width, unit, null, d3.max(parts, (part) => part.x2));
  return barFrame(rows, width, x, marks, several ? named.height + 4 : 4);
}

function drawStretches(chart, width) {
  const groups = drawn(chart);
  const last = (group) => d3.max(group.rows, (row) => row[1]);
  const rows = groups.map((group, key) => ({
    key, name: group.name, told: WRITE.seconds(last(group)),
  }));
  const parts = groups.flatMap((group, key) =>
    group.rows.map(([from, to, word]) => ({ key, from, to, word })));
  const seen = (word) => (word.colour < COLOURS ? `var(--c${word.colour})` : 'var(--faint)');
  const texts = chart.words.map((word) => word.text);
  const words = chart.words.map((word) => ({ name: word.text, colour: seen(word) }));
  const named = legend(words, width);
  const longest = d3.max(parts, (part) => part.to);
  const room = (part) => ((part.to - part.from) / longest) * (width - 30);
  const told = parts.filter((part) => room(part) > texts[part.word].length * 6.2 + 8);
  const x = fromZero(width, 'seconds', 'time since the start', longest);
  return barFrame(rows, width, x, [
    Plot.barX(parts, {
      y: 'key', x1: 'from', x2: 'to', ...BAR, fill: (part) => seen(chart.words[part.word]),
      title: (part) => `${texts[part.word]}, ${part.from} to ${part.to} s`,
    }),
    Plot.text(told, {
      y: 'key', x: 'from', dx: 5, dy: 7, textAnchor: 'start', fill: 'var(--ground)', fontSize: 11,
      text: (part) => texts[part.word],
    }),
    ...barLabels(rows, width),
    named.draw,
  ], named.height + 4);
}

function drawRatios(chart, width) {
  const rows = drawn(chart).map((group, key) => {
    const [ratio, low, high] = group.rows[0];
    return { key, name: group.name, ratio, low, high, told: `${number(ratio)} ×` };
  });
  const told = rows.filter((row) => row.low > 0);
  const log = { type: 'log', tickFormat: (value) => `${trimmed(value)} ×` };
  const x = bottom(width, 'number', 'times the rate', log);
  x.domain = d3.extent([1, ...rows.flatMap((row) => [row.ratio, row.low || 1, row.high || 1])]);
  if (x.domain[0] === x.domain[1]) x.domain = [0.9, 1.1];
  x.ticks = x.domain[1] / x.domain[0] > 10 ? x.ticks : d3.ticks(...x.domain, x.ticks);
  return barFrame(rows, width, x, [
    Plot.ruleX([1], { stroke: 'currentColor' }),
    Plot.ruleY(told, {
      y: 'key', x1: 'low', x2: 'high', dy: 8, strokeWidth: 2, stroke: 'var(--c0)',
    }),
    Plot.dot(rows, { y: 'key', x: 'ratio', dy: 8, r: 5, fill: 'var(--c0)' }),
    ...barLabels(rows, width),
  ]);
}

// A line a group, the first ones above the others.
function lines(groups, x, y) {
  const line = (group) => {
    const { colour, dash } = look(group.name);
    return Plot.line(group.rows, { x, y, stroke: colour, strokeDasharray: dash, strokeWidth: 2 });
  };
  return groups.map(line).reverse();
}

// The symbol of each group at these of its rows.
function symbols(groups, x, y, rows = (group) => group.rows) {
  const marked = (group) => {
    const { colour, symbol } = look(group.name);
    return Plot.dot(rows(group), { x, y, r: SYMBOL_RADIUS, symbol, fill: colour });
  };
  return groups.map(marked).reverse();
}

// What is nearest to the pointer, in words.
function tip(groups, x, y, words) {
  const points = groups.flatMap((group) => group.rows.map((row) => ({ row, name: group.name })));
  return Plot.tip(points, Plot.pointer({
    x: (point) => x(point.row), y: (point) => y(point.row),
    title: (point) => `${shortened(point.name, 220)}\n${words(point.row)}`, fill: 'var(--ground)',
    stroke: 'var(--quiet)',
  }));
}

function lineFrame(groups, width, options, marks) {
  const named = legend(groups.map((group) => look(group.name)), width);
  const height = Math.min(340, Math.max(230, width * 0.4)) + named.height + 8;
  const top = named.height + 32;
  return Plot.plot(base(width, height, {
    ...options, marginTop: top, insetLeft: 44, insetRight: 6, marks: [...marks, named.draw],
  }));
}

// A timeline's line: its first rate from the start on, its last until the last thing that happened.
function wholeLine(group) {
  const [, first] = group.rows[0];
  const [end, last] = group.rows.at(-1);
  const happened = (group.marks || []).map((mark) => mark.at_s);
  return { ...group, rows: [[0, first], ...group.rows, [Math.max(end, ...happened), last]] };
}

// The height of a line at a moment.
function heightAt(rows, at) {
  const next = d3.bisector((row) => row[0]).left(rows, at);
  if (next === 0 || next === rows.length) return rows[Math.min(next, rows.length - 1)][1];
  const [[from, low], [to, high]] = [rows[next - 1], rows[next]];
  return low + ((high - low) * (at - from)) / (to - from);
}

// What engines did by themselves, each on its line at its time.
function events(groups) {
  const dots = groups.flatMap((group) => (group.marks || []).map(({ at_s: at, text }) => ({
    x: at, y: heightAt(group.rows, at), colour: look(group.name).colour,
    title: `${shortened(group.name, 220)}: ${text} at ${WRITE.seconds(at)}`,
  })));
  return dots.length === 0 ? [] : [Plot.dot(dots, {
    x: 'x', y: 'y', r: 3, fill: 'colour', stroke: 'currentColor', title: 'title',
  })];
}

function drawLines(chart, width) {
  const [x, y] = [(row) => row[0], (row) => row[1]];
  const groups = drawn(chart);
  const whole = groups.map(wholeLine);
  return lineFrame(groups, width, {
    x: bottom(width, 'seconds', 'time since the start', { zero: true, grid: false }),
    y: { zero: true, nice: true, axis: null },
  }, [
    ...side('per_second', 'per second', { ticks: 5 }),
    ...lines(whole, x, y),
    ...symbols(whole, x, y, (group) => group.rows.slice(-1)),
    ...events(whole),
    tip(groups, x, y, (row) => `${WRITE.seconds(row[0])}: ${WRITE.per_second(row[1])}`),
  ]);
}

// The percentiles that are named on the axis, from the right, as far as their names have room.
function percentileTicks(most, place, pixels) {
  const names = new Map([[place(100), 'max']]);
  let free = place(100) * pixels - 28;
  for (const percentile of [99.999, 99.99, 99.9, 99, 90, 50].filter((one) => one <= most)) {
    const name = String(percentile);
    const at = place(percentile) * pixels;
    if (at + name.length * 3.6 < free) {
      names.set(place(percentile), name);
      free = at - name.length * 3.6 - 6;
    }
  }
  return names;
}

// The powers of ten around two figures.
function powersOfTen([least, most]) {
  const first = Math.floor(Math.log10(Math.max(1, least)));
  const last = Math.max(first + 1, Math.ceil(Math.log10(Math.max(1, most))));
  return d3.range(first, last + 1).map((power) => 10 ** power);
}

// Percentiles stand at the logarithm of what lies above them; the longest at the end.
function drawPercentiles(chart, width) {
  const groups = drawn(chart);
  const rows = groups.flatMap((group) => group.rows);
  const most = d3.max(rows, ([p]) => (p < 100 ? p : 50));
  const end = Math.ceil(-Math.log10(1 - most / 100) + 0.7);
  const place = (percentile) => (percentile === 100 ? end : -Math.log10(1 - percentile / 100));
  const [x, y] = [(row) => place(row[0]), (row) => row[1]];
  const decades = powersOfTen(d3.extent(rows, y));
  const names = percentileTicks(most, place, (width - 64) / (end - 0.25));
  return lineFrame(groups, width, {
    x: {
      label: 'percentile', labelAnchor: 'center', labelArrow: 'none', ticks: [...names.keys()],
      tickFormat: (value) => names.get(value), domain: [0.25, end],
    },
    y: { type: 'log', axis: null, domain: [decades[0], decades.at(-1)] },
  }, [
    ...side('nanoseconds', 'latency, log scale', { ticks: decades }),
    ...lines(groups, x, y),
    ...symbols(groups, x, y),
    tip(groups, x, y, ([percentile, latency]) =>
      `${WRITE.percentile(percentile)}: ${WRITE.nanoseconds(latency)}`),
  ]);
}

// Whole numbers of workers, among those that were measured or on the way.
function workerTicks(groups, width) {
  const [least, most] = d3.extent(groups.flatMap((group) => group.rows), (row) => row[0]);
  const ticks = d3.ticks(least, most, Math.max(3, Math.floor(width / 90)));
  return ticks.filter((tick) => Number.isInteger(tick));
}

function drawScaling(chart, width) {
  const pick = (column) => drawn(chart).map((group) => ({
    ...group, rows: group.rows.filter((row) => row[column] !== null),
  }));
  const [measured, law] = [pick(1), pick(2)];
  const x = (row) => row[0];
  return lineFrame(measured, width, {
    x: bottom(width, 'number', 'workers', { grid: false, ticks: workerTicks(measured, width) }),
    y: { zero: true, nice: true, axis: null },
  }, [
    ...side('per_second', 'per second', { ticks: 5 }),
    ...lines(law, x, (row) => row[2]),
    ...symbols(measured, x, (row) => row[1]),
    tip(measured, x, (row) => row[1], (row) => `${row[0]} workers: ${WRITE.per_second(row[1])}`),
  ]);
}
